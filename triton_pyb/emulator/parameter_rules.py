"""What stops a model at its load apart from its tensors: parameters, and what hangs or kills a real server.

Source: backend_model.cc of Triton's core, python_be.cc and pb_env.cc of the Python backend, 24.10.
"""

from __future__ import annotations

import re
import tarfile
from pathlib import Path
from typing import Any

from triton_pyb.config.group_names import SPLIT_SAYS, breaking


def refuse_parameters(config: Any, folder: Path) -> tuple[str, str] | None:
    """Message and status code for a parameter of the Python backend or of the core that is wrong."""
    values = {key: parameter.string_value for key, parameter in config.parameters.items()}
    if "TRITON_BATCH_STRATEGY_PATH" in values:
        if config.HasField("sequence_batching"):
            return (
                "TRITON_BATCH_STRATEGY_PATH cannot be specified with sequence batcher, using default batching strategy",
                "INVALID_ARG",
            )
        if not Path(values["TRITON_BATCH_STRATEGY_PATH"]).exists():
            return f"Batching library path not found: {values['TRITON_BATCH_STRATEGY_PATH']}", "NOT_FOUND"
        return "custom batching strategies (TRITON_BATCH_STRATEGY_PATH) are not emulated", "UNSUPPORTED"
    cpu_only = values.get("FORCE_CPU_ONLY_INPUT_TENSORS", "no")
    if cpu_only not in ("yes", "no"):
        return f"Incorrect value for FORCE_CPU_ONLY_INPUT_TENSORS: {cpu_only}'", "UNSUPPORTED"
    if "EXECUTION_ENV_PATH" in values:
        return _environment(values["EXECUTION_ENV_PATH"].replace("$$TRITON_MODEL_DIRECTORY", str(folder)))
    return None


def _environment(text: str) -> tuple[str, str] | None:
    path = Path(text)
    if not path.exists():
        return f"Failed to get the canonical path for {text}.", "INTERNAL"
    if path.is_dir():
        if not (path / "bin" / "activate").exists():
            return (
                f"Path {path}/bin/activate does not exist. The Python environment should contain an 'activate' script.",
                "INTERNAL",
            )
        return None
    return None if tarfile.is_tarfile(path) else ("archive_read_open_filename() failed.", "INTERNAL")


def never_loads(config: Any, folder: Path, version: int, release: str) -> str:
    """What makes a real server hang or die while it loads this model, or an empty string."""
    for warmup in config.model_warmup:
        if warmup.batch_size > max(config.max_batch_size, 1):
            return (
                f"warm-up sample '{warmup.name}' has batch_size {warmup.batch_size}, max_batch_size is"
                f" {config.max_batch_size}: a real server dies here"
            )
    if release < "25.08" and re.search(r"[^\w./+=:@%,~-]", folder.name):
        return (
            f"the folder name '{folder.name}' has a character that the shell takes apart: releases up to 25.07"
            " never finish starting here"
        )
    if not 0 <= version < 2**63:
        return f"version {version} is no folder a real server can find: it hangs or dies here"
    return ""


def _hangs(release: str) -> str:
    return ": releases up to 25.07 never finish starting here" if release < "25.08" else ""


def missing_file(config: Any, folder: Path, version: int, release: str) -> str:
    """What a server does whose Python model has no file, or an empty string."""
    path = folder / str(version) / (config.default_model_filename or "model.py")
    if config.backend != "python" or path.exists():
        return ""
    return f"Python model file not found in '{path}'{_hangs(release)}"


def broken_name(config: Any, release: str) -> str:
    """What the name of an instance group does to the command that starts its stub, or an empty string."""
    for group in config.instance_group:
        found = breaking(group.name)
        if found is not None and found.ends:
            what = f"the instance group's name {group.name!r} has a character that ends the stub's command"
            return what + _hangs(release)
        if found is not None:
            return SPLIT_SAYS
    return ""
