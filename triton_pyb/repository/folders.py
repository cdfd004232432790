"""The model folders of steps, core models and ensembles."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import triton_pyb
from triton_pyb.config.model_config import (
    ModelConfig,
    TensorConfig,
    ensemble_config,
    leave_inputs_on_device,
    step_config,
    to_pbtxt,
)
from triton_pyb.config.options import apply_options, files_named
from triton_pyb.runtime.adapter import SIGNATURE_FILE
from triton_pyb.runtime.signature import Signature
from triton_pyb.runtime.state import DEFAULT_SEQUENCE_IDLE_S
from triton_pyb.runtime.steps import StepMark

from .closure import Closure, find_closure
from .core_models import ResolvedCore
from .graph import Graph
from .hand_kept import look_at
from .litter import is_litter
from .manifest import is_version
from .model_folder import NO_CACHE, NO_CACHE_TEXT, Content, ModelFolder
from .source import Source, file_of, label
from .target import BuildError

#: ``ModelInstanceGroup.KIND_CPU``.
CPU = 2

_PACKAGE = Path(triton_pyb.__file__).parent
_TEMPLATE = Path(__file__).with_name("model_template.py")


def step_folder(
    mark: StepMark, step: object, *, max_batch_size: int, max_queue_delay_microseconds: int = 0
) -> ModelFolder:
    """The folder of one step of ours: configuration, generated model.py, signature, code, runtime."""
    closure = find_closure(mark, step)
    signature = mark.signature
    config = config_of_step(mark, max_batch_size, max_queue_delay_microseconds)
    declaring = Path(mark.scope["__file__"])
    travelling = {**signature.to_dict(), "function": closure.function}
    files: dict[str, Content] = {
        "config.pbtxt": _config_text(config, closure.function),
        "1/model.py": _model_py(closure),
        f"1/{NO_CACHE}": NO_CACHE_TEXT,
        f"1/{SIGNATURE_FILE}": _json(travelling),
        **_named_files(mark.config, declaring.parent, str(mark.place)),
    }
    files.update({f"1/{inside}": path for inside, path in closure.files.items()})
    files.update({f"1/triton_pyb/{inside}": path for inside, path in _runtime_files().items()})
    source = Source(label(declaring), closure.function.partition(":")[2])
    return ModelFolder(
        mark.name,
        files,
        source,
        third_party=closure.third_party,
        imported=_with_picture_library(closure, signature),
        notes=closure.notes,
    )


def _with_picture_library(closure: Closure, signature: Signature) -> tuple[str, ...]:
    """The runtime decodes pictures with Pillow or OpenCV: one of them must be there even if no function imports it."""
    pictures = any(field.kind == "image" for field in [*signature.inputs, *signature.outputs])
    if not pictures or {"PIL", "cv2"} & set(closure.third_party):
        return closure.imported
    return tuple(sorted({*closure.imported, "PIL"}))


def config_of_step(mark: StepMark, max_batch_size: int, max_queue_delay_microseconds: int) -> Any:
    """What the signature says, then what the author adds."""
    signature, batching = mark.signature, max_batch_size > 0
    mark.check_companions(signature)
    config = step_config(
        mark.name,
        [TensorConfig.of(field, batching) for field in signature.inputs],
        [TensorConfig.of(field, batching) for field in signature.outputs],
        max_batch_size=max_batch_size,
        instances=mark.instances or 1,
        max_queue_delay_microseconds=max_queue_delay_microseconds,
    )
    if signature.streams:
        config.model_transaction_policy.decoupled = True
    if signature.has_sequences:
        config.sequence_batching.direct.SetInParent()
        idle_s = float(signature.options.get("sequence_idle_s", DEFAULT_SEQUENCE_IDLE_S))
        config.sequence_batching.max_sequence_idle_microseconds = int(idle_s * 1e6)
    for setting, value in signature.options.get("settings", {}).items():
        config.parameters[setting].string_value = json.dumps(value, ensure_ascii=False)
    if batching and not signature.has_sequences:
        for entry, field in zip(config.input, signature.inputs, strict=True):
            if signature.ragged(field):
                entry.allow_ragged_batch = True
    if mark.instances is not None and getattr(mark.config, "instance_group", None):
        raise BuildError(
            "TPB443",
            f"'{mark.name}' says instances={mark.instances} and config= an instance_group",
            str(mark.place),
            "say it once",
        )
    apply_options(config, mark.config, str(mark.place))
    for group in config.instance_group:
        if not group.kind:  # KIND_AUTO: a GPU when there is one, which a pre- or postprocess function does not use
            group.kind = CPU
    if any(field.options.get("python") == "torch" for field in signature.inputs):
        leave_inputs_on_device(config)
    return config


def _named_files(options: object, folder: Path, where: str) -> dict[str, Content]:
    """Labels and warmup data that the options name."""
    found: dict[str, Content] = {}
    for inside, written in files_named(options).items():
        path = folder / written
        if not path.is_file():
            raise BuildError(
                "TPB418",
                f"config= names '{written}', and there is no such file: {path}",
                where,
                "correct the path; it counts from the file of the declaration",
            )
        found[inside] = path
    return found


def core_folder(core: ResolvedCore, options: object = None) -> ModelFolder:
    """The folder of a core model; an existing model's is taken as it is, and gets our runtime if it uses it."""
    declaring = file_of(core.where)
    source = Source(label(declaring), core.where.partition(" ")[0])
    if core.file_name:
        apply_options(core.config, options, core.where)
        return ModelFolder(
            core.config.name,
            {
                "config.pbtxt": _config_text(core.config, core.source.name),
                f"1/{core.file_name}": core.source,
                **_named_files(options, declaring.parent, core.where),
            },
            source,
        )
    inside = {
        path.relative_to(core.source).as_posix(): path
        for path in sorted(core.source.rglob("*"))
        if not is_litter(path.relative_to(core.source))
    }
    files: dict[str, Content] = {name: path for name, path in inside.items() if path.is_file()}
    empty = tuple(name for name, path in inside.items() if path.is_dir() and not any(path.iterdir()))
    versions = sorted((entry.name for entry in core.source.iterdir() if is_version(entry.name)), key=int)
    paths = {name: path for name, path in inside.items() if path.is_file()}
    hand_kept = look_at(paths, versions)
    for version in hand_kept.uses_runtime:
        files.update({f"{version}/triton_pyb/{name}": path for name, path in _runtime_files().items()})
    return ModelFolder(
        core.config.name or core.source.name,
        files,
        source,
        versions[-1] if versions else "1",
        empty,
        third_party=tuple(sorted({name.partition(".")[0] for name in hand_kept.imported})),
        imported=hand_kept.imported,
        as_it_is=True,
    )


def ensemble_folder(graph: Graph, pinned: Mapping[str, tuple[str, int]] | None = None) -> ModelFolder:
    """The folder of the ensemble: a configuration, and a version folder because Triton insists on one.

    Parameters
    ----------
    pinned : mapping of str to (str, int), optional
        Step -> the model and version that it names; without it the newest version of the step's own name.
    """
    config = ensemble_config(
        graph.pipeline.name,
        graph.inputs,
        graph.outputs,
        [(node.name, node.input_map, node.output_map) for node in graph.nodes],
        max_batch_size=graph.pipeline.max_batch_size,
    )
    if pinned is not None:
        for step in config.ensemble_scheduling.step:
            step.model_name, step.model_version = pinned[step.model_name]
    apply_options(config, graph.pipeline.config, graph.pipeline.where)
    declaring = file_of(graph.pipeline.where)
    source = Source(label(declaring), graph.pipeline.where.partition(" ")[0])
    files = {
        "config.pbtxt": _config_text(config, "the pipeline"),
        **_named_files(graph.pipeline.config, declaring.parent, graph.pipeline.where),
    }
    return ModelFolder(graph.pipeline.name, files, source)


def _runtime_files() -> dict[str, Path]:
    paths = [_PACKAGE / "__init__.py", *sorted((_PACKAGE / "runtime").glob("*.py"))]
    return {path.relative_to(_PACKAGE).as_posix(): path for path in paths}


def _model_py(closure: Closure) -> bytes:
    text = _TEMPLATE.read_text(encoding="utf-8")
    return text.replace("@VERSION@", triton_pyb.__version__).replace("@SOURCE@", closure.function).encode()


def _config_text(config: ModelConfig, source: str) -> bytes:
    header = f"Written by triton_pyb {triton_pyb.__version__} from {source}."
    return to_pbtxt(config, header).encode()


def _json(data: object) -> bytes:
    return (json.dumps(data, indent=2, ensure_ascii=False) + "\n").encode()
