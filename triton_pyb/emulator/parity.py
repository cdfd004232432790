"""Does the served preprocessing do what the training did?  ``assert_same_preprocessing`` says where it does not.

The step runs as it is served: its samples go through an emulated Triton, decoded, cast and checked.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from triton_pyb.emulator.parity_causes import find_cause
from triton_pyb.emulator.targets import EmulatorMisused
from triton_pyb.emulator.triton import EmulatedTriton
from triton_pyb.runtime.errors import did_you_mean
from triton_pyb.runtime.images import encode_image
from triton_pyb.runtime.signature import Field, Signature
from triton_pyb.runtime.steps import mark_of

WHERE = "assert_same_preprocessing()"


class Difference(NamedTuple):
    """How one output differs.

    Attributes
    ----------
    output : str
    sample : int
        Place of the first sample that differs.
    samples : int
        How many differ.
    training_shape, serving_shape : tuple of int
        Of that sample.
    max_abs, max_rel : float
        The largest distance in that sample, NaN where there is none: the shapes differ, or it is no array of
        numbers.
    position : tuple of int
        Where `max_abs` is.
    training, serving : object
        The two values there; the two whole values where there is no distance.
    cause : str
        What makes serving equal to training, tried out on that sample; empty when nothing did.
    """

    output: str
    sample: int
    samples: int
    training_shape: tuple[int, ...]
    serving_shape: tuple[int, ...]
    max_abs: float
    max_rel: float
    position: tuple[int, ...]
    training: Any
    serving: Any
    cause: str

    def __str__(self) -> str:
        lines = [f"output '{self.output}': {self.samples} samples differ, the first is sample {self.sample}"]
        if self.training_shape != self.serving_shape:
            lines.append(f"  shape:  training {list(self.training_shape)}, serving {list(self.serving_shape)}")
        elif np.isnan(self.max_abs):
            lines.append(f"  value:  training {self.training!r}, serving {self.serving!r}")
        else:
            place = f"at {list(self.position)}: training {self.training:.6g}, serving {self.serving:.6g}"
            lines.append(f"  largest distance {self.max_abs:.3g} (relative {self.max_rel:.3g}) {place}")
        lines.append(f"  cause:  {self.cause or 'none of those that were tried'}")
        return "\n".join(lines)


class PreprocessingDiffers(AssertionError):
    """Serving and training disagree.

    Attributes
    ----------
    differences : list of Difference
        One per output that differs.
    """

    def __init__(self, differences: list[Difference], samples: int) -> None:
        super().__init__(differences, samples)
        self.differences = differences
        self.samples = samples

    def __str__(self) -> str:
        head = f"serving differs from training in {len(self.differences)} outputs, {self.samples} samples compared"
        return "\n".join([head, *map(str, self.differences)])


def assert_same_preprocessing(
    training_fn: Callable[..., Any],
    step: Any,
    samples: Iterable[Any],
    *,
    rtol: float = 1e-5,
    atol: float = 1e-5,
) -> None:
    """Check that a step, served, gives what the training's own preprocessing gives.

    Parameters
    ----------
    training_fn : callable
        Called with each sample as it is given here (a dict as keyword arguments).  Returns what the step returns for
        one item, without a batch axis: an array, a torch tensor or a picture of Pillow; for several outputs a dict
        by output name, or a tuple in their order.
    step : decorated function
        Each of its outputs is compared.
    samples : iterable of bytes, pathlib.Path, numpy.ndarray, PIL.Image.Image or dict
        One item each.  A path is read for serving.  An array or a picture for an ``Image`` input is sent as PNG.
        A dict names the inputs; without one the step has a single required input.
    rtol, atol : float
        As for ``numpy.isclose``, training being the reference.

    Raises
    ------
    PreprocessingDiffers
        An AssertionError.  Per output: the first sample that differs, the largest distance and where, and, if one of
        the usual causes explains it, that cause: channel order, layout, scale, normalisation, interpolation,
        EXIF orientation.  Causes are tried out, not guessed: the message says what remained.
    EmulatorMisused
        When there are no samples, `step` is not marked, or a sample or a result does not fit the step.

    Examples
    --------
    ::

        def test_serving_matches_training():
            assert_same_preprocessing(training_transform, preprocessing, Path("tests/photos").glob("*.jpg"))
    """
    mark = mark_of(step)
    if mark is None:
        raise EmulatorMisused("TPB580", f"{step!r} is not marked as a step", WHERE, "decorate it with @preprocess")
    signature = mark.signature
    fields = {field.name: field for field in signature.outputs}
    found: dict[str, list[tuple[int, Any, Any]]] = {name: [] for name in fields}
    count = 0
    with EmulatedTriton(step) as triton:

        def serve(inputs: Mapping[str, Any]) -> dict[str, Any]:
            outputs = triton.infer(triton.entry, inputs)
            return {name: _value(array[0], fields[name]) for name, array in outputs.items() if name in fields}

        first: dict[str, Mapping[str, Any]] = {}
        for count, sample in enumerate(samples, 1):
            inputs = _inputs(sample, signature)
            wanted = _results(training_fn(**sample) if isinstance(sample, dict) else training_fn(sample), signature)
            served = serve(inputs)
            for name in fields:
                if not _same(wanted[name], served[name], rtol, atol):
                    first.setdefault(name, inputs)
                    found[name].append((count - 1, wanted[name], served[name]))
        if not count:
            raise EmulatorMisused("TPB581", "there are no samples", WHERE, "pass at least one: an empty check passes")
        differences = []
        for name, several in found.items():
            if several:
                cause = ""
                if fields[name].kind == "tensor":

                    def again(inputs: Mapping[str, Any], name: str = name) -> Any:
                        return serve(inputs)[name]

                    cause = find_cause(several[0][1], several[0][2], again, first[name], signature, rtol, atol)
                differences.append(_difference(name, several, cause))
    if differences:
        raise PreprocessingDiffers(differences, count)


def _difference(name: str, several: list[tuple[int, Any, Any]], cause: str) -> Difference:
    sample, training, serving = several[0]
    shapes = np.shape(training), np.shape(serving)
    facts = Difference(name, sample, len(several), *shapes, np.nan, np.nan, (), training, serving, cause)
    if shapes[0] != shapes[1] or not isinstance(training, np.ndarray):
        return facts
    wanted = training.astype(np.float64)
    distance = np.abs(serving.astype(np.float64) - wanted)
    distance[np.isnan(distance)] = np.inf
    position = tuple(int(place) for place in np.unravel_index(int(distance.argmax()), distance.shape))
    relative = distance / np.maximum(np.abs(wanted), np.finfo(np.float32).tiny)
    return facts._replace(
        max_abs=float(distance[position]),
        max_rel=float(relative.max()),
        position=position,
        training=float(training[position]),
        serving=float(serving[position]),
    )


def _same(training: Any, serving: Any, rtol: float, atol: float) -> bool:
    if not isinstance(training, np.ndarray) or not isinstance(serving, np.ndarray):
        return bool(training == serving)
    if training.shape != serving.shape:
        return False
    return bool(np.allclose(serving, training, rtol=rtol, atol=atol, equal_nan=True))


def _value(row: NDArray[Any], field: Field) -> Any:
    """One item of an output, as `training_fn` returns it."""
    if field.kind == "tensor" or field.dtype != "BYTES":
        return row.reshape(()) if field.shape == () else row
    data: bytes = row.reshape(-1)[0]
    return json.loads(data) if field.kind == "json" else data.decode() if field.kind == "text" else data


def _results(result: Any, signature: Signature) -> dict[str, Any]:
    names = [field.name for field in signature.outputs]
    if isinstance(result, Mapping) and not (signature.bare and signature.outputs[0].kind == "json"):
        by_name = dict(result)
    elif isinstance(result, tuple) and len(names) > 1:
        by_name = dict(zip(names, result, strict=False))
    else:
        by_name = {names[0]: result}
    missing = [name for name in names if name not in by_name]
    if missing or len(by_name) > len(names):
        odd = next(iter(missing or [name for name in by_name if name not in names]))
        raise EmulatorMisused(
            "TPB582",
            f"the training function returned {', '.join(map(repr, by_name))}{did_you_mean(odd, by_name)}",
            WHERE,
            f"return the outputs of the step: {', '.join(map(repr, names))}",
        )
    arrays = {field.name for field in signature.outputs if field.kind in ("tensor", "number")}
    return {name: _as_array(by_name[name]) if name in arrays else by_name[name] for name in names}


def _as_array(value: Any) -> NDArray[Any]:
    if hasattr(value, "detach"):  # a torch tensor
        value = value.detach().cpu().numpy()
    return np.asarray(value)


def _inputs(sample: Any, signature: Signature) -> dict[str, Any]:
    """The tensors of a request with this one item."""
    if isinstance(sample, dict):
        given = {field.name: sample[field.argument] for field in signature.inputs if field.argument in sample}
        unknown = [name for name in sample if name not in {field.argument for field in signature.inputs}]
    else:
        required = [field.name for field in signature.inputs if not field.optional]
        given, unknown = {required[0]: sample} if len(required) == 1 else {}, []
    if not given or unknown:
        raise EmulatorMisused(
            "TPB583",
            f"a sample does not fit the step: {f'no argument {unknown[0]!r}' if unknown else 'it names no input'}",
            WHERE,
            f"pass dicts with the arguments {', '.join(repr(field.argument) for field in signature.inputs)}",
        )
    return {field.name: _sent(given[field.name], field) for field in signature.inputs if field.name in given}


def _sent(value: Any, field: Field) -> Any:
    if isinstance(value, Path):
        value = value.read_bytes()
    if field.kind == "image" and not isinstance(value, bytes):
        # An array is in the step's order of channels; a picture of Pillow is RGB whatever the step asks for.
        mode = field.options["mode"]
        if hasattr(value, "convert"):
            value, mode = np.asarray(value.convert("RGB")), "RGB"
        return encode_image(np.asarray(value), mode, "PNG")
    if field.kind == "tensor":
        return np.asarray(value, field.numpy_dtype)[np.newaxis]
    if field.kind == "json":
        return json.dumps(value)
    return value
