"""The counts that a server keeps per model version."""

from __future__ import annotations

import threading
import time
from collections import Counter
from dataclasses import dataclass, field
from typing import Any


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
class Statistics:
    """Counts of one model version, in the words of Triton's statistics extension.

    A request that the server refuses before a model sees it counts nowhere but in `fail`, and only when it
    was refused in a queue. Durations are this machine's: they say nothing about a real server.
    """

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
    _lock: threading.Lock = field(default_factory=threading.Lock)

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
        requests, total = len(rows) - stand_ins, sum([count or 1 for count in rows])
        batch = tuple(rows)
        with self._lock:
            self.last_inference = time.time_ns() // 1_000_000
            self.execution_count += 1
            self.batches[batch] = self.batches.get(batch, 0) + 1
            if total not in self.batch_sizes:
                self.batch_sizes[total] = _Duration()
            self.batch_sizes[total].add(compute_ns)
            if failed:
                return
            self.inference_count += total - stand_ins
            durations = self.durations
            durations["queue"].add(sum(queue_ns), requests)
            durations["compute_infer"].add(compute_ns * requests, requests)
            durations["compute_input"].count += requests
            durations["compute_output"].count += requests

    def answered(self, ok: bool, ns: int) -> None:
        """One request got its last response."""
        with self._lock:
            self.durations["success" if ok else "fail"].add(ns)

    def as_dict(self, name: str, version: int) -> dict[str, Any]:
        """One entry of ``model_stats``."""
        with self._lock:
            return {
                "name": name,
                "version": str(version),
                "last_inference": self.last_inference,
                "inference_count": self.inference_count,
                "execution_count": self.execution_count,
                "inference_stats": {key: value.as_dict() for key, value in self.durations.items()},
                "response_stats": {},
                "batch_stats": [
                    {
                        "batch_size": size,
                        "compute_input": {"count": duration.count, "ns": 0},
                        "compute_infer": duration.as_dict(),
                        "compute_output": {"count": duration.count, "ns": 0},
                    }
                    for size, duration in sorted(self.batch_sizes.items())
                ],
                "memory_usage": [],
            }
