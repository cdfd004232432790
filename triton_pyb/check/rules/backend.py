"""Group 11, second half: who runs the model, and what it needs for that."""

from __future__ import annotations

import os
from collections.abc import Iterator
from typing import Any

from triton_pyb.check.finding import Finding, printable
from triton_pyb.check.model import Model
from triton_pyb.check.rule import ModelRule
from triton_pyb.check.target import OTHER_BACKENDS
from triton_pyb.runtime.errors import did_you_mean, nearest

_CONFIG = frozenset({"config"})

#: Backend -> platforms that may stand beside it.  Source: GetBackendTypeFromPlatform, r24.10.
_PAIRS = {
    "tensorflow": ("tensorflow_graphdef", "tensorflow_savedmodel"),
    "tensorrt": ("tensorrt_plan",),
    "onnxruntime": ("onnxruntime_onnx",),
    "pytorch": ("pytorch_libtorch", "libtorch", "torch_aoti"),
}


class NameMismatch(ModelRule):
    """`name` differs from the name of the folder.

    The server refuses the model.  Rename the folder, or remove `name`: it is then taken from the folder.

    Source: core/src/model_repository_manager/model_repository_manager.cc:1659 (24.10).
    """

    code = "TPB1101"
    needs = _CONFIG
    stage = "poll"
    message = "name is \"{name}\", but the folder is '{model}'"
    fix = 'write name: "{model}", or rename the folder'
    said = "unexpected directory name '{model}' for model '{name}', directory name must equal model name"

    def check(self, model: Model) -> Iterator[Finding]:
        name = model.config["name"]
        if name and name != model.name:
            yield self.found(model, model.config.entry("name"), name=name)


class UnknownBackend(ModelRule):
    """No backend of that name is installed.

    Backend names are case sensitive.  The library `libtriton_<name>.so` is looked for in the version folder, the
    model folder and the server's backend directory.

    Source: core/src/backend_model.cc:414 (24.10).
    """

    code = "TPB1102"
    needs = frozenset({"config", "single"})
    stage = "load"
    message = "there is no backend '{backend}' in {target}{hint}"
    fix = "write a backend that is installed ({known}), or name yours with --backends if the target has it"
    said = (
        "Invalid argument: unable to find backend library for backend '{backend}', try specifying runtime on "
        "the model configuration."
    )

    def check(self, model: Model) -> Iterator[Finding]:
        backend = model.completed.backend
        installed = model.target.installed_backends - {"ensemble"}  # built in, and no library
        if not backend or backend in installed or model.config["runtime"] or _has_own_library(model, backend):
            return
        if not model.selected_versions or model.completed.platform == "ensemble":
            return
        listed = model.target.backends is not None
        known = backend in OTHER_BACKENDS and not listed
        tensorflow = backend == "tensorflow" and not listed
        where = model.config.entry("backend") or model.config.entry("platform")
        where = where or model.config.entry("default_model_filename")
        yield self.found(
            model,
            where,
            backend=backend,
            severity="warning" if known else "error",
            hint="" if tensorflow or known else did_you_mean(backend, installed),
            target="the server" if listed else f"NVIDIA's container {model.target.release}",
            known=", ".join(sorted(installed)),
        )


def _has_own_library(model: Model, backend: str) -> bool:
    library = f"libtriton_{backend}.so".replace("\0", "").replace("/", "_")
    folders = [model.path, *(version.path for version in model.selected_versions)]
    return any(os.path.exists(os.path.join(folder, library)) for folder in folders)


class UndeterminedBackend(ModelRule):
    """Nothing says who runs the model.

    Without `backend`, `platform` and `default_model_filename` the server looks into the *first* sub folder in string
    order only: `10` before `2`, `.git` and `0assets` before `1`.  Write `backend`.

    Source: core/src/model_config_utils.cc:1231 (24.10), AutoCompleteBackendFields.
    """

    code = "TPB1103"
    needs = _CONFIG
    stage = "poll"
    message = "{why}"
    fix = "{repair}"
    said = (
        "Invalid model name: Could not determine backend for model '{model}' with no backend in model "
        "configuration. Expected model name of the form 'model.<backend_name>'."
    )

    def check(self, model: Model) -> Iterator[Finding]:
        if not model.completed.undetermined:
            return
        if model.config_state == "absent" and model.target.strict:
            return  # TPB1516 tells
        why, repair = self._explain(model)
        where = model.config.entry("ensemble_scheduling") if model.is_ensemble else None
        yield self.found(model, where, why=printable(why), repair=printable(repair))

    def _explain(self, model: Model) -> tuple[str, str]:
        if "ensemble_scheduling" in model.config:
            return "an ensemble without platform", 'write platform: "ensemble"'
        nested = [name for name in model.subfolders if _is_model(os.path.join(model.path, name))]
        if model.config_state == "absent" and nested:
            return (
                f"'{model.name}' holds models ({', '.join(nested[:3])}), but the server takes every sub folder of "
                "the repository for one model",
                f"start the server with --model-repository=.../{model.name}, or move the models up",
            )
        if model.config_state == "absent":
            return (
                f"'{model.name}' is no model, but the server takes every sub folder of the repository for one",
                "move it out of the repository, or give it a config.pbtxt and a version folder",
            )
        first = model.subfolders[0] if model.subfolders else ""
        holders = [name for name in model.subfolders if os.path.isfile(os.path.join(model.path, name, "model.py"))]
        if holders and first not in holders:
            return (
                f"backend is not given, and the server looks only into '{first}', the first sub folder in string "
                f"order, not into '{holders[0]}' where model.py is",
                'write backend: "python"',
            )
        if "model.py" in model.files:
            return (
                "backend is not given, and model.py is not in a version folder",
                'write backend: "python", and move model.py into 1/',
            )
        inside = f"; '{first}' holds no file that tells it" if first else ""
        return (
            f"backend is not given{inside}",
            'write backend: "python", and put model.py into the version folder',
        )


def _is_model(path: str) -> bool:
    return os.path.isfile(os.path.join(path, "config.pbtxt")) or os.path.isfile(os.path.join(path, "1", "model.py"))


class UnexpectedPlatform(ModelRule):
    """`platform` is no platform that the server knows, and no backend is given.

    `platform: "python"` is the usual mistake: Python models say `backend: "python"`.

    Source: core/src/model_config_utils.cc:1380 (24.10), ValidateModelConfig.
    """

    code = "TPB1104"
    needs = _CONFIG
    stage = "poll"
    message = 'platform "{platform}" is not known{hint}'
    fix = "{repair}"
    said = "unexpected platform type '{platform}' for {model}"

    def check(self, model: Model) -> Iterator[Finding]:
        done = model.completed
        if done.backend or done.undetermined or done.platform == "ensemble":
            return
        known = ["ensemble", *(platform for platforms in _PAIRS.values() for platform in platforms)]
        repair = f'write backend: "{done.platform}" instead'
        match = nearest(done.platform, known)
        hint = ""
        if match and done.platform not in model.target.installed_backends:
            hint, repair = f"; did you mean '{match}'?", f'write platform: "{match}"'
        elif done.platform not in model.target.installed_backends:
            repair = 'write backend: "python" (or the backend that runs it) and remove platform'
        if not done.platform:
            repair = 'write backend: "python" (or the backend that runs the file)'
        where = model.config.entry("platform") or model.config.entry("default_model_filename")
        yield self.found(model, where, platform=done.platform, hint=hint, repair=repair)


class PlatformBackendPair(ModelRule):
    """`platform` and `backend` do not belong together.

    Source: core/src/model_config_utils.cc:1406 (24.10), ValidateModelConfig.
    """

    code = "TPB1105"
    needs = _CONFIG
    stage = "poll"
    message = 'platform "{platform}" does not belong to backend "{backend}"'
    fix = "{repair}"
    said = "unexpected 'platform' and 'backend' pair, got:{platform}, {backend}"

    def check(self, model: Model) -> Iterator[Finding]:
        done = model.completed
        if done.backend in _PAIRS and done.platform not in _PAIRS[done.backend] and done.platform != "ensemble":
            repair = f'write platform: "{_PAIRS[done.backend][0]}"'
            if done.platform:
                repair += ", or remove platform"
            where = model.config.entry("platform") or model.config.entry("backend")
            yield self.found(model, where, platform=done.platform, backend=done.backend, repair=repair)


class EnsembleWithBackend(ModelRule):
    """An ensemble has a backend.

    `default_model_filename: "model.py"` counts too: it makes the server choose the python backend.

    Source: core/src/model_config_utils.cc:1388 (24.10), ValidateModelConfig.
    """

    code = "TPB1106"
    needs = _CONFIG
    stage = "poll"
    message = "an ensemble cannot have {what}"
    fix = "remove it"
    said = "Ensemble model '{model}' must have platform type 'ensemble' and empty backend type"

    def check(self, model: Model) -> Iterator[Finding]:
        done = model.completed
        if done.platform == "ensemble" and done.backend:
            entry = model.config.entry("backend")
            what = f'backend: "{done.backend}"'
            if entry is None:
                entry = model.config.entry("default_model_filename")
                what = f'default_model_filename: "{done.filename}"'
            yield self.found(model, entry, what=what)


class NegativeMaxBatchSize(ModelRule):
    """max_batch_size is negative.

    Source: core/src/model_config_utils.cc:1413 (24.10), ValidateModelConfig.
    """

    code = "TPB1107"
    needs = _CONFIG
    stage = "poll"
    message = "max_batch_size is {got}"
    fix = "write 0 for no batching, or the largest batch"
    said = "'max_batch_size' must be non-negative value for {model}"

    def check(self, model: Model) -> Iterator[Finding]:
        if model.max_batch_size < 0:
            yield self.found(model, model.config.entry("max_batch_size"), got=model.max_batch_size)


class CacheOfDecoupled(ModelRule):
    """The response cache is on for a decoupled model.

    Source: core/src/model_config_utils.cc:1619 (24.10), ValidateModelConfig (not in 22.06).
    """

    code = "TPB1128"
    needs = _CONFIG
    stage = "poll"
    message = "response_cache is on, but the model is decoupled"
    fix = "remove response_cache, or decoupled"
    said = (
        "Response Cache does not currently support model {model} with 'decoupled' transaction policy. Please "
        "disable the response cache."
    )

    def check(self, model: Model) -> Iterator[Finding]:
        if model.target.at_least("23.01") and _enabled(model, "response_cache", "enable"):
            if _enabled(model, "model_transaction_policy", "decoupled"):
                yield self.found(model, model.config.entry("response_cache"))


class CacheOfSequence(ModelRule):
    """The response cache is on for a model with sequence batching.

    Source: core/src/model_config_utils.cc:1508 (24.10), ValidateModelConfig (not in 23.01).
    """

    code = "TPB1129"
    needs = _CONFIG
    stage = "poll"
    message = "response_cache is on, but the model batches sequences"
    fix = "remove response_cache, or sequence_batching"
    said = (
        "Response Cache does not currently support model {model} with sequence batching scheduler. Please "
        "disable the response cache."
    )

    def check(self, model: Model) -> Iterator[Finding]:
        if model.target.at_least("23.10") and _enabled(model, "response_cache", "enable"):
            if "sequence_batching" in model.config:
                yield self.found(model, model.config.entry("response_cache"))


def _enabled(model: Model, block: str, field: str) -> bool:
    message = model.config[block]
    return message is not None and bool(message[field])


class UnknownRepositoryAgent(ModelRule):
    """A repository agent is not installed.

    NVIDIA's container holds `checksum`.

    Source: core/src/backend_config.cc:78 (24.10).
    """

    code = "TPB1130"
    needs = _CONFIG
    stage = "poll"
    message = "repository agent '{name}' is not installed{hint}"
    fix = "remove it, or install libtritonrepoagent_{name}.so"
    said = (
        "unable to find 'libtritonrepoagent_{name}.so' for repo agent '{name}', searched: /opt/tritonserver/repoagents"
    )

    def check(self, model: Model) -> Iterator[Finding]:
        agents = model.config["model_repository_agents"]
        known = model.target.repository_agents
        for agent in agents["agents"] if agents is not None else []:
            name = agent["name"]
            library = os.path.join(model.path, f"libtritonrepoagent_{name}.so".replace("\0", ""))
            if name not in known and not os.path.exists(library):
                yield self.found(model, agent.entry("name") or agent, name=name, hint=did_you_mean(name, known))


class NoRepositoryAgent(ModelRule):
    """model_repository_agents lists no agent: the whole server dies.

    Source: measured on 24.10 (SIGSEGV while the model is polled).
    """

    code = "TPB1137"
    needs = _CONFIG
    stage = "crash"
    message = "model_repository_agents lists no agent: the whole server dies"
    fix = "remove model_repository_agents, or list an agent"

    def check(self, model: Model) -> Iterator[Finding]:
        agents = model.config["model_repository_agents"]
        if agents is not None and not agents["agents"]:
            yield self.found(model, model.config.entry("model_repository_agents"))


class BatchStrategy(ModelRule):
    """TRITON_BATCH_STRATEGY_PATH names a library that is not there, or stands beside sequence batching.

    Source: core/src/backend_model.cc:188 and 202 (24.10).
    """

    code = "TPB1131"
    needs = frozenset({"config", "single"})
    stage = "load"
    message = "TRITON_BATCH_STRATEGY_PATH {why}"
    fix = "remove the parameter, or name a library that exists in the container"
    said = "{what}"

    def check(self, model: Model) -> Iterator[Finding]:
        entry = parameter(model, "TRITON_BATCH_STRATEGY_PATH")
        if entry is None:
            return
        path = str(entry.value["string_value"]) if entry.value is not None else ""
        if "sequence_batching" in model.config:
            what = (
                "Invalid argument: TRITON_BATCH_STRATEGY_PATH cannot be specified with sequence batcher, using "
                "default batching strategy"
            )
            yield self.found(model, entry, why="cannot stand beside sequence_batching", what=what)
        elif not os.path.exists(path.replace("\0", "")) and (
            not path.startswith("/opt/") or path.startswith(os.path.abspath(model.path))
        ):
            what = f"Not found: Batching library path not found: {path}"
            yield self.found(model, entry, why=f'is "{path}", which does not exist', what=what)
        elif os.path.exists(path.replace("\0", "")) and not _is_library(path.replace("\0", "")):
            what = f"Not found: unable to load shared library: {path}: "
            yield self.found(model, entry, why=f'is "{path}", which is no shared library', what=what)


def _is_library(path: str) -> bool:
    try:
        with open(path, "rb") as stream:
            return stream.read(4) == b"\x7fELF"
    except IsADirectoryError:
        return False
    except OSError:
        return True


def parameter(model: Model, key: str) -> Any:
    """The entry of a parameter's value, or None."""
    return model.config.map("parameters").get(key)


class RuntimeMissing(ModelRule):
    """`runtime` names a backend library that is not there.

    For Python models leave `runtime` out: it is for backends that are themselves written in Python.

    Source: core/src/backend_model.cc:345 and 375 (24.10).
    """

    code = "TPB1132"
    needs = frozenset({"config", "single"})
    stage = "load"
    message = 'runtime "{runtime}" is no library that the server finds'
    fix = "remove runtime"
    said = "Invalid argument: {what}"

    def check(self, model: Model) -> Iterator[Finding]:
        runtime, backend = model.config["runtime"], model.completed.backend
        if not runtime or not backend or not model.selected_versions:
            return
        if runtime == f"libtriton_{backend}.so" or backend != "python" and runtime.endswith(".py"):
            return
        clean = runtime.replace("\0", "")
        local = [os.path.join(v.path, clean) for v in model.selected_versions] + [os.path.join(model.path, clean)]
        if not clean.endswith(".py") and ".." not in clean and any(os.path.isfile(path) for path in local):
            return
        if runtime.endswith(".py"):
            what = (
                f"unable to find Python backend based backend library '{runtime}' for model '{model.name}', "
                f"searched: '<BACKENDS>/{backend}/{runtime}'"
            )
        else:
            version = model.selected_versions[0].number
            what = (
                f"unable to find backend library '{runtime}' for model '{model.name}', searched: "
                f"'<REPO>/{model.name}/{version}' '<REPO>/{model.name}' '<BACKENDS>/{backend}' "
            )
        yield self.found(model, model.config.entry("runtime"), runtime=runtime, what=what)


class ModelFileMissing(ModelRule):
    """The version folder does not hold the file that the backend loads.

    Source: the backends' own loaders (onnxruntime, tensorrt, tensorflow, pytorch, openvino): "unable to find".
    """

    code = "TPB1133"
    needs = frozenset({"config", "single"})
    stage = "load"
    message = "{folder} does not hold {file}, which backend '{backend}' loads"
    fix = "put {file} there, or name another file in default_model_filename"
    said = "unable to find '<REPO>/{model}/{version}/{file}'"

    def check(self, model: Model) -> Iterator[Finding]:
        done = model.completed
        if done.backend not in ("onnxruntime", "tensorrt", "tensorflow", "pytorch", "openvino"):
            return
        if model.config["runtime"] or model.config.map("cc_model_filenames") or "torch_aoti" in done.platform:
            return
        for version in model.selected_versions:
            file = done.filename.replace("\0", "")
            if not os.path.exists(os.path.join(version.path, file)):
                values = {"file": file, "backend": done.backend, "version": version.number}
                where = model.config.entry("default_model_filename") or model.config.entry("backend")
                where = where or model.config.entry("platform")
                folder = f"{model.name}/{version.number}"
                yield self.found(model, where, folder=folder, **values)


class ModelMetrics(ModelRule):
    """model_metrics is incomplete.

    Source: core/src/model_config_utils.cc ValidateModelMetrics (24.11 and later).
    """

    code = "TPB1134"
    needs = _CONFIG
    stage = "poll"
    message = "model_metrics: {what}"
    fix = "give every metric_control a metric_identifier with family, and histogram_options with buckets"
    said = "{what}"

    def check(self, model: Model) -> Iterator[Finding]:
        metrics = model.config["model_metrics"]
        if metrics is None or not model.target.at_least("24.11"):
            return
        for control in metrics["metric_control"]:
            identifier, options = control["metric_identifier"], control["histogram_options"]
            if identifier is None:
                yield self.found(model, control, what="metric control must specify 'metric_identifier'")
            elif not identifier["family"]:
                yield self.found(model, identifier, what="metric identifier must specify non-empty 'family'")
            if options is None:
                yield self.found(model, control, what="metric control must specify 'histogram_options'")
            elif not options["buckets"]:
                yield self.found(model, options, what="histogram options must specify non-empty 'buckets'")
