"""One model instance: the stub process (or its inline twin) as the server half drives it.

    instance = ModelInstance(Launch(model_dir=..., version="1", ...), host)
    instance.start()                       # imports model.py, runs initialize; raises LoadError
    fault = instance.execute(requests, respond)
    instance.finalize()

`respond(index, response, flags)` comes from any thread, also after `execute` returned (decoupled models,
senders used from a thread). Per request the last call carries FINAL (response may be None: a bare final
flag), or RESCHEDULE. A hang or a death of the real server is a response with `fault` set (then flags is
FINAL), or the WireFault that `execute` returns, which stands for all its unfinished requests.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Callable, Dict, Iterator, List, Optional, Tuple

from .messages import WireFault, WireRequest, WireResponse

try:
    from typing import Protocol
except ImportError:  # Python 3.7
    raise

Respond = Callable[[int, Optional[WireResponse], int], None]


class Host(Protocol):
    """What a model instance asks of its server; every method may be called from any thread."""

    metrics: Any  # a stub.registry.MetricsRegistry; one for the whole server

    def infer(self, request: WireRequest, decoupled: bool) -> Iterator[WireResponse]:
        """BLS. Yields responses as they come, exactly one unless `decoupled`; the last has ``final`` set.

        Errors are responses too: ``stage="request"`` with the server's plain message when no model ran
        (the "Model M - Error when running inference: " prefix is put on by the stub), else "execution".
        """

    def load_model(self, name: str, config: str, files: Dict[str, bytes]) -> Optional[str]:
        """None once it is loaded, or the server's message, e.g. "failed to load 'M', failed to poll ..."."""

    def unload_model(self, name: str, unload_dependents: bool) -> Optional[str]:
        """None, or the server's message; an unknown model is no error."""

    def is_model_ready(self, name: str, version: str) -> bool:
        """False for anything unknown; `version` is "" or digits."""

    def log(self, level: str, file: str, line: int, message: str) -> None:
        """`level` is "INFO", "WARNING", "ERROR" or "VERBOSE"; `file` a base name such as "model.py"."""

    def output(self, stream: str, text: str) -> None:
        """One line (without its end) that the model's process wrote to "stdout" or "stderr"."""


@dataclass
class Launch:
    """What `initialize` will be told, and how the instance is to run.

    Attributes
    ----------
    model_dir : str
        ``<repository>/<model>``; holds the folder `version`.
    config : dict
        The complete model configuration as Triton's JSON spells it.
    kind : str
        "CPU", "GPU" or "MODEL".
    release : str
        Container release, e.g. "24.10": names, keywords and behaviours it lacks are missing.
    inline : bool
        Run in this process: `breakpoint()` works, a crash takes the tests along.
    factory : callable
        Inline only: called for the model object in place of importing ``<version>/model.py``.
    python : str
        The interpreter of the child, default this one.
    environment : dict
        Added to the child's environment.
    """

    model_dir: str
    version: str
    config: Dict[str, Any]
    instance_name: str
    kind: str = "CPU"
    device_id: int = 0
    release: str = "24.10"
    inline: bool = False
    factory: Optional[Callable[[], object]] = None
    python: Optional[str] = None
    cwd: Optional[str] = None
    environment: Dict[str, str] = field(default_factory=dict)
    model_file: Optional[str] = None  # in place of <version>/model.py: the stand-in of another backend
    gpu: bool = False  # the emulated machine has a GPU


class LoadError(Exception):
    """The model did not load; the message is the text Triton puts after "Internal: "."""


class ModelInstance:
    """One instance of a model, in a child process or inline."""

    def __init__(self, launch: Launch, host: Host) -> None:
        self.launch = launch
        self.host = host

    def start(self) -> None:
        """Import model.py, build the model, run `initialize`.

        Raises
        ------
        LoadError
            With the text of the exception as the stub words it.
        """
        raise NotImplementedError

    def execute(self, requests: List[WireRequest], respond: Respond) -> Optional[WireFault]:
        """Run `execute` on a batch; returns when the model's `execute` did. One call at a time."""
        raise NotImplementedError

    def cancel(self, request: WireRequest) -> None:
        """The client went away: `is_cancelled()` of this request turns True."""
        raise NotImplementedError

    def is_ready(self) -> Tuple[bool, str]:
        """The user-defined check (26.03) and the health of the process, with the server's message."""
        raise NotImplementedError

    def finalize(self) -> None:
        """Run `finalize`, end the process; safe to call twice, on a dead process too."""
        raise NotImplementedError


def auto_complete(launch: Launch, host: Host) -> Dict[str, Any]:
    """`auto_complete_config` in a process of its own: the configuration as the model left it.

    Only max_batch_size, input, output, dynamic_batching and model_transaction_policy are meant to be taken
    over. Raises LoadError.
    """
    raise NotImplementedError
