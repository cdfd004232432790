"""What one model instance's pb_utils objects share: release, host link, phase, classes, the first fault."""

from __future__ import annotations

import contextlib
import os
from typing import Any, Callable, Dict, Iterator, NoReturn, Optional, Set

from .errors import EmulatorError
from .messages import WireFault
from .releases import Release
from .undertaker import Undertaker


class Stub:
    """The state of one stub process.

    `link` reaches the server half: ``infer(request, decoupled)``, ``control(name, *args)``,
    ``metric(name, *args)``, ``log(level, file, line, message)``, ``cancel(key)``.
    """

    def __init__(self, link: Any, release: str, instance_name: str, version_dir: str, decoupled: bool) -> None:
        self.link = link
        self.release = Release(release)
        self.instance_name = instance_name
        self.version_dir = version_dir
        self.model_dir = os.path.dirname(version_dir)
        self.decoupled = decoupled
        self.gpu = False
        #: "import", "create", "auto_complete", "initialize", "execute" (from then on), "finalize"
        self.phase = "import"
        self.classes: Dict[str, Any] = {}
        self.defaults: Dict[str, Any] = {}
        self.fault: Optional[WireFault] = None
        self.ended = False
        self.cancelled: Set[int] = set()
        self.undertaker = Undertaker()
        self.serialize: Callable[[Any], Any] = bytes
        self.background_done: Optional[Callable[[Any], None]] = None

    @contextlib.contextmanager
    def watching(self) -> Iterator[None]:
        """Keep the first EmulatorError that passes: a model that swallows it has still killed the server."""
        try:
            yield
        except EmulatorError as error:
            self.fault = self.fault or error.fault()
            raise

    def fail(self, code: str, what: str, where: str, fix: str) -> NoReturn:
        """Raise and keep an EmulatorError."""
        with self.watching():
            raise EmulatorError(code, what, where, fix)

    def is_cancelled(self, exchange: Any) -> bool:
        """Whether the client of a received request went away; a constructed request has none."""
        if exchange is None:
            self.fail(
                "TPB506",
                "is_cancelled on a request that was constructed here aborts the whole server",
                f"'{self.instance_name}'",
                "Ask only the requests that execute got.",
            )
        if exchange.key in self.cancelled:
            return True
        if exchange.finished:
            self.fail(
                "TPB513",
                "is_cancelled after the final response: the server looks in memory that it has freed, and may die",
                f"'{self.instance_name}'",
                "Ask before the final response; afterwards there is nothing left to cancel.",
            )
        return False
