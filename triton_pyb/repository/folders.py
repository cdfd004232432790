"""What lies in one model folder, as data: path inside the folder -> bytes or a file to copy."""

from __future__ import annotations

import itertools
import json
import shutil
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, NamedTuple

from google.protobuf import text_format

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
from triton_pyb.config.releases import find_release
from triton_pyb.runtime.adapter import SIGNATURE_FILE
from triton_pyb.runtime.signature import Signature
from triton_pyb.runtime.state import DEFAULT_SEQUENCE_IDLE_S
from triton_pyb.runtime.steps import StepMark

from .closure import Closure, find_closure
from .core_models import ResolvedCore
from .graph import Graph
from .hand_kept import look_at
from .litter import is_litter
from .manifest import MANIFEST_FILE, Manifest, is_version, sha256_of
from .requirements import requirements_of
from .source import Source, file_of, label
from .target import BuildError

Content = bytes | Path

#: A file where Python wants a folder: measured on 24.10, a cache written by the first load makes a server that polls
#: load the model a second time, and ``model.py`` cannot forbid the cache that is written before it runs.
NO_CACHE = "__pycache__"
NO_CACHE_TEXT = b"A file, so that Python writes no cache here: a server that polls would load the model twice.\n"

#: ``ModelInstanceGroup.KIND_CPU``.
CPU = 2

FILE_MODE, FOLDER_MODE = 0o644, 0o755

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
    declared : str
        The model's name in its declaration, where `name` is another one.
    release : str
        The Triton release it is built for; empty: any.
    as_it_is : bool
        An existing model: its configuration and versions are not ours to change.
    """

    name: str
    files: dict[str, Content]
    source: Source
    version: str = "1"
    empty: tuple[str, ...] = ()
    third_party: tuple[str, ...] = ()
    imported: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    declared: str = ""
    release: str = ""
    as_it_is: bool = False

    @property
    def requirements(self) -> tuple[str, ...]:
        """What must be installed where the model runs, with the versions in use here; numpy always."""
        if f"{self.version}/model.py" not in self.files:
            return ()
        found = requirements_of(sorted({"numpy", *self.imported}))
        if self.release and find_release(self.release).needs_numpy_1:
            found = tuple("numpy<2" if line.startswith("numpy==") and line >= "numpy==2" else line for line in found)
        return found

    def with_manifest(self) -> ModelFolder:
        """The same folder, and in its version folder what was built from what."""
        return self._replace(files={**self.files, f"{self.version}/{MANIFEST_FILE}": self.manifest().to_json()})

    def manifest(self) -> Manifest:
        """What was built from what."""
        hashes = {
            inside: sha256_of(content)
            for inside, content in self.files.items()
            if inside not in (f"{self.version}/{MANIFEST_FILE}", f"{self.version}/{NO_CACHE}")
        }
        return Manifest(
            triton_pyb.__version__,
            self.declared or self.name,
            self.version,
            self.source,
            hashes,
            self.requirements,
            self.release,
        )

    def config(self) -> Any:
        """The model's configuration."""
        content = self.files.get("config.pbtxt", b"")  # Triton completes what an existing model does not say
        text = content.read_text(encoding="utf-8") if isinstance(content, Path) else content.decode()
        return text_format.Parse(text, ModelConfig(), allow_unknown_field=True)

    def with_config(self, change: Callable[[Any], None]) -> ModelFolder:
        """The same folder with a changed configuration; comments at its top stay."""
        content = self.files["config.pbtxt"]
        text = content.read_text(encoding="utf-8") if isinstance(content, Path) else content.decode()
        header = [line[1:].strip() for line in itertools.takewhile(lambda line: line[:1] == "#", text.splitlines())]
        config = self.config()
        change(config)
        return self._replace(files={**self.files, "config.pbtxt": to_pbtxt(config, "\n".join(header)).encode()})

    def renamed(self, name: str) -> ModelFolder:
        """The same model under another name in the repository."""

        def rename(config: Any) -> None:
            config.name = name

        return self if name == self.name else self.with_config(rename)._replace(name=name, declared=self.name)

    def at_version(self, number: str) -> ModelFolder:
        """The same model as another version."""
        old, new = f"{self.version}/", f"{number}/"
        files = {
            new + inside[len(old) :] if inside.startswith(old) else inside: content
            for inside, content in self.files.items()
            if inside != old + MANIFEST_FILE
        }
        folder = self._replace(files=files, version=number)
        return folder.with_manifest() if old + MANIFEST_FILE in self.files else folder

    def write(self, folder: Path) -> None:
        """Write everything below `folder`, which does not exist yet.

        Raises
        ------
        BuildError
            When a file is no longer what the manifest says.
        """
        for inside in self.empty:
            (folder / inside).mkdir(parents=True, exist_ok=True)
        known = self._known_hashes()
        for inside, content in sorted(self.files.items()):
            path = folder / inside
            path.parent.mkdir(parents=True, exist_ok=True)
            if isinstance(content, Path):
                shutil.copyfile(content, path)
            else:
                path.write_bytes(content)
            path.chmod(FILE_MODE)
            self._check_copy(inside, content, path, known)
        for path in [folder, *folder.rglob("*")]:
            if path.is_dir():
                path.chmod(FOLDER_MODE)  # the server often runs as another user

    def _known_hashes(self) -> dict[str, str]:
        """What the manifest says, where there is one already."""
        manifest = self.files.get(f"{self.version}/{MANIFEST_FILE}")
        return dict(json.loads(manifest)["files"]) if isinstance(manifest, bytes) else {}

    def _check_copy(self, inside: str, content: Content, path: Path, known: dict[str, str]) -> None:
        """An editor may save a file between the look at it and the copy."""
        if inside in known and isinstance(content, Path) and sha256_of(path) != known[inside]:
            raise BuildError(
                "TPB425",
                f"'{content}' changed while it was built",
                f"model '{self.name}'",
                "build again when nothing writes it any more",
            )


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
