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
    rows : int
        The batch size; 0 for a model without batching.
    meeting : Meeting
        Set when a test said which requests meet; then time plays no part in batching.
    chain : tuple of str
        The models whose `execute` waits for this request, outermost first; empty for a client's.
    """

    request: WireRequest
    rows: int
    deliver: Deliver
    meeting: Meeting | None = None
    chain: tuple[str, ...] = ()
    enqueued_ns: int = field(default_factory=time.monotonic_ns)
    started_ns: int = 0

    @property
    def size(self) -> int:
        """What this request adds to a batch: a request without a batch axis counts as one."""
        return max(1, self.rows)

    def fail(self, message: str, code: str = "INTERNAL", stage: str = "execution") -> None:
        """Answer with an error; nothing may follow."""
        self.deliver(WireResponse(error=WireError(code, message, stage)))
