"""All models of a server: loading, unloading, finding, and the repository index."""

from __future__ import annotations

import tempfile
import threading
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

from triton_pyb.emulator import loading, model_config, repository
from triton_pyb.emulator.ensemble import EnsembleScheduler
from triton_pyb.emulator.ensemble_rules import complete_decoupled, refuse_dependencies
from triton_pyb.emulator.errors import InferenceFailed, LoadFailed
from triton_pyb.emulator.host import ModelHost
from triton_pyb.emulator.loaded_model import LoadedModel, Machine
from triton_pyb.emulator.log import ServerLog
from triton_pyb.emulator.registry import MetricsRegistry
from triton_pyb.emulator.validation import RequestRefused


@dataclass
class Entry:
    """One model name: what is loaded of it, and what went wrong."""

    name: str
    folder: Path
    loaded: dict[int, LoadedModel] = field(default_factory=dict)
    failures: list[LoadFailed] = field(default_factory=list)
    unloaded: set[int] = field(default_factory=set)
    steps: frozenset[str] = frozenset()  # of an ensemble: the models it names
    explicit: bool = False  # somebody asked for it by name; else it came along with an ensemble


class ModelStore:
    """The models of one server.

    Parameters
    ----------
    repositories : list of Path
    control : {"none", "explicit", "poll"}
        As ``--model-control-mode``.
    """

    def __init__(self, repositories: list[Path], machine: Machine, control: str = "none") -> None:
        self.repositories, self.machine, self.control = repositories, machine, control
        self.log = ServerLog()
        self.metrics = MetricsRegistry()
        self.entries: dict[str, Entry] = {}
        self._lock = threading.RLock()
        self._overrides: dict[str, str] = {}  # configurations in JSON that came with a load request
        self._temporary: list[tempfile.TemporaryDirectory[str]] = []

    # -- finding

    def find(self, name: str, version: int = -1) -> LoadedModel | None:
        """The loaded version, the newest for -1, or None."""
        entry = self.entries.get(name)
        if entry is None or not entry.loaded:
            return None
        return entry.loaded.get(max(entry.loaded) if version == -1 else version)

    def _step(self, name: str, version: int) -> LoadedModel:
        model = self.find(name, version)
        if model is None:
            raise RequestRefused(f"Request for unknown model: '{name}' is not found", "NOT_FOUND")
        return model

    def ready(self, strict: bool) -> bool:
        """Whether the server calls itself ready; not `strict`: as soon as it answers at all."""
        return not strict or all(entry.loaded or not entry.failures for entry in self.entries.values())

    def index(self, ready_only: bool = False) -> list[dict[str, str]]:
        """The repository index, as POST /v2/repository/index answers it."""
        rows: list[dict[str, str]] = []
        for name in sorted(self.folders()):  # a model that came whole in a load request is not listed
            entry = self.entries.get(name)
            if entry is None:
                rows += [] if ready_only else [{"name": name}]
                continue
            states = {version: {"state": "READY"} for version in entry.loaded}
            if not ready_only:
                for version in entry.unloaded - set(states):
                    states[version] = {"state": "UNAVAILABLE", "reason": "unloaded"}
                for failure in entry.failures:
                    if failure.stage == "load":
                        states[failure.version] = {"state": "UNAVAILABLE", "reason": failure.index_reason}
            rows += [{"name": name, "version": str(version), **states[version]} for version in sorted(states)]
            if not states and not ready_only and not any(f.stage == "versions" for f in entry.failures):
                rows.append({"name": name})
        return rows

    # -- loading

    def load_all(self) -> list[LoadFailed]:
        """Load every model of the repositories; the failures are returned and kept."""
        failures = self._load(self.folders())
        for entry in self.entries.values():
            entry.explicit = True
        return failures

    def reload(self, wanted: dict[str, Path]) -> list[LoadFailed]:
        """Load these models again, and whatever of the repositories they need."""
        failures = self._load(wanted, self.folders())
        for name in wanted:
            self.entries[name].explicit = True
        return failures

    def load(self, name: str, config: str = "", files: dict[str, bytes] | None = None) -> None:
        """Load or reload one model, and the steps of an ensemble.

        Raises
        ------
        LoadFailed
        """
        folders = self.folders()
        if files:
            folders[name] = self._written(name, config, files)
        if name not in folders:
            raise LoadFailed(name, "unknown", "no such folder in the model repository", code="NOT_FOUND")
        self._overrides.pop(name, None)
        if config:
            self._overrides[name] = config
        failures = self._load({name: folders[name]}, folders)
        self.entries[name].explicit = True
        waiting = [e.name for e in self.entries.values() if e.explicit and not e.loaded and name in e.steps]
        failures += self._load({each: folders[each] for each in waiting if each in folders}, folders)
        for failure in failures:
            if failure.model == name:
                raise failure

    def control_load(self, name: str, config: str = "", files: dict[str, bytes] | None = None) -> None:
        """`load` for a client or a model: only where the control mode allows it."""
        self._refuse_unless_explicit()
        self.load(name, config, files)

    def control_unload(self, name: str, unload_dependents: bool = False) -> None:
        """`unload` for a client or a model; a name nobody knows is no error."""
        self._refuse_unless_explicit()
        self.unload(name, unload_dependents)

    def _refuse_unless_explicit(self) -> None:
        if self.control != "explicit":
            raise InferenceFailed(
                "explicit model load / unload is not allowed if polling is enabled",
                "UNAVAILABLE",
                "the emulated server",
                "start it with model_control_mode='explicit'",
            )

    def unload(self, name: str, unload_dependents: bool = False) -> None:
        """Take every version of a model out of service, and the ensembles that need it along.

        Parameters
        ----------
        unload_dependents : bool
            For an ensemble: its steps too, unless they were loaded by name.
        """
        entry = self.entries.get(name)
        if entry is None:
            return
        entry.explicit = False
        self._withdraw(entry)
        if unload_dependents:
            for step in entry.steps & set(self.entries):
                if not self.entries[step].explicit:
                    self.unload(step, unload_dependents)

    def _withdraw(self, entry: Entry) -> None:
        for other in self.entries.values():
            if entry.name in other.steps and other.loaded:
                self._withdraw(other)
        with self._lock:
            loaded, entry.loaded = entry.loaded, {}
            entry.unloaded |= set(loaded)
        for model in loaded.values():
            self._stop(model)

    def _written(self, name: str, config: str, files: dict[str, bytes]) -> Path:
        """A model folder made of the files of a load request; they replace the one in the repository."""
        if not config:
            raise LoadFailed(name, "unknown", "files were given without a configuration")
        self._temporary.append(tempfile.TemporaryDirectory(prefix="triton_pyb_"))
        folder = Path(self._temporary[-1].name) / name
        for key, content in files.items():
            path = (folder / key.removeprefix("file:")).resolve()
            if not path.is_relative_to(folder.resolve()):
                raise LoadFailed(name, "unknown", f"'{key}' lies outside the model's folder")
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(content)
        return folder

    def stop(self) -> None:
        """Unload everything, ensembles first."""
        models = [model for entry in self.entries.values() for model in entry.loaded.values()]
        for entry in self.entries.values():
            entry.loaded = {}
        for model in sorted(models, key=lambda model: not model.is_ensemble):
            self._stop(model)
        while self._temporary:
            self._temporary.pop().cleanup()

    def _stop(self, model: LoadedModel) -> None:
        model.stop()
        self.log.server("INFO", f"successfully unloaded '{model.name}' version {model.version}")

    def folders(self) -> dict[str, Path]:
        """Every model's folder in the repositories as they are now."""
        folders: dict[str, Path] = {}
        for root in self.repositories:
            folders.update(repository.model_folders(root))
        return folders

    def _load(self, wanted: dict[str, Path], all_folders: dict[str, Path] | None = None) -> list[LoadFailed]:
        failures: list[LoadFailed] = []
        configs: dict[str, Any] = {}
        queue = dict(wanted)
        while queue:
            name, folder = queue.popitem()
            entry = self.entries.setdefault(name, Entry(name, folder))
            entry.folder, entry.failures = folder, []
            try:
                configs[name] = repository.read_config(
                    folder, self.machine.release, self.machine.auto_complete, self._overrides.get(name)
                )
            except LoadFailed as failure:
                failures.append(self._failed(failure))
                continue
            steps = configs[name].ensemble_scheduling.step
            self.entries[name].steps = frozenset(step.model_name for step in steps)
            for step in steps:
                known = step.model_name in configs or self.find(step.model_name) is not None
                if not known and all_folders and step.model_name in all_folders:
                    queue[step.model_name] = all_folders[step.model_name]
        plain = [name for name in configs if not configs[name].HasField("ensemble_scheduling")]
        failures += self._load_plain({name: configs[name] for name in sorted(plain)})
        ensembles = {name: configs[name] for name in sorted(configs) if name not in plain}
        return failures + self._load_ensembles(ensembles)

    def _load_plain(self, configs: dict[str, Any]) -> list[LoadFailed]:
        one_at_a_time = self.machine.inline or self.machine.factories
        with ThreadPoolExecutor(1 if one_at_a_time else 4) as pool:
            outcomes = list(pool.map(self._load_versions, configs, configs.values()))
        return [failure for outcome in outcomes for failure in outcome]

    def _load_versions(self, name: str, config: Any) -> list[LoadFailed]:
        entry = self.entries[name]
        loaded: dict[int, LoadedModel] = {}
        try:
            for version in repository.versions(entry.folder, config):
                self.log.server("INFO", f"loading: {name}:{version}")
                loaded[version] = loading.load(
                    name, version, entry.folder, config, self.machine, partial(ModelHost, self, name)
                )
        except LoadFailed as failure:
            # One broken version takes the others along, as on the server.
            for model in loaded.values():
                model.stop()
            return [self._failed(failure)]
        self._publish(entry, loaded)
        return []

    def _publish(self, entry: Entry, loaded: dict[int, LoadedModel]) -> None:
        with self._lock:
            old, entry.loaded = entry.loaded, loaded
            entry.unloaded -= set(loaded)
            entry.unloaded |= set(old) - set(loaded)
        for version in loaded:
            self.log.server("INFO", f"successfully loaded '{entry.name}' version {version}")
        for model in old.values():
            self._stop(model)

    def _load_ensembles(self, configs: dict[str, Any]) -> list[LoadFailed]:
        failures: list[LoadFailed] = []
        waiting = dict(configs)
        while waiting:
            ready = [
                name
                for name, config in waiting.items()
                if not any(step.model_name in waiting for step in config.ensemble_scheduling.step)
            ]
            for name in ready or list(waiting):
                failures += self._load_ensemble(name, waiting.pop(name), circle=not ready)
        return failures

    def _load_ensemble(self, name: str, config: Any, circle: bool) -> list[LoadFailed]:
        entry = self.entries[name]
        try:
            if circle:
                back = min(other.name for other in self.entries.values() if name in other.steps)
                reason = f"circular dependency between ensembles: {name} -> ... -> {back} -> {name}"
                raise LoadFailed(name, "dependency", reason)
            refuse_dependencies(config, self.entries)
            complete_decoupled(config, self.entries)
            loaded = {}
            for version in repository.versions(entry.folder, config):
                self.log.server("INFO", f"loading: {name}:{version}")
                loading.refuse_missing_labels(name, version, config, entry.folder)
                model = LoadedModel(name, version, model_config.as_dict(config, self.machine.release))
                model.serve(EnsembleScheduler(model, self._step))
                loaded[version] = model
        except LoadFailed as failure:
            return [self._failed(failure)]
        self._publish(entry, loaded)
        return []

    def _failed(self, failure: LoadFailed) -> LoadFailed:
        entry = self.entries[failure.model]
        entry.failures.append(failure)
        words = {"poll": f"Poll failed for model directory '{failure.model}': {failure.reason}"}
        self.log.server("ERROR", words.get(failure.stage, failure.message.strip()))
        return failure
