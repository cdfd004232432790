"""What strict mode asks of a model's answers and a real server does not.

A real server passes a wrong data type, shape or row count on to the client as it is, and drops an output
that the configuration does not declare. Each check has a name; `EmulatedTriton(strict_off={"rows"})`
switches that one off, ``mode="faithful"`` all of them.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from triton_pyb.emulator.messages import WireFault, WireResponse, WireTensor
from triton_pyb.emulator.pending import Pending
from triton_pyb.emulator.validation import declared_datatype, listed
from triton_pyb.runtime.arrays import fits
from triton_pyb.runtime.errors import did_you_mean

#: The names of the checks. "unanswered" speaks of the ports only: there a client waits, or gets an error;
#: in this process a request that is never answered fails in every mode. "leaked" speaks of pytest's fixture alone: no
#: client hears of a response that comes too late, so the test fails when it ends.
CHECKS = frozenset(
    {"dtype", "shape", "rows", "missing_output", "duplicate_output", "undeclared_output", "unanswered", "leaked"}
)


class BrokenRule(WireFault):
    """A finding of strict mode on its way to the client; `rule` names the check."""

    rule: str = ""


def _broken(code: str, what: str, where: str, fix: str, rule: str) -> BrokenRule:
    fault = BrokenRule(code, what, where, fix)
    fault.rule = rule
    return fault


@dataclass(frozen=True)
class Contract:
    """The checks of one model's answers."""

    model: str
    outputs: dict[str, dict[str, Any]] = field(default_factory=dict)
    batching: bool = False
    decoupled: bool = False
    checks: frozenset[str] = frozenset()
    expected: dict[str, tuple[str, list[int]]] = field(default_factory=dict)  # data type and full dims by output
    fixed: dict[str, tuple[int, ...]] = field(default_factory=dict)  # dims of the outputs where none is -1

    @classmethod
    def of(cls, config: dict[str, Any], mode: str, off: frozenset[str] = frozenset()) -> Contract:
        batching = config["max_batch_size"] > 0
        batch_axis = [-1] if batching else []
        return cls(
            model=config["name"],
            outputs={tensor["name"]: tensor for tensor in config["output"]},
            batching=batching,
            fixed={t["name"]: tuple(t["dims"]) for t in config["output"] if -1 not in t["dims"]},
            expected={t["name"]: (declared_datatype(t), batch_axis + list(t["dims"])) for t in config["output"]},
            decoupled=bool(config.get("model_transaction_policy", {}).get("decoupled")),
            checks=CHECKS - off if mode == "strict" else frozenset(),
        )

    def checked(self, response: WireResponse, pending: Pending) -> WireResponse:
        """The response itself, or one that carries the first finding."""
        if not self.checks or response.error is not None or response.fault is not None:
            return response
        if not response.outputs and response.final and self.decoupled:
            return response  # a bare final flag
        if self._kept(response, pending):
            return response
        for finding in self._findings(response, pending):
            if finding.rule in self.checks:
                return WireResponse(fault=finding, final=response.final)
        return response

    def _kept(self, response: WireResponse, pending: Pending) -> bool:
        """Whether there is nothing to find; the short way for nearly every response."""
        asked, rows = set(pending.request.requested_outputs), pending.rows
        if response.dropped or len(asked) != len(response.outputs):
            return False
        for tensor in response.outputs:
            datatype, dims = self.expected[tensor.name]
            if tensor.name not in asked or tensor.datatype != datatype:
                return False
            shape = tensor.shape[1:] if self.batching else tensor.shape
            if shape != self.fixed.get(tensor.name) and not fits(dims, tensor.shape):
                return False
            if self.batching and tensor.shape[:1] != (rows,):
                return False
            asked.remove(tensor.name)
        return True

    def _findings(self, response: WireResponse, pending: Pending) -> Iterator[BrokenRule]:
        where = f"model '{self.model}'"
        names = [tensor.name for tensor in response.outputs]
        for name in response.dropped:
            if name not in self.outputs:
                yield _broken(
                    "TPB575",
                    f"output '{name}' is not declared, config.pbtxt has {sorted(self.outputs) or 'no outputs'}"
                    + did_you_mean(name, self.outputs),
                    where,
                    "correct the tensor's name, or declare it: the server drops it without a word",
                    "undeclared_output",
                )
        for name in pending.request.requested_outputs:
            if name not in names:
                yield _broken(
                    "TPB570",
                    f"output '{name}' is missing, got {sorted(names) or 'no outputs'}",
                    where,
                    f"put a tensor '{name}' into every InferenceResponse, or request fewer outputs",
                    "missing_output",
                )
        for name in sorted({name for name in names if names.count(name) > 1}):
            yield _broken(
                "TPB571",
                f"output '{name}' stands {names.count(name)} times in one response",
                where,
                "put each output into a response once",
                "duplicate_output",
            )
        for tensor in response.outputs:
            yield from self._tensor(tensor, pending.rows)

    def _tensor(self, tensor: WireTensor, rows: int) -> Iterator[BrokenRule]:
        where = f"output '{tensor.name}' of model '{self.model}'"
        expected, full = self.expected[tensor.name]
        if tensor.datatype != expected:
            yield _broken(
                "TPB572",
                f"got data type {tensor.datatype}, config.pbtxt declares {expected}",
                where,
                f"return a {expected} array, or declare {tensor.datatype}",
                "dtype",
            )
        if not fits(full, tensor.shape):
            yield _broken(
                "TPB573",
                f"got shape {listed(tensor.shape)}, config.pbtxt declares {listed(full)}"
                + (" (-1 first is the batch axis)" if self.batching else ""),
                where,
                "return the declared shape, or correct dims",
                "shape",
            )
        elif self.batching and tensor.shape[0] != rows:
            yield _broken(
                "TPB574",
                f"got {tensor.shape[0]} rows for a request of {rows}",
                where,
                "return one row per row of the request",
                "rows",
            )
