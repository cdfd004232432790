"""`EmulatedTriton`: a whole server inside this process, models in child processes."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Future
from types import TracebackType
from typing import TYPE_CHECKING, Any

from triton_pyb.config.releases import find_release
from triton_pyb.emulator import inference, metrics_page, tensors
from triton_pyb.emulator.calls import Arrays, RequestOptions, arrays_of, pass_on, result_of
from triton_pyb.emulator.contract import CHECKS
from triton_pyb.emulator.errors import InferenceFailed, LoadFailed
from triton_pyb.emulator.loaded_model import LoadedModel, Machine
from triton_pyb.emulator.log import Record
from triton_pyb.emulator.meeting import Meeting
from triton_pyb.emulator.messages import WireResponse
from triton_pyb.emulator.model_store import ModelStore
from triton_pyb.emulator.polling import Poller
from triton_pyb.emulator.targets import EmulatorMisused, resolve
from triton_pyb.runtime.errors import SeveralErrors, did_you_mean

if TYPE_CHECKING:
    from triton_pyb.emulator.client import InProcessClient


class EmulatedTriton:
    """A verified fake of Triton for tests: ``with EmulatedTriton("repository") as triton: ...``.

    Parameters
    ----------
    target : path, sequence of paths, decorated function or Pipeline
        A model repository, one model's folder, or something that is built into a temporary repository first.
    mode : {"strict", "faithful"}
        ``"faithful"`` does exactly what the server does; ``"strict"`` also fails what a server passes on to
        the client: a wrong dtype, shape or row count, a missing output.
    strict_off : iterable of str
        Strict checks to leave out: "dtype", "shape", "rows", "missing_output", "duplicate_output",
        "undeclared_output", "unanswered", "leaked".
    release : str
        The container release that is emulated, e.g. "21.10"; "latest" is the newest known.
    python : str
        Interpreter of the models' processes, default this one.
    inline : bool
        Run the models in this process, where ``breakpoint()`` works; default for decorated functions only.
    gpus : int
        GPUs of the emulated machine; with 0 an instance group of ``KIND_GPU`` does not load.
    auto_complete : bool
        False is ``--disable-auto-complete-config``.
    model_control_mode : {"none", "explicit", "poll"}
        ``"explicit"`` loads `load_models` only (``["*"]`` for all) and allows `load_model` and `unload_model`;
        ``"poll"`` follows the folders whenever `poll` is called.
    fake_models : dict
        Model name to a plain function that answers when a model calls that name (BLS): it gets the arrays by
        their names and returns a dict of arrays; a generator function is a decoupled model.
    execute_timeout_s : float
        End a child process whose `execute` takes longer, and say so to its clients; default: wait, as the server does.
    exit_on_error : bool
        Raise on entry when a model does not load; else it is just not ready.

    Raises
    ------
    LoadFailed, SeveralErrors
        On entry, when models do not load and `exit_on_error` is set.
    """

    def __init__(
        self,
        target: Any,
        *,
        mode: str = "strict",
        strict_off: Iterable[str] = (),
        release: str = "24.10",
        python: str | None = None,
        inline: bool | None = None,
        gpus: int = 0,
        auto_complete: bool = True,
        model_control_mode: str = "none",
        load_models: Sequence[str] = (),
        exit_on_error: bool = True,
        environment: Mapping[str, str] | None = None,
        fake_models: Mapping[str, Callable[..., Any]] | None = None,
        execute_timeout_s: float | None = None,
    ) -> None:
        __tracebackhide__ = True  # pytest then shows the test, the author's lines and the message
        _one_of("mode", mode, ("strict", "faithful"))
        _one_of("model_control_mode", model_control_mode, ("none", "explicit", "poll"))
        for check in strict_off:
            _one_of("strict_off", check, sorted(CHECKS))
        if python is not None and shutil.which(python) is None:
            raise EmulatorMisused(
                "TPB576",
                f"'{python}' is no program",
                "EmulatedTriton",
                "give the path of a python executable",
            )
        self._served = resolve(target, inline)
        machine = Machine(
            release=find_release(release).name,
            mode=mode,
            strict_off=frozenset(strict_off),
            gpus=gpus,
            python=python,
            inline=bool(inline) and not self._served.factories,
            auto_complete=auto_complete,
            environment=dict(environment or {}),
            factories=self._served.factories,
            fakes=dict(fake_models or {}),
            execute_timeout_s=execute_timeout_s,
        )
        self._store = ModelStore(self._served.repositories, machine, model_control_mode)
        self._wanted = list(load_models) if model_control_mode == "explicit" else self._served.only
        self._explicit = model_control_mode == "explicit"
        self._exit_on_error = exit_on_error
        self._poller: Poller | None = None

    # -- life

    def __enter__(self) -> EmulatedTriton:
        self.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop()

    def start(self) -> None:
        """Load the models; see the class for what it raises."""
        __tracebackhide__ = True
        self._poller = Poller(self._store) if self._store.control == "poll" else None
        failures = self._start()
        if failures and self._exit_on_error:
            self.stop()
            raise failures[0] if len(failures) == 1 else SeveralErrors(failures)

    def _start(self) -> list[LoadFailed]:
        if "*" in self._wanted or (not self._explicit and not self._wanted):
            return self._store.load_all()
        failures = []
        for name in self._wanted:
            try:
                self._store.load(name)
            except LoadFailed as failure:
                failures.append(failure)
        return failures

    def stop(self) -> None:
        """Answer what is queued, finalize every model, end the processes; safe to call twice."""
        self._store.stop()
        if self._served.temporary is not None:
            self._served.temporary.cleanup()
        self._raise_broken_fake()

    def _raise_broken_fake(self) -> None:
        """Raise what a fake model raised, once: an assertion in it fails the test, whatever the caller made of it."""
        broken = self._store.machine.broken_fakes
        if broken:
            error = broken[0]
            broken.clear()
            raise error

    @property
    def entry(self) -> str:
        """The model a client calls, when the target names one; else an empty string."""
        return self._served.entry

    @property
    def store(self) -> ModelStore:
        """The models behind this server, for the protocols' front ends."""
        return self._store

    def client(self) -> InProcessClient:
        """A client with tritonclient's method names, without a network."""
        from triton_pyb.emulator.client import InProcessClient

        return InProcessClient(self)

    # -- requests

    def infer(
        self,
        model: str,
        inputs: Mapping[str, Any],
        outputs: Sequence[str] | None = None,
        *,
        request_id: str = "",
        parameters: Mapping[str, Any] | None = None,
        correlation_id: int | str = 0,
        sequence_start: bool = False,
        sequence_end: bool = False,
        priority: int = 0,
        timeout_us: int = 0,
        version: str = "",
    ) -> Arrays:
        """One request, and the arrays it is answered with.

        Parameters
        ----------
        inputs : dict
            Name to array or plain value (see `values.to_arrays`).
        outputs : sequence of str
            Which outputs to ask for, default all.

        Returns
        -------
        dict
            Output name to array; BYTES outputs are object arrays of `bytes`.

        Raises
        ------
        InferenceFailed
            With the server's own words. `ContractBroken` for what only strict mode refuses, `NeverAnswered`
            where a real client would wait for ever.
        """
        options = RequestOptions(
            outputs,
            request_id,
            parameters,
            correlation_id,
            sequence_start,
            sequence_end,
            priority,
            timeout_us,
        )
        target = self._model(model, version)
        responses = inference.answer(target, options.request(target, inputs))
        self._raise_broken_fake()
        return arrays_of(responses, model)

    def async_infer(self, model: str, inputs: Mapping[str, Any], **options: Any) -> Future[Arrays]:
        """`infer` without waiting, with the same options: the future has its result or its exception."""
        answer: Future[Arrays] = Future()
        try:
            target = self._model(model, options.pop("version", ""))
            inner = inference.submit(target, RequestOptions(**options).request(target, inputs))
        except InferenceFailed as error:
            answer.set_exception(error)
            return answer
        inner.add_done_callback(lambda done: pass_on(done, answer, model))
        return answer

    def infer_many(self, model: str, inputs: Sequence[Mapping[str, Any]], **options: Any) -> list[Any]:
        """Several requests that arrive at the same instant, so that they meet in a batch.

        What the configuration says about joining still holds: without ``dynamic_batching`` every request is
        executed alone. The meeting goes on through the steps of an ensemble. Options as in `infer`.

        Returns
        -------
        list
            Per request, in order: a dict of arrays, or the `InferenceFailed` it got.
        """
        meeting = Meeting()
        target = self._model(model, options.pop("version", ""))
        answers: list[Future[list[WireResponse]] | InferenceFailed] = []
        for values in inputs:
            try:
                request = RequestOptions(**options).request(target, values)
                answers.append(inference.submit(target, request, meeting))
            except InferenceFailed as error:
                answers.append(error)
        meeting.leave()
        outcomes = [result_of(answer, model) for answer in answers]
        self._raise_broken_fake()
        return outcomes

    def stream_infer(self, model: str, inputs: Mapping[str, Any], **options: Any) -> Iterator[Arrays]:
        """The responses of one request as they come, for decoupled models too; options as in `infer`.

        Raises
        ------
        InferenceFailed
            In place of the response that is an error; the iteration ends there.
        """
        target = self._model(model, options.pop("version", ""))
        for response in inference.stream(target, RequestOptions(**options).request(target, inputs)):
            failure = inference.failure_of(response, model)
            if failure is not None:
                raise failure
            if response.outputs:
                yield tensors.arrays_of(response.outputs)

    # -- models

    def poll(self) -> list[LoadFailed]:
        """Look at the folders once, as the server does every few seconds in poll mode: what is new or changed is
        loaded, what is gone is unloaded. The failures are returned; a model that fails keeps its old version.
        """
        if self._poller is None:
            raise EmulatorMisused(
                "TPB568",
                "this server does not poll",
                "EmulatedTriton.poll()",
                "start it with model_control_mode='poll'",
            )
        return self._poller.poll()

    def load_model(self, name: str, config: str = "", files: Mapping[str, bytes] | None = None) -> None:
        """Load or reload a model; needs ``model_control_mode="explicit"``.

        Parameters
        ----------
        config : str
            A configuration in JSON form, in place of config.pbtxt.
        files : dict
            ``"file:1/model.py"`` to bytes: the model's folder, in place of the one on disk; needs `config`.
        """
        self._store.control_load(name, config, dict(files or {}))

    def unload_model(self, name: str, unload_dependents: bool = False) -> None:
        """Take a model out of service; needs ``model_control_mode="explicit"``."""
        self._store.control_unload(name, unload_dependents)

    def is_model_ready(self, name: str, version: str = "") -> bool:
        """False for anything unknown."""
        model = self._store.find(name, inference.version_number(version))
        return model is not None and model.ready()[0]

    def model_names(self) -> list[str]:
        """The models that can be asked, sorted."""
        return sorted(name for name, entry in self._store.entries.items() if entry.loaded)

    def model_config(self, name: str, version: str = "") -> dict[str, Any]:
        """The complete configuration, as the server reports it."""
        return self._model(name, version).config

    def statistics(self, name: str, version: str = "") -> dict[str, Any]:
        """The counts of one model version, in the words of Triton's statistics extension."""
        model = self._model(name, version)
        return model.statistics.as_dict(model.name, model.version)

    def batches(self, name: str, version: str = "") -> list[tuple[int, ...]]:
        """Rows per request of every `execute` so far, sorted: ``[(1, 1, 2)]`` is one call of three requests."""
        return sorted(self._model(name, version).statistics.counts.batches.elements())

    def metrics_page(self) -> str:
        """The text of ``/metrics``: the server's own counts and the models' custom metrics."""
        return metrics_page.render(self._store)

    def repository_index(self, ready: bool = False) -> list[dict[str, str]]:
        """The repository index, as the server answers it."""
        return self._store.index(ready)

    @property
    def log(self) -> list[Record]:
        """What server and models logged so far."""
        return list(self._store.log.records)

    @property
    def printed(self) -> list[tuple[str, str]]:
        """``("stdout" | "stderr", line)`` of what the models' processes printed."""
        return list(self._store.log.outputs)

    def _model(self, name: str, version: str = "") -> LoadedModel:
        return inference.find_model(self._store, name, inference.version_number(version))


def _one_of(name: str, value: str, allowed: Sequence[str]) -> None:
    if value not in allowed:
        raise EmulatorMisused(
            "TPB562",
            f"{name} got {value!r}, expected one of {', '.join(map(repr, allowed))}{did_you_mean(value, allowed)}",
            "EmulatedTriton",
            f"use one of the named values for {name}",
        )
