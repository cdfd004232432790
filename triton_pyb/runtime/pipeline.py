"""Inert declarations: pipelines and core models.  Plain data; no file is read, nothing heavy is imported."""

from __future__ import annotations

import os
import sys
from typing import Any, Dict, List, Mapping, Optional, Sequence, Tuple

from . import fields
from .annotations import Tensor
from .batch_options import check_model_name
from .errors import DeclarationError, did_you_mean, raise_all
from .signature import Field
from .steps import mark_of


class CoreModel:
    """A model that another backend runs.

    Attributes
    ----------
    name : str
    path : str
        As written; a relative one counts from the file of the declaration.
    folder : str
        Folder of the file in which the declaration stands.
    inputs, outputs : tuple of Field or None
        Per item, without the batch axis; None when the model file says them.
    where : str
        ``file:line`` of the declaration.
    """

    #: Class name of the declaration, as the author wrote it.
    word = "CoreModel"

    def __init__(
        self,
        name: str,
        path: str,
        inputs: Optional[Mapping[str, Tensor]],
        outputs: Optional[Mapping[str, Tensor]],
        config: Any = None,
    ) -> None:
        frame = sys._getframe(2)
        self.config = config
        self.name = name
        self.path = os.fspath(path)
        self.folder = os.path.dirname(os.path.abspath(frame.f_code.co_filename))
        self.where = f"{self.word}({name!r}) ({frame.f_code.co_filename}:{frame.f_lineno})"
        errors = check_name(name, self.where)
        self.inputs = _fields("input", inputs, self.where, errors)
        self.outputs = _fields("output", outputs, self.where, errors)
        raise_all(errors)

    def __repr__(self) -> str:
        return f"{self.word}({self.name!r}, {self.path!r})"


class OnnxModel(CoreModel):
    """An ONNX file; names, dtypes and shapes are read from it when a tool first needs them.

    Parameters
    ----------
    name : str
        The model's name in the repository.
    path : str
        The file.  ``"package:rapidocr/models/x.onnx"`` means a file inside an installed package.
    inputs, outputs : mapping of str to Tensor, optional
        Per item; only where the file leaves a rank or dtype open.
    config : ModelOptions, optional
        Further fields of the model configuration.
    """

    word = "OnnxModel"

    def __init__(
        self,
        name: str,
        path: str,
        inputs: Optional[Mapping[str, Tensor]] = None,
        outputs: Optional[Mapping[str, Tensor]] = None,
        config: Any = None,
    ) -> None:
        super().__init__(name, path, inputs, outputs, config)


class TorchScriptModel(CoreModel):
    """A TorchScript file (``torch.jit.save``), run by Triton's pytorch backend.

    Parameters
    ----------
    name, path
        As for :class:`OnnxModel`.
    inputs, outputs : mapping of str to Tensor
        Required, in the order of forward's arguments and results: the file holds no names.  The names follow
        the backend's convention ``INPUT__0``, ``OUTPUT__0``.

    Notes
    -----
    Source: pytorch_backend README, "Important Note: naming convention".
    """

    word = "TorchScriptModel"

    def __init__(
        self,
        name: str,
        path: str,
        inputs: Mapping[str, Tensor],
        outputs: Mapping[str, Tensor],
        config: Any = None,
    ) -> None:
        super().__init__(name, path, inputs, outputs, config)


class ExistingModel(CoreModel):
    """A model folder that exists already (``config.pbtxt``, version folders); copied as it is.

    Parameters
    ----------
    path : str
        The model folder.
    name : str, optional
        Its name; default the folder's name, which is also what its ``config.pbtxt`` must say.
    """

    word = "ExistingModel"

    def __init__(self, path: str, name: str = "") -> None:
        super().__init__(name or os.path.basename(os.path.normpath(os.fspath(path))), path, None, None)


class Step:
    """One step of a pipeline with tensors renamed, in the words of an ensemble.

    Parameters
    ----------
    model : marked function or core model
    input_map : mapping of str to str
        The model's input -> the pipeline's tensor.  What is not named is mapped to its own name.
    output_map : mapping of str to str
        The model's output -> the pipeline's tensor.
    """

    def __init__(
        self,
        model: Any,
        input_map: Optional[Mapping[str, str]] = None,
        output_map: Optional[Mapping[str, str]] = None,
    ) -> None:
        self.model = model
        self.input_map = dict(input_map or {})
        self.output_map = dict(output_map or {})


class Pipeline:
    """Steps that Triton runs as one ensemble, wired by tensor name.

    Parameters
    ----------
    name : str
        The ensemble's name.
    steps : sequence of marked function, core model or Step
        In order.  A step may take any output of an earlier step, and any input of the pipeline, by name.
    max_batch_size : int
        For the ensemble and every step of ours.  0 writes the explicit form: ``dims`` with a leading -1,
        and the server never joins requests.
    inputs : sequence of str
        Names of tensors that a later step takes from the client; those of the first step are inputs anyway.
    outputs : sequence of str
        Names of the tensors that the client gets; default all outputs of the last step.
    max_queue_delay_microseconds : int
        How long the server may hold a request back to fill a batch; 0 joins only what waits already.
    config : ModelOptions, optional
        Further fields of the ensemble's configuration.

    Raises
    ------
    DeclarationError
        For every mistake that shows without opening a model file.
    """

    def __init__(
        self,
        name: str,
        steps: Sequence[Any],
        *,
        max_batch_size: int = 8,
        inputs: Sequence[str] = (),
        outputs: Sequence[str] = (),
        max_queue_delay_microseconds: int = 0,
        config: Any = None,
    ) -> None:
        frame = sys._getframe(1)
        self.name = name
        self.where = f"Pipeline({name!r}) ({frame.f_code.co_filename}:{frame.f_lineno})"
        self.max_batch_size = max_batch_size
        self.max_queue_delay_microseconds = max_queue_delay_microseconds
        self.config = config
        errors = _check_lists(self.where, inputs=inputs, outputs=outputs, steps=steps)
        raise_all(errors)
        self.inputs = tuple(inputs)
        self.outputs = tuple(outputs)
        self.steps: Tuple[Step, ...] = tuple(step if isinstance(step, Step) else Step(step) for step in steps)
        errors = check_name(name, self.where)
        errors += self._check_numbers()
        errors += self._check_steps()
        raise_all(errors)

    def _check_numbers(self) -> List[DeclarationError]:
        return [
            DeclarationError(
                "TPB116",
                f"{option}={value!r} is no whole number of at least 0",
                self.where,
                f"write {option}={default}, or leave it out",
            )
            for option, value, default in (
                ("max_batch_size", self.max_batch_size, 8),
                ("max_queue_delay_microseconds", self.max_queue_delay_microseconds, 0),
            )
            if isinstance(value, bool) or not isinstance(value, int) or value < 0
        ]

    def _check_steps(self) -> List[DeclarationError]:
        errors: List[DeclarationError] = []
        if not self.steps:
            errors.append(
                DeclarationError("TPB121", "a pipeline needs at least one step", self.where, "name the steps in order")
            )
        names: Dict[str, int] = {self.name: -1}
        for index, step in enumerate(self.steps):
            mark = mark_of(step.model)
            if mark is None and not isinstance(step.model, CoreModel):
                errors.append(
                    DeclarationError(
                        "TPB122",
                        f"step {index} is {step.model!r}, which is neither a marked function nor a core model",
                        self.where,
                        "decorate it with @preprocess, @postprocess or @model, or use OnnxModel, TorchScriptModel "
                        "or ExistingModel",
                    )
                )
                continue
            name = mark.name if mark is not None else step.model.name
            if name in names:
                other = "the pipeline itself" if names[name] < 0 else f"step {names[name]}"
                errors.append(
                    DeclarationError(
                        "TPB123",
                        f"step {index} is named '{name}' like {other}: a repository has one folder per name",
                        self.where,
                        "give one of them another name (name=...)",
                    )
                )
            names[name] = index
            if mark is not None and mark.max_batch_size not in (None, self.max_batch_size):
                errors.append(
                    DeclarationError(
                        "TPB124",
                        f"step '{name}' says max_batch_size={mark.max_batch_size}, the pipeline {self.max_batch_size}",
                        f"{self.where}, {mark.place}",
                        "say it once, in the pipeline",
                    )
                )
            errors += self._check_maps(step, name)
        return errors

    def _check_maps(self, step: Step, name: str) -> List[DeclarationError]:
        """Names in input_map and output_map, where the step's own names are known without a file."""
        if mark_of(step.model) is not None:
            known = declared_fields(step.model)
            if known is None:
                return []
            inputs, outputs = known
        elif step.model.inputs is not None and step.model.outputs is not None:
            inputs, outputs = step.model.inputs, step.model.outputs
        else:
            return []
        return [
            DeclarationError(
                "TPB125",
                f"{side}_map of step '{name}' names '{tensor}', which is no {side} of it"
                f"{did_you_mean(tensor, [field.name for field in declared])}",
                self.where,
                f"its {side}s are {', '.join(map(str, declared))}",
            )
            for side, mapping, declared in (
                ("input", step.input_map, inputs),
                ("output", step.output_map, outputs),
            )
            for tensor in mapping
            if tensor not in [field.name for field in declared]
        ]

    def __repr__(self) -> str:
        return f"Pipeline({self.name!r}, {len(self.steps)} steps, max_batch_size={self.max_batch_size})"


def declared_fields(step: Any) -> Optional[Tuple[Tuple[Field, ...], Tuple[Field, ...]]]:
    """Inputs and outputs of a marked function when its annotations resolve already, else None."""
    mark = mark_of(step)
    if mark is None or mark._signature is None:
        return None
    return mark.signature.inputs, mark.signature.outputs


def _check_lists(where: str, **given: Any) -> List[DeclarationError]:
    """One thing where a list of them is meant; a str would be taken for its letters."""
    return [
        DeclarationError(
            "TPB121", f"{option}={value!r} is one thing, expected a list of them", where, f"write {option}=[{value!r}]"
        )
        for option, value in given.items()
        if not isinstance(value, (list, tuple))
    ]


def check_name(name: object, where: str) -> List[DeclarationError]:
    """A model's name is also a folder's name."""
    return [DeclarationError(code, what, where, fix) for code, what, fix in check_model_name(name)]


def _fields(
    side: str, given: Optional[Mapping[str, Tensor]], where: str, errors: List[DeclarationError]
) -> Optional[Tuple[Field, ...]]:
    if given is None:
        return None
    found = []
    for name, word in given.items():
        try:
            if not isinstance(word, Tensor):
                raise fields.Mistake("TPB113", f"{word!r} is no Tensor(...)", 'write Tensor("FP32", (3, 224, 224))')
            found.append(fields.read_field(word, name=name, argument="", optional=False, listed=False))
        except fields.Mistake as mistake:
            errors.append(DeclarationError(mistake.code, f"{side} '{name}': {mistake.what}", where, mistake.fix))
    return tuple(found)
