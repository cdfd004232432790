"""What every protocol tells about the server and its models."""

from __future__ import annotations

from typing import Any

from triton_pyb.config import releases
from triton_pyb.emulator.errors import InferenceFailed
from triton_pyb.emulator.model_store import ModelStore
from triton_pyb.runtime.dtypes import wire_name

EXTENSIONS = [
    "classification",
    "sequence",
    "model_repository",
    "model_repository(unload_dependents)",
    "schedule_policy",
    "model_configuration",
    "system_shared_memory",
    "cuda_shared_memory",
    "binary_tensor_data",
    "parameters",
    "statistics",
    "trace",
    "logging",
]
#: Of these the emulator has none.
_NOT_EMULATED = ("system_shared_memory", "cuda_shared_memory", "trace")

NO_SHARED_MEMORY = "shared memory regions are not emulated: send the tensor itself"

TRACE_SETTING = {
    "trace_level": ["OFF"],
    "trace_rate": "1000",
    "trace_count": "-1",
    "log_frequency": "0",
    "trace_file": "",
    "trace_mode": "triton",
}


def server(release: str) -> dict[str, Any]:
    """Name, version and extensions; what is not emulated is not in the list."""
    extensions = [name for name in EXTENSIONS if name not in _NOT_EMULATED]
    return {"name": "triton", "version": releases.find_release(release).triton_version, "extensions": extensions}


def model(config: dict[str, Any], versions: list[int]) -> dict[str, Any]:
    """A model's metadata: shapes with the batch axis."""
    batch = [-1] if config["max_batch_size"] > 0 else []
    return {
        "name": config["name"],
        "versions": [str(version) for version in versions],
        "platform": config["platform"] or config["backend"],
        **{
            f"{side}s": [
                {
                    "name": tensor["name"],
                    "datatype": wire_name(tensor["data_type"]),
                    "shape": [*batch, *tensor["dims"]],
                }
                for tensor in config[side]
            ]
            for side in ("input", "output")
        },
    }


def statistics(store: ModelStore, name: str, version: int) -> list[dict[str, Any]]:
    """Entries of ``model_stats``: one model's, or everybody's when `name` is empty.

    Raises
    ------
    InferenceFailed
        In the words of the statistics extension.
    """
    names = [name] if name else sorted(store.entries)
    found = []
    for each in names:
        loaded = store.entries[each].loaded if each in store.entries else {}
        if name and not loaded:
            raise InferenceFailed(f"requested model '{name}' is not available", "INVALID_ARG")
        if version != -1 and version not in loaded:
            raise InferenceFailed(f"requested model version is not available for model '{name}'", "INVALID_ARG")
        for number in sorted(loaded) if version == -1 else [version]:
            found.append(loaded[number].statistics.as_dict(each, number))
    return found
