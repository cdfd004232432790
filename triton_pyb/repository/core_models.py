"""Core models resolved from their files: which tensors an ONNX file, a TorchScript file or a model folder has."""

from __future__ import annotations

import importlib.util
from pathlib import Path
from typing import Any, NamedTuple

from google.protobuf import text_format

from triton_pyb.config.model_config import ModelConfig, TensorConfig, core_config, tensors_of
from triton_pyb.runtime.errors import TritonPybError
from triton_pyb.runtime.pipeline import CoreModel, ExistingModel, OnnxModel
from triton_pyb.runtime.signature import Field


class GraphError(TritonPybError):
    """A pipeline's models do not fit together, or a model file is not what was declared."""


class ResolvedCore(NamedTuple):
    """A core model whose file was looked at.

    Attributes
    ----------
    source : Path
        The model file, or the model folder of an ExistingModel.
    file_name : str
        What Triton expects it to be called inside the version folder; "" for a folder.
    where : str
        The declaration, with ``file:line``.
    """

    config: ModelConfig
    inputs: tuple[TensorConfig, ...]
    outputs: tuple[TensorConfig, ...]
    source: Path
    file_name: str
    where: str


def resolve_core(core: CoreModel, max_batch_size: int, max_queue_delay_microseconds: int) -> ResolvedCore:
    """Look at the model's file.

    Raises
    ------
    GraphError
        When there is no such file, it cannot be read, or it cannot run with `max_batch_size`.
    """
    source = locate(core)
    if isinstance(core, ExistingModel):
        return _existing(core, source, max_batch_size)
    flat: set[str] = set()
    if isinstance(core, OnnxModel):
        inputs, outputs, flat = _onnx_tensors(core, source, max_batch_size)
        backend = {"backend": "onnxruntime"}
        file_name = "model.onnx"
    else:
        inputs = _declared(core, "inputs", max_batch_size)
        outputs = _declared(core, "outputs", max_batch_size)
        backend = {"platform": "pytorch_libtorch"}
        file_name = "model.pt"
    config = core_config(
        core.name,
        inputs,
        outputs,
        max_batch_size=max_batch_size,
        max_queue_delay_microseconds=max_queue_delay_microseconds,
        **backend,
    )
    for tensor in (*config.input, *config.output):
        if tensor.name in flat and max_batch_size > 0:
            tensor.reshape.SetInParent()  # dims: [1] for the client, no axis beside the batch axis for the model
    return ResolvedCore(config, inputs, outputs, source, file_name, core.where)


def resolve_alone(core: CoreModel, max_batch_size: int) -> ResolvedCore:
    """A core model that is built without a pipeline; an existing one needs no config.pbtxt then.

    Raises
    ------
    GraphError
        When there is no such file, or it cannot be read.
    """
    if not isinstance(core, ExistingModel):
        return resolve_core(core, max_batch_size, 0)
    source = locate(core)
    return ResolvedCore(ModelConfig(name=core.name), (), (), source, "", core.where)


def locate(core: CoreModel) -> Path:
    """The file or folder behind ``path``: beside the declaration, absolute, or inside a package."""
    if core.path.startswith("package:"):
        package, _, inside = core.path[len("package:") :].partition("/")
        spec = importlib.util.find_spec(package)
        if spec is None or not spec.submodule_search_locations:
            raise GraphError(
                "TPB310",
                f"package '{package}' is not installed, so '{core.path}' cannot be found",
                core.where,
                f"install it: pip install {package}",
            )
        path = Path(next(iter(spec.submodule_search_locations))) / inside
    else:
        path = Path(core.folder) / core.path
    exists = path.is_dir() if isinstance(core, ExistingModel) else path.is_file()
    if not exists:
        kind = "model folder" if isinstance(core, ExistingModel) else "model file"
        raise GraphError(
            "TPB310",
            f"no such {kind}: {path}",
            core.where,
            "correct the path; a relative one counts from the file of the declaration",
        )
    return path


def _declared(core: CoreModel, side: str, max_batch_size: int) -> tuple[TensorConfig, ...]:
    fields: tuple[Field, ...] = getattr(core, side) or ()
    return tuple(TensorConfig.of(field, max_batch_size > 0) for field in fields)


def _onnx_tensors(
    core: CoreModel, source: Path, max_batch_size: int
) -> tuple[tuple[TensorConfig, ...], tuple[TensorConfig, ...], set[str]]:
    """Inputs, outputs, and the names of those that have one axis in the file."""
    try:
        import onnx
    except ImportError:
        raise GraphError(
            "TPB312",
            f"'{source.name}' cannot be read: the package onnx is not installed",
            core.where,
            "install it: pip install 'triton_pyb[onnx]'",
        ) from None
    try:
        model = onnx.load(str(source), load_external_data=False)
    except Exception as error:
        raise GraphError(
            "TPB311", f"'{source}' is no ONNX file: {type(error).__name__}: {error}", core.where, "export it again"
        ) from None
    if not model.graph.output:
        raise GraphError("TPB311", f"'{source}' is no ONNX file: it gives no tensor", core.where, "export it again")
    graph = _with_inferred_shapes(model).graph
    weights = {tensor.name for tensor in graph.initializer}
    inputs = _onnx_side(core, "input", [item for item in graph.input if item.name not in weights], max_batch_size)
    outputs = _onnx_side(core, "output", list(graph.output), max_batch_size)
    flat = {item.name for item in (*graph.input, *graph.output) if len(item.type.tensor_type.shape.dim) == 1}
    return inputs, outputs, flat


def _with_inferred_shapes(model: Any) -> Any:
    """The model with output shapes as onnxruntime sees them: its loader infers sizes that the file leaves open,
    and Triton's backend compares a configuration's dims with those."""
    import onnx

    try:
        return onnx.shape_inference.infer_shapes(model)
    except Exception:  # custom operators, more than 2 GB: then the file's own shapes are all there is to know
        return model


def _onnx_side(core: CoreModel, side: str, values: list[Any], max_batch_size: int) -> tuple[TensorConfig, ...]:
    overrides = {field.name: field for field in getattr(core, side + "s") or ()}
    names = [value.name for value in values]
    for name in overrides:
        if name not in names:
            raise GraphError(
                "TPB313",
                f"{side}s= names '{name}', which the ONNX file does not have",
                core.where,
                f"its {side}s are {', '.join(map(repr, names))}",
            )
    found = []
    for value in values:
        if value.name in overrides:
            said = TensorConfig.of(overrides[value.name], max_batch_size > 0)
            _check_said(core, side, said, value, max_batch_size)
            found.append(said)
        else:
            found.append(_onnx_tensor(core, side, value, max_batch_size))
    return tuple(found)


def _check_said(core: CoreModel, side: str, said: TensorConfig, value: Any, max_batch_size: int) -> None:
    """Compare what the author says with what the file knows, as Triton's backend does when it loads the model.

    Source: onnxruntime_utils.cc, ``CompareDimsSupported``; a size that the file leaves open may be said.
    """
    tensor = value.type.tensor_type
    dtype = _dtype_of(tensor)
    shape = _shape_of(tensor) if tensor.HasField("shape") else None
    has = f"{dtype or '?'}{'[...]' if shape is None else shape}"
    where, what = core.where, f"{side}s= says {said}, but the ONNX file has '{value.name}' {has}"
    if dtype and dtype != said.dtype:
        raise GraphError("TPB317", f"{what}: another dtype", where, f'say Tensor("{dtype}", ...), or leave it out')
    if shape is None:
        return
    if max_batch_size > 0:
        _check_batch_axis(core, side, value.name, shape, max_batch_size)
        shape = shape[1:] or [1]
    if len(shape) != len(said.dims) or any(size not in (-1, mine) for size, mine in zip(shape, said.dims, strict=True)):
        item = shape if max_batch_size > 0 else shape[1:]
        text = ", ".join(map(str, item)) + ("," if len(item) == 1 else "")
        fix = f'say Tensor("{said.dtype}", ({text})), the shape of one item: the batch axis is never written'
        if max_batch_size == 0 and shape[:1] != [-1]:
            fix = "leave it out: the first axis of the file is fixed"
        raise GraphError(
            "TPB318",
            f"{what}: another shape",
            where,
            fix,
        )


def _check_batch_axis(core: CoreModel, side: str, name: str, shape: list[int], max_batch_size: int) -> None:
    if not shape or shape[0] != -1:
        raise GraphError(
            "TPB305",
            f"{side} '{name}' has the shape {shape} in the ONNX file: its first axis is no free batch axis, "
            f"so max_batch_size={max_batch_size} cannot hold",
            core.where,
            "export the model with a dynamic first axis, or set max_batch_size=0",
        )


def _dtype_of(tensor: Any) -> str:
    import onnx

    return _ONNX_DTYPES.get(onnx.TensorProto.DataType.Name(tensor.elem_type), "")


def _shape_of(tensor: Any) -> list[int]:
    return [dim.dim_value if dim.HasField("dim_value") and dim.dim_value > 0 else -1 for dim in tensor.shape.dim]


def _onnx_tensor(core: CoreModel, side: str, value: Any, max_batch_size: int) -> TensorConfig:
    import onnx

    tensor = value.type.tensor_type
    dtype = _dtype_of(tensor)
    if not dtype or not tensor.HasField("shape"):
        what = "no shape" if dtype else f"the type {onnx.TensorProto.DataType.Name(tensor.elem_type)}"
        raise GraphError(
            "TPB313",
            f"{side} '{value.name}' of the ONNX file has {what}",
            core.where,
            f'say it: {side}s={{"{value.name}": Tensor("FP32", (...))}}, per item',
        )
    shape = _shape_of(tensor)
    if max_batch_size == 0:
        return TensorConfig(value.name, dtype, shape)
    _check_batch_axis(core, side, value.name, shape, max_batch_size)
    return TensorConfig(value.name, dtype, shape[1:] or [1])


#: onnx.TensorProto's names -> wire names, as Triton's onnxruntime backend maps them.
_ONNX_DTYPES = {
    "BOOL": "BOOL",
    "UINT8": "UINT8",
    "UINT16": "UINT16",
    "UINT32": "UINT32",
    "UINT64": "UINT64",
    "INT8": "INT8",
    "INT16": "INT16",
    "INT32": "INT32",
    "INT64": "INT64",
    "FLOAT16": "FP16",
    "FLOAT": "FP32",
    "DOUBLE": "FP64",
    "STRING": "BYTES",
    "BFLOAT16": "BF16",
}


def _existing(core: CoreModel, folder: Path, max_batch_size: int) -> ResolvedCore:
    path = folder / "config.pbtxt"
    try:
        config = text_format.Parse(path.read_text(encoding="utf-8"), ModelConfig())
    except (OSError, UnicodeDecodeError, text_format.ParseError) as error:
        raise GraphError(
            "TPB315", f"'{path}' cannot be read: {error}", core.where, "an existing model needs its config.pbtxt"
        ) from None
    if config.name and config.name != core.name:
        raise GraphError(
            "TPB315",
            f"'{path}' says name: \"{config.name}\", the folder becomes '{core.name}'",
            core.where,
            f'write ExistingModel(..., name="{config.name}"), or correct config.pbtxt',
        )
    too_small = 0 < config.max_batch_size < max_batch_size
    if too_small or (config.max_batch_size > 0) != (max_batch_size > 0):
        raise GraphError(
            "TPB316",
            f"'{core.name}' has max_batch_size {config.max_batch_size}, the pipeline {max_batch_size}",
            core.where,
            f"set max_batch_size={config.max_batch_size} in the pipeline, or change the model's config.pbtxt",
        )
    return ResolvedCore(config, tensors_of(config, "input"), tensors_of(config, "output"), folder, "", core.where)
