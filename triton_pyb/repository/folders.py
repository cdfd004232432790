"""What lies in one model folder, as data: path inside the folder -> bytes or a file to copy."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import NamedTuple

import triton_pyb
from triton_pyb.config.model_config import ModelConfig, TensorConfig, ensemble_config, step_config, to_pbtxt
from triton_pyb.runtime.adapter import SIGNATURE_FILE
from triton_pyb.runtime.steps import StepMark

from .closure import Closure, find_closure
from .core_models import ResolvedCore
from .graph import Graph
from .litter import is_litter
from .manifest import MANIFEST_FILE, is_version, make_manifest
from .requirements import requirements_of
from .source import Source, file_of, label

Content = bytes | Path

_PACKAGE = Path(triton_pyb.__file__).parent
_TEMPLATE = Path(__file__).with_name("model_template.py")


class ModelFolder(NamedTuple):
    """One model, ready to be written.

    Attributes
    ----------
    files : dict of str to bytes or Path
        Path inside the model folder -> its bytes, or the file to copy.
    source : Source
        The declaration that it is built from.
    version : str
        The version folder that is written; of several in an existing model, the newest.
    empty : tuple of str
        Folders that stand empty in an existing model.
    third_party : tuple of str
        Packages that must be installed where the model runs.
    imported : tuple of str
        The same, as far as the imports name them: ``"google.protobuf"``.
    notes : tuple of str
        What the author should know about this model.
    """

    name: str
    files: dict[str, Content]
    source: Source
    version: str = "1"
    empty: tuple[str, ...] = ()
    third_party: tuple[str, ...] = ()
    imported: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()

    @property
    def requirements(self) -> tuple[str, ...]:
        """What must be installed where the model runs, with the versions in use here; numpy always."""
        return requirements_of(sorted({"numpy", *self.imported})) if f"{self.version}/model.py" in self.files else ()

    def with_manifest(self) -> ModelFolder:
        """The same folder, and in its version folder what was built from what."""
        manifest = make_manifest(self.name, self.source, self.files, requirements=self.requirements, release="")
        return self._replace(files={**self.files, f"{self.version}/{MANIFEST_FILE}": manifest.to_json()})

    def write(self, folder: Path) -> None:
        """Write everything below `folder`, which does not exist yet."""
        for inside in self.empty:
            (folder / inside).mkdir(parents=True, exist_ok=True)
        for inside, content in sorted(self.files.items()):
            path = folder / inside
            path.parent.mkdir(parents=True, exist_ok=True)
            if isinstance(content, Path):
                shutil.copyfile(content, path)
            else:
                path.write_bytes(content)


def step_folder(
    mark: StepMark, step: object, *, max_batch_size: int, max_queue_delay_microseconds: int = 0
) -> ModelFolder:
    """The folder of one step of ours: configuration, generated model.py, signature, code, runtime."""
    closure = find_closure(mark, step)
    signature = mark.signature
    batching = max_batch_size > 0
    config = step_config(
        mark.name,
        [TensorConfig.of(field, batching, signature.ragged(field)) for field in signature.inputs],
        [TensorConfig.of(field, batching) for field in signature.outputs],
        max_batch_size=max_batch_size,
        instances=mark.instances or 1,
        max_queue_delay_microseconds=max_queue_delay_microseconds,
    )
    travelling = {**signature.to_dict(), "function": closure.function}
    files: dict[str, Content] = {
        "config.pbtxt": _config_text(config, closure.function),
        "1/model.py": _model_py(closure),
        f"1/{SIGNATURE_FILE}": _json(travelling),
    }
    files.update({f"1/{inside}": path for inside, path in closure.files.items()})
    files.update({f"1/triton_pyb/{inside}": path for inside, path in _runtime_files().items()})
    source = Source(label(Path(mark.scope["__file__"])), closure.function.partition(":")[2])
    return ModelFolder(
        mark.name,
        files,
        source,
        third_party=closure.third_party,
        imported=closure.imported,
        notes=closure.notes,
    )


def core_folder(core: ResolvedCore) -> ModelFolder:
    """The folder of a core model; an existing model's folder is taken as it is."""
    source = Source(label(file_of(core.where)), core.where.partition(" ")[0])
    if core.file_name:
        return ModelFolder(
            core.config.name,
            {"config.pbtxt": _config_text(core.config, core.source.name), f"1/{core.file_name}": core.source},
            source,
        )
    inside = {
        path.relative_to(core.source).as_posix(): path
        for path in sorted(core.source.rglob("*"))
        if not is_litter(path.relative_to(core.source))
    }
    files: dict[str, Content] = {name: path for name, path in inside.items() if path.is_file()}
    empty = tuple(name for name, path in inside.items() if path.is_dir() and not any(path.iterdir()))
    versions = sorted((int(entry.name) for entry in core.source.iterdir() if is_version(entry.name)), reverse=True)
    newest = str(versions[0]) if versions else "1"
    return ModelFolder(core.config.name or core.source.name, files, source, newest, empty)


def ensemble_folder(graph: Graph) -> ModelFolder:
    """The folder of the ensemble: a configuration, and a version folder because Triton insists on one."""
    config = ensemble_config(
        graph.pipeline.name,
        graph.inputs,
        graph.outputs,
        [(node.name, node.input_map, node.output_map) for node in graph.nodes],
        max_batch_size=graph.pipeline.max_batch_size,
    )
    source = Source(label(file_of(graph.pipeline.where)), graph.pipeline.where.partition(" ")[0])
    return ModelFolder(graph.pipeline.name, {"config.pbtxt": _config_text(config, "the pipeline")}, source)


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
