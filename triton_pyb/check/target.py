"""The server that a repository is checked for: its release, its flags, its machine."""

from __future__ import annotations

import functools
from dataclasses import dataclass, field

from triton_pyb.config import releases
from triton_pyb.runtime.errors import TritonPybError, did_you_mean

#: The release that the rules were measured on.
MEASURED_RELEASE = "24.10"

#: Backends in NVIDIA's ``-py3`` container.  Source: server build.py, r21.10 to r26.06.
CONTAINER_BACKENDS = frozenset(
    {"python", "onnxruntime", "tensorrt", "pytorch", "openvino", "tensorflow", "dali", "fil", "ensemble"}
    | {"identity", "repeat", "square"}
)
#: Public backends of other containers and of third parties: their absence is no fault of the repository.
OTHER_BACKENDS = frozenset(
    {"tensorrtllm", "vllm", "fastertransformer", "armnn_tflite", "paddle", "fastdeploy", "pytorch_aoti"}
    | {"rapids_triton", "redisai", "tvm", "neuron", "hugectr", "hps", "nvtabular", "mlir", "lmdeploy"}
    | {"turbomind", "llamacpp", "ctranslate2", "xgboost", "caffe2", "distributed_addsub", "dist_addsub"}
    | {"diffusion", "minimal", "recommended"}
)


class TargetError(TritonPybError):
    """The target of a check is not one that exists."""


@dataclass(frozen=True)
class Target:
    """What the rules may assume.

    Attributes
    ----------
    release : str
        Container release, ``"24.10"``.
    chosen : bool
        True when the user named the release: then what it lacks is an error.
    strict : bool
        ``--disable-auto-complete-config``.
    gpus : int or None
        How many GPUs; None: at least one, number unknown (NVIDIA's container on a GPU machine).
    backends : frozenset of str or None
        Installed backends; None: those of NVIDIA's container.
    repository_agents : frozenset of str
    config_name : str
        ``--model-config-name``.
    rate_limit : bool
        ``--rate-limit=execution_count``.
    resources : dict
        ``--rate-limit-resource``: name -> count.
    """

    release: str = MEASURED_RELEASE
    chosen: bool = False
    strict: bool = False
    gpus: int | None = None
    backends: frozenset[str] | None = None
    repository_agents: frozenset[str] = frozenset({"checksum"})
    config_name: str = ""
    rate_limit: bool = False
    resources: dict[str, int] = field(default_factory=dict)

    def at_least(self, release: str) -> bool:
        """True when the target is that release or a later one."""
        return _ordered(self.release) >= _ordered(release)

    @property
    def python(self) -> tuple[int, int]:
        """The Python that runs model.py in the container of this release."""
        return python_of(self.release)

    @property
    def installed_backends(self) -> frozenset[str]:
        if self.backends is not None:
            return self.backends
        return CONTAINER_BACKENDS - ({"tensorflow"} if self.at_least("25.03") else set())


def python_of(release: str) -> tuple[int, int]:
    """``"21.10"`` -> ``(3, 8)``; a release without an entry counts as its predecessor."""
    table = releases.table()
    known = [name for name in table if table[name]["python"] and _ordered(name) <= _ordered(release)]
    text = table[known[-1]]["python"] if known else "3.8"
    major, minor = text.split(".")[:2]
    return int(major), int(minor)


def known_release(release: str) -> str:
    """The release, checked; ``"latest"`` is the newest one in the table.

    Raises
    ------
    TargetError
        If NVIDIA has published no such container.
    """
    shown = list(releases.table())
    if release == "latest":
        return max(shown, key=_ordered)
    if release in shown:
        return release
    raise TargetError(
        "TPB710",
        f"there is no Triton release {release!r}{did_you_mean(release, shown)}",
        "--release",
        f"name a container release from {shown[0]} to {shown[-1]}, e.g. --release {MEASURED_RELEASE}",
    )


@functools.cache
def _ordered(release: str) -> tuple[int, int]:
    year, _, month = release.partition(".")
    return int(year), int(month)
