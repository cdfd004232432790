"""Ensembles: models run as steps, wired by the names of ensemble tensors.

A step runs as soon as every tensor it reads is settled; the order in the file plays no part, and steps that
do not depend on each other run at the same time.

Source: ensemble_scheduler.cc of Triton's core 24.10.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple

from triton_pyb.emulator.loaded_model import LoadedModel
from triton_pyb.emulator.messages import RepeatedParameters, WireError, WireRequest, WireResponse, WireTensor, altered
from triton_pyb.emulator.pending import Pending
from triton_pyb.emulator.unordered import unordered
from triton_pyb.emulator.validation import RequestRefused, restored
from triton_pyb.runtime.arrays import fits


class Value(NamedTuple):
    """A tensor of the ensemble; `batched` where its writer counts the first axis as the batch."""

    tensor: WireTensor
    batched: bool


#: Tensor name to its value; None once nobody will write it: an optional input left out, an output not sent.
Settled = dict[str, "Value | None"]

_DEADLOCK = (
    "[request id: {}] unexpected deadlock, at least one output is not set while no more ensemble steps can be made"
)


@dataclass(frozen=True, eq=False)
class Step:
    """One model of an ensemble; maps go from the model's tensor name to the ensemble's."""

    model: str
    version: int
    input_map: dict[str, str]
    output_map: dict[str, str]
    reads: frozenset[str]

    @classmethod
    def of(cls, step: dict[str, Any]) -> Step:
        inputs = {name: step["input_map"][name] for name in unordered(step["input_map"])}
        return cls(step["model_name"], step["model_version"], inputs, step["output_map"], frozenset(inputs.values()))


class Plan(NamedTuple):
    """The steps of a request for certain outputs, and what is asked of each.

    Attributes
    ----------
    deadlocked : bool
        They cannot make all that the request asks for.
    """

    steps: list[Step]
    outputs: dict[Step, list[str]]
    deadlocked: bool


class EnsembleScheduler:
    """Runs the steps of each request.

    Parameters
    ----------
    find : callable
        Model name and version to the loaded model.
    """

    def __init__(self, model: LoadedModel, find: Callable[[str, int], LoadedModel]) -> None:
        self.model, self.find = model, find
        self.steps = [Step.of(step) for step in model.config["ensemble_scheduling"]["step"]]
        self.inputs = [tensor["name"] for tensor in model.config["input"]]
        self.outputs = {tensor["name"]: tensor for tensor in model.config["output"]}
        self.batching = model.config["max_batch_size"] > 0
        self.read = frozenset(tensor for step in self.steps for tensor in step.reads)
        self._plans: dict[tuple[str, ...], Plan] = {}

    def enqueue(self, pendings: list[Pending]) -> None:
        for pending in pendings:
            given: Settled = {name: None for name in self.inputs}
            given.update({tensor.name: Value(tensor, self.batching) for tensor in pending.request.inputs})
            _Run(self, pending).start(given)

    def waiting(self) -> int:
        return 0  # its steps wait, it does not

    def stop(self) -> None:
        """Nothing to stop: the steps have schedulers of their own."""

    def plan(self, outputs: list[str]) -> Plan:
        """What runs in a request for these outputs."""
        key = tuple(outputs)
        if key not in self._plans:
            steps, wanted = self.needed(outputs), self.read.union(outputs)
            asked = {step: [name for name, made in step.output_map.items() if made in wanted] for step in steps}
            self._plans[key] = Plan(steps, asked, not self.reached(steps).issuperset(outputs))
        return self._plans[key]

    def needed(self, outputs: list[str]) -> list[Step]:
        """The steps that run in a request for these outputs, as the server prunes the others.

        It goes back from the outputs nobody asked for, and takes a step away when none of its outputs is left. It does
        not look whether a step that stays, or the client, wants such a tensor, and an input of the ensemble that
        nobody reads any more counts as an output of the first step. Then outputs that were asked for cannot be made.
        Source: measured on 24.10.
        """
        left = [len(step.output_map) for step in self.steps]
        writer = {tensor: index for index, step in enumerate(self.steps) for tensor in step.output_map.values()}
        readers: dict[str, set[int]] = {}
        for index, step in enumerate(self.steps):
            for tensor in step.input_map.values():
                readers.setdefault(tensor, set()).add(index)
        pruned: set[int] = set()
        ignored = set(self.outputs) - set(outputs)
        while ignored:
            unread: set[str] = set()
            for index in (writer.get(tensor, 0) for tensor in ignored):
                left[index] -= 1
                if left[index] == 0:
                    pruned.add(index)
                    for tensor in self.steps[index].input_map.values():
                        readers[tensor].discard(index)
                        if not readers[tensor]:
                            unread.add(tensor)
            ignored = unread
        return [step for index, step in enumerate(self.steps) if index not in pruned]

    def reached(self, steps: list[Step]) -> set[str]:
        """The tensors that these steps can make from the ensemble's inputs."""
        known, waiting = set(self.inputs), list(steps)
        while ready := [step for step in waiting if step.reads <= known]:
            waiting = [step for step in waiting if step not in ready]
            known.update(tensor for step in ready for tensor in step.output_map.values())
        return known


class _Run:
    """One request to the ensemble: counts its branches, answers once, or once per decoupled response."""

    def __init__(self, scheduler: EnsembleScheduler, pending: Pending) -> None:
        self.scheduler, self.pending = scheduler, pending
        self.lock = threading.RLock()
        self.open_branches = 1
        self.failed = False
        self.plan = scheduler.plan(pending.request.requested_outputs)

    def start(self, given: Settled) -> None:
        _Branch(self, given, self.plan.steps).advance()

    def fork(self) -> None:
        with self.lock:
            self.open_branches += 1

    def close(self, answer: WireResponse | None) -> None:
        """One branch ended; the last one carries the final flag."""
        with self.lock:
            self.open_branches -= 1
            final = self.open_branches == 0
            if self.failed:
                return
        if answer is not None or final:
            answer = answer or WireResponse()
            answer.final = final
            self._deliver(answer)

    def fail(self, response: WireResponse) -> None:
        with self.lock:
            if self.failed:
                return
            self.failed = True
        if response.error is not None:
            message = f"in ensemble '{self.scheduler.model.name}', {response.error.message}"
            response = altered(response, error=altered(response.error, message=message))
        self._deliver(altered(response, outputs=[], final=True))

    def _deliver(self, response: WireResponse) -> None:
        if response.final:
            self._count(response.error is None and response.fault is None)
        self.pending.deliver(response)

    def _count(self, ok: bool) -> None:
        """A failed request counts twice: for its step, and for its own end. Source: measured on 24.10."""
        statistics = self.scheduler.model.statistics
        took_ns = time.monotonic_ns() - self.pending.enqueued_ns
        statistics.answered(ok, took_ns)
        if ok:
            statistics.executed([self.pending.rows], took_ns, [0])
        else:
            statistics.answered(ok, took_ns)


class _Branch:
    """Tensors known so far and steps still to run, along one chain of decoupled responses."""

    def __init__(self, run: _Run, settled: Settled, steps: list[Step]) -> None:
        self.run, self.settled, self.waiting = run, settled, list(steps)
        self.running = 0

    def advance(self) -> None:
        """Start every step whose tensors are all settled; end the branch when none is left."""
        with self.run.lock:
            if self.run.failed:
                return
            settled = self.settled.keys()
            ready: list[Step] = []
            waiting: list[Step] = []
            for step in self.waiting:
                (ready if step.reads <= settled else waiting).append(step)
            self.waiting = waiting
            self.running += len(ready)
            done = not self.running
        if done and self.run.plan.deadlocked:
            request_id = self.run.pending.request.request_id or "<id_unknown>"
            self.run.fail(WireResponse(error=WireError("INVALID_ARG", _DEADLOCK.format(request_id))))
        elif done:
            self.run.close(self._answer())
        for step in ready:
            self._start(step)

    def _start(self, step: Step) -> None:
        pending, scheduler = self.run.pending, self.run.scheduler
        outer = pending.request
        request = WireRequest(
            [],
            self.run.plan.outputs[step],
            outer.request_id,
            outer.correlation_id,
            outer.flags,
            outer.timeout_us,
            outer.priority,
            dict(outer.parameters),
            step.model,
        )
        try:
            model = scheduler.find(step.model, step.version)
            request.inputs = self._inputs(step, model)
            deliver = _Decoupled(self, step, model) if model.decoupled else self._taker(step, model)
            model.submit(request, deliver, pending.meeting, pending.chain)
        except RequestRefused as error:
            # For who called the ensemble by BLS this is no refusal of its request: the ensemble ran.
            self.run.fail(WireResponse(error=WireError(error.code, error.message)))

    def _inputs(self, step: Step, model: LoadedModel) -> list[WireTensor]:
        inputs = []
        for name, tensor_name in step.input_map.items():
            value = self.settled[tensor_name]
            if value is not None:
                inputs.append(fitted(name, value, model.input_dims[name], model.batching))
        return inputs

    def _taker(self, step: Step, model: LoadedModel) -> Callable[[WireResponse], None]:
        taken: list[WireResponse] = []

        def take(response: WireResponse) -> None:
            final = response.final
            if response.error is not None or response.fault is not None:
                self.run.fail(response)
                return
            if response.outputs or not taken:
                taken.append(response)
            if final:
                with self.run.lock:
                    self.running -= 1
                    self.settled.update(_outputs(step, model, taken[0]))
                self.advance()

        return take

    def fork(self, step: Step, model: LoadedModel, response: WireResponse, last: bool) -> None:
        """A decoupled step answered: the rest of the ensemble runs on this answer, and at the last takes our place."""
        with self.run.lock:
            settled = {**self.settled, **_outputs(step, model, response)}
            branch = _Branch(self.run, settled, self.waiting)
        if not last:
            self.run.fork()
        branch.advance()

    def end_decoupled(self) -> None:
        """A decoupled step sent its last response: what came of each is in the forks."""
        self.run.close(None)

    def _answer(self) -> WireResponse:
        scheduler = self.run.scheduler
        outputs = []
        for name in unordered(scheduler.outputs):
            value = self.settled.get(name)
            if value is None or name not in self.run.pending.request.requested_outputs:
                continue
            declared = scheduler.outputs[name]
            dims = declared["reshape"]["shape"] if "reshape" in declared else declared["dims"]
            tensor = fitted(name, value, dims, scheduler.batching)
            outputs.append(restored(tensor, declared, scheduler.batching) if "reshape" in declared else tensor)
        # The server hands the sequence fields of the steps on, set or not: with each output that has bytes.
        times = sum(1 for tensor in outputs if tensor.array.size)
        if not times:
            return WireResponse(outputs)
        request = self.run.pending.request
        parameters = {
            "sequence_id": request.correlation_id,
            "sequence_start": bool(request.flags & 1),
            "sequence_end": bool(request.flags & 2),
        }
        return WireResponse(outputs, parameters=RepeatedParameters(parameters, times) if times > 1 else parameters)


class _Decoupled:
    """Takes the responses of a decoupled step."""

    def __init__(self, branch: _Branch, step: Step, model: LoadedModel) -> None:
        self.branch, self.step, self.model = branch, step, model

    def __call__(self, response: WireResponse) -> None:
        if response.error is not None or response.fault is not None:
            self.branch.run.fail(response)
            return
        if response.outputs:
            self.branch.fork(self.step, self.model, response, response.final)
        elif response.final:
            self.branch.end_decoupled()


def _outputs(step: Step, model: LoadedModel, response: WireResponse) -> Settled:
    by_name = {tensor.name: Value(tensor, model.batching) for tensor in response.outputs}
    return {tensor_name: by_name.get(name) for name, tensor_name in step.output_map.items()}


def fitted(name: str, value: Value, dims: list[int], batching: bool) -> WireTensor:
    """The tensor by its reader's name for it; the reader may batch where the writer does not, or the other way round.

    Source: ReshapeTensorDims of ensemble_scheduler.cc: a batch axis of 1 comes and goes as the declared
    dims need it; everything else goes on as it is, and is refused by the reader.
    """
    tensor, batched = value
    shape = tensor.shape
    if batching and not batched and fits(dims, shape):
        shape = (1, *shape)
    elif batched and not batching and not fits(dims, shape) and shape[:1] == (1,):
        shape = shape[1:]
    array = tensor.array if shape == tensor.shape else tensor.array.reshape(shape)
    return WireTensor(name, tensor.datatype, shape, array, tensor.memory, tensor.device_id)
