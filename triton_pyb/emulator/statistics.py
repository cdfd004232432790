"""The counts that a server keeps per model version."""

from __future__ import annotations

import threading
import time
from collections import Counter, deque
from dataclasses import dataclass, field
from typing import Any, NamedTuple


@dataclass
class _Duration:
    count: int = 0
    ns: int = 0

    def add(self, ns: int, count: int = 1) -> None:
        self.count += count
        self.ns += ns

    def as_dict(self) -> dict[str, int]:
        return {"count": self.count, "ns": self.ns}


@dataclass
class Counts:
    """What was counted of one model version until now."""

    last_inference: int = 0  # milliseconds since the epoch
    inference_count: int = 0  # rows
    execution_count: int = 0
    durations: dict[str, _Duration] = field(
        default_factory=lambda: {
            name: _Duration()
            for name in (
                "success",
                "fail",
                "queue",
                "compute_input",
                "compute_infer",
                "compute_output",
                "cache_hit",
                "cache_miss",
            )
        }
    )
    batch_sizes: dict[int, _Duration] = field(default_factory=dict)
    batches: Counter[tuple[int, ...]] = field(default_factory=Counter)  # rows per request of each execute

    def add(self, note: _Executed | _Answered) -> None:
        if isinstance(note, _Answered):
            self.durations["success" if note.ok else "fail"].add(note.ns)
            return
        requests, total = len(note.rows) - note.stand_ins, sum(count or 1 for count in note.rows)
        self.last_inference = note.at_ns // 1_000_000
        self.execution_count += 1
        self.batches[tuple(note.rows)] += 1
        self.batch_sizes.setdefault(total, _Duration()).add(note.compute_ns)
        if note.failed:
            return
        self.inference_count += total - note.stand_ins
        self.durations["queue"].add(sum(note.queue_ns), requests)
        self.durations["compute_infer"].add(note.compute_ns * requests, requests)
        for name in ("compute_input", "compute_output"):
            self.durations[name].add(0, requests)


class _Executed(NamedTuple):
    rows: list[int]
    compute_ns: int
    queue_ns: list[int]
    failed: bool
    stand_ins: int
    at_ns: int


class _Answered(NamedTuple):
    ok: bool
    ns: int


_MOST_NOTES = 4096


class Statistics:
    """Counts of one model version, in the words of Triton's statistics extension.

    A request that the server refuses before a model sees it counts nowhere but in `fail`, and only when it
    was refused in a queue. Durations are this machine's: they say nothing about a real server.

    A request only leaves notes; they are added up when somebody asks.
    """

    def __init__(self) -> None:
        self._counts = Counts()
        self._notes: deque[tuple[Any, ...]] = deque()  # fields of _Answered and _Executed: cheaper to make
        self._lock = threading.Lock()

    def executed(
        self, rows: list[int], compute_ns: int, queue_ns: list[int], failed: bool = False, stand_ins: int = 0
    ) -> None:
        """One `execute` ran, on requests of these many rows.

        Parameters
        ----------
        failed : bool
            `execute` itself failed: no request was inferred. Source: measured on 24.10.
        stand_ins : int
            How many of the requests, of one row each, fill slots of sequences that have none.
        """
        self._notes.append((rows, compute_ns, queue_ns, failed, stand_ins, time.time_ns()))

    def answered(self, ok: bool, ns: int) -> None:
        """One request got its last response."""
        self._notes.append((ok, ns))
        if len(self._notes) > _MOST_NOTES:
            self._add_up()

    @property
    def counts(self) -> Counts:
        """Everything until now; it goes on counting, so read one number of it at a time."""
        self._add_up()
        return self._counts

    def _add_up(self) -> None:
        with self._lock:
            while self._notes:
                note = self._notes.popleft()
                self._counts.add(_Answered(*note) if len(note) == len(_Answered._fields) else _Executed(*note))

    def as_dict(self, name: str, version: int) -> dict[str, Any]:
        """One entry of ``model_stats``."""
        self._add_up()
        counts = self._counts
        with self._lock:
            return {
                "name": name,
                "version": str(version),
                "last_inference": counts.last_inference,
                "inference_count": counts.inference_count,
                "execution_count": counts.execution_count,
                "inference_stats": {key: value.as_dict() for key, value in counts.durations.items()},
                "response_stats": {},
                "batch_stats": [
                    {
                        "batch_size": size,
                        "compute_input": {"count": duration.count, "ns": 0},
                        "compute_infer": duration.as_dict(),
                        "compute_output": {"count": duration.count, "ns": 0},
                    }
                    for size, duration in sorted(counts.batch_sizes.items())
                ],
                "memory_usage": [],
            }
