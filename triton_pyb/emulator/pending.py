"""A request that is under way inside the server half."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from triton_pyb.emulator.messages import WireError, WireRequest, WireResponse

if TYPE_CHECKING:
    from triton_pyb.emulator.meeting import Meeting

#: Called once per response, from any thread; the last one has `final` set.
Deliver = Callable[[WireResponse], None]


@dataclass(eq=False)
class Pending:
    """One normalised request on its way to a model.

    Attributes
    ----------
    receiver : callable
        Gets every response; use `deliver`.
    leaving : callable
        Called after the last response was delivered.
    answered : bool
        The last response was delivered, or is just being delivered.
    stand_in : bool
        It fills the slot of a sequence that has no request: it counts in no statistics.
    sequence : int
        The scheduler's own key of a sequence whose client gave no id; else 0.
    held : bool
        The meeting counts it until it is answered.
    rows : int
        The batch size; 0 for a model without batching.
    meeting : Meeting
        Set when a test said which requests meet; then time plays no part in batching.
    chain : tuple of str
        The models whose `execute` waits for this request, outermost first; empty for a client's.
    """

    request: WireRequest
    rows: int
    receiver: Deliver
    leaving: Callable[[], None] | None = None
    meeting: Meeting | None = None
    chain: tuple[str, ...] = ()
    enqueued_ns: int = field(default_factory=time.monotonic_ns)
    started_ns: int = 0
    answered: bool = False
    held: bool = False
    stand_in: bool = False
    sequence: int = 0

    @property
    def size(self) -> int:
        """What this request adds to a batch: a request without a batch axis counts as one."""
        return max(1, self.rows)

    def deliver(self, response: WireResponse) -> None:
        if self.answered:  # it was abandoned meanwhile
            return
        final = self.answered = response.final  # read here: then the response is somebody else's
        try:
            self.receiver(response)  # may hold the next step's requests
        finally:
            if final:
                self._leave()

    def abandon(self) -> None:
        """Nobody waits any more: whatever is answered goes nowhere."""
        if not self.answered:
            self.answered = True
            self._leave()

    def _leave(self) -> None:
        if self.leaving is not None:
            self.leaving()
        if self.held and self.meeting is not None:
            self.meeting.leave()

    def fail(self, message: str, code: str = "INTERNAL", stage: str = "execution") -> None:
        """Answer with an error; nothing may follow."""
        self.deliver(WireResponse(error=WireError(code, message, stage)))
