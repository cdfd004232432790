"""One folder of a repository, with what Triton would make of it before any model code runs."""

from __future__ import annotations

import functools
import os
import re
import stat
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from triton_pyb.check.finding import Place
from triton_pyb.check.target import Target
from triton_pyb.config import pbtxt
from triton_pyb.config.pbtxt import Document, Entry, Message
from triton_pyb.config.schema import model_config_type

if TYPE_CHECKING:
    from triton_pyb.check.python_source import PythonSource

#: Sub folders that Triton does not take for versions.  Source: model_lifecycle.cc VersionsToLoad.
RESERVED_FOLDERS = ("warmup", "initial_state", "configs")

#: What std::stoll takes from the front of a name.
_STOLL = re.compile(r"[ \t\n\r\v\f]*([+-]?[0-9]+)")

#: Kinds of text problems after which the rest of a file was still understood.
_MILD = frozenset(
    {"unknown-field", "unknown-enum", "wrong-type", "out-of-range", "boolean", "repeated-field", "oneof"}
    | {"trailing-comma", "missing-comma", "equals-sign", "missing-colon", "list-separator", "bom", "escape"}
    | {"unclosed-string", "number", "non-ascii"}
)


@dataclass(frozen=True)
class Version:
    """A version that Triton believes to exist: `folder` is the name it was read from."""

    number: int
    folder: str
    path: str

    @property
    def exists(self) -> bool:
        """False for ``2_old``: Triton then looks into a folder named exactly ``2``."""
        return os.path.isdir(self.path)


@dataclass(frozen=True)
class Completed:
    """The backend fields as AutoCompleteBackendFields leaves them; `undetermined` when it gives up."""

    backend: str
    platform: str
    filename: str
    undetermined: bool = False


class Model:
    """A model folder.

    Attributes
    ----------
    path, name : str
        The folder, and its name: also the model's, unless the configuration says otherwise.
    config_file : str
        Path of the configuration that Triton reads.
    config_state : "file", "absent", "folder", "unreadable", "special"
    document : Document or None
    """

    def __init__(self, path: str, name: str, target: Target) -> None:
        from triton_pyb.check.module_search import Folders

        self.path, self.name, self.target = path, name, target
        self.config_reason = ""
        self.folders = Folders()

    @functools.cached_property
    def config_file(self) -> str:
        if self.target.config_name:
            named = os.path.join(self.path, "configs", self.target.config_name + ".pbtxt")
            if os.path.exists(named):
                return named
        return os.path.join(self.path, "config.pbtxt")

    @functools.cached_property
    def config_state(self) -> str:
        try:
            mode = os.stat(self.config_file).st_mode
        except (OSError, ValueError) as error:
            if isinstance(error, FileNotFoundError) and not os.path.islink(self.config_file):
                return "absent"
            self.config_reason = getattr(error, "strerror", "") or str(error)
            return "unreadable"
        if stat.S_ISDIR(mode):
            return "folder"
        return "file" if stat.S_ISREG(mode) else "special"

    @functools.cached_property
    def document(self) -> Document | None:
        if self.config_state != "file":
            return None
        try:
            return pbtxt.read(self.config_file)
        except OSError as error:
            self.config_state = "unreadable"
            self.config_reason = error.strerror or str(error)
            return None

    @functools.cached_property
    def config(self) -> Message:
        """The configuration; an empty one when there is none."""
        return self.document.root if self.document is not None else Message(model_config_type(), 0)

    @functools.cached_property
    def understood(self) -> bool:
        """True when the text was read to its end, possibly with faults that did not derail the reader."""
        if self.document is None:
            return self.config_state == "absent"
        return all(problem.kind in _MILD for problem in self.document.problems)

    @functools.cached_property
    def entries(self) -> list[tuple[str, bool]]:
        from triton_pyb.check.repository import list_folder

        return list_folder(self.path)[1]

    @property
    def subfolders(self) -> list[str]:
        return [name for name, is_folder in self.entries if is_folder]

    @property
    def files(self) -> list[str]:
        return [name for name, is_folder in self.entries if not is_folder]

    # -- places -------------------------------------------------------------------------------------------

    def place(self, where: Entry | Message | int | None = None) -> Place:
        """Where a finding points: at the value as it stands in the text."""
        file = self.config_file
        if self.document is None:
            return Place(self.path if self.config_state == "absent" else file)
        if where is None:
            return Place(file, 1, 1, 1, self.document.line(1))
        start = where if isinstance(where, int) else where.start
        end = start + 1 if isinstance(where, int) else where.end
        line, column = self.document.position(start)
        text = self.document.line(line)
        last = self.document.position(end)
        return Place(file, line, column, last[1] if last[0] == line else len(text) + 1, text)

    def span(self, start: int, end: int) -> Place:
        return self.place(Entry(start, start, max(end, start + 1), None))

    # -- what Triton makes of it --------------------------------------------------------------------------

    @functools.cached_property
    def completed(self) -> Completed:
        """AutoCompleteBackendFields of model_config_utils.cc, r24.10.

        Only the first sub folder in string order is looked into, and only when backend, platform and
        default_model_filename are all empty.
        """
        backend, platform = self.config["backend"], self.config["platform"]
        filename = self.config["default_model_filename"]
        subfolders = self.subfolders
        content: set[str] = set()
        first = os.path.join(self.path, subfolders[0]) if subfolders else ""
        if first and not (backend and platform):
            try:
                content = set(os.listdir(first))
            except OSError:
                content = set()

        def holds(name: str, folder: bool | None = None) -> bool:
            return name in content and folder in (None, os.path.isdir(os.path.join(first, name)))

        inspect = not platform and not filename
        if not platform and backend in ("", "tensorflow"):
            if filename in ("model.savedmodel", "model.graphdef"):
                platform = "tensorflow_" + filename.split(".")[1]
            elif not filename and holds("model.savedmodel", True):
                platform = "tensorflow_savedmodel"
            elif not filename and holds("model.graphdef", False):
                platform = "tensorflow_graphdef"
        if platform in ("tensorflow_savedmodel", "tensorflow_graphdef"):
            return Completed(backend or "tensorflow", platform, filename or "model." + platform.split("_")[1])
        if not backend:
            if platform == "tensorrt_plan" or filename == "model.plan" or inspect and holds("model.plan", False):
                backend = "tensorrt"
            elif platform == "onnxruntime_onnx" or filename == "model.onnx" or inspect and holds("model.onnx"):
                backend = "onnxruntime"
            elif filename == "model.xml" or inspect and holds("model.xml"):
                backend = "openvino"
            elif platform == "pytorch_libtorch" or filename == "model.pt" or inspect and holds("model.pt", False):
                backend = "pytorch"
            elif filename == "model.py" or inspect and holds("model.py"):
                backend = "python"
        defaults = {
            "tensorrt": ("tensorrt_plan", "model.plan"),
            "onnxruntime": ("onnxruntime_onnx", "model.onnx"),
            "openvino": ("", "model.xml"),
            "pytorch": ("pytorch_libtorch", "model.pt"),
            "python": ("", "model.py"),
        }
        if backend in defaults:
            return Completed(backend, platform or defaults[backend][0], filename or defaults[backend][1])
        if not backend and inspect:
            if "." not in self.name:
                return Completed("", "", "", undetermined=True)
            backend = self.name.split(".", 1)[1]
            return Completed(backend, "", "model." + backend)
        return Completed(backend, platform, filename)

    @property
    def is_ensemble(self) -> bool:
        return "ensemble_scheduling" in self.config or self.config["platform"] == "ensemble"

    @property
    def is_python(self) -> bool:
        return self.completed.backend == "python"

    @functools.cached_property
    def versions(self) -> list[Version]:
        """Every version that VersionsToLoad believes to exist, newest first (a std::set<int64_t>)."""
        found: dict[int, str] = {}
        for folder in self.subfolders:
            if folder in RESERVED_FOLDERS or (len(folder) > 1 and folder[0] == "0"):
                continue
            match = _STOLL.match(folder)
            if match is None or not -(2**63) <= int(match.group(1)[:40]) < 2**63:
                continue
            number = int(match.group(1))
            if number not in found or folder == str(number):
                found[number] = folder
        return [
            Version(number, found[number], os.path.join(self.path, str(number % 2**64)))
            for number in sorted(found, reverse=True)
        ]

    @functools.cached_property
    def selected_versions(self) -> list[Version]:
        """The versions that the version policy picks."""
        policy = self.config["version_policy"]
        if policy is not None and "specific" in policy:
            wanted = policy["specific"]["versions"]
            return [version for version in self.versions if version.number in wanted]
        if policy is not None and "all" in policy:
            return self.versions
        count = policy["latest"]["num_versions"] if policy is not None and "latest" in policy else 1
        return self.versions[:count]

    @functools.cached_property
    def sources(self) -> list[PythonSource]:
        """The model.py of every version that would be loaded."""
        from triton_pyb.check.python_source import PythonSource

        name = self.completed.filename or "model.py"
        return [PythonSource(os.path.join(v.path, name), v.path, self) for v in self.selected_versions]

    def forget_sources(self) -> None:
        """Free the syntax trees: a thousand models would hold a million nodes."""
        for source in self.__dict__.get("sources", ()):
            source.forget()

    @property
    def max_batch_size(self) -> int:
        return int(self.config["max_batch_size"])

    @functools.cached_property
    def facts(self) -> frozenset[str]:
        """What rules may ask for in their `needs`."""
        facts = {"model"}
        if self.understood:
            facts.add("config")
            if self.is_ensemble:
                facts.add("ensemble")
            if self.is_python and not self.is_ensemble and not self.config["runtime"]:
                facts.add("python")
            if not self.is_ensemble:
                facts.add("single")
        return frozenset(facts)

    def tensors(self, kind: str) -> list[Message]:
        """The input or output messages as written."""
        tensors: list[Message] = self.config[kind]
        return tensors


def dims_text(dims: list[Any]) -> str:
    """Dims as Triton prints them: ``[-1,4]``."""
    return "[" + ",".join(str(dim) for dim in dims) + "]"
