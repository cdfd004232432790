"""Requests to a Triton in plain Python values, over HTTP or gRPC."""

from __future__ import annotations

import contextlib
import queue
import threading
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
from numpy.typing import NDArray

from triton_pyb.emulator.errors import InferenceFailed
from triton_pyb.emulator.values import to_arrays
from triton_pyb.server.connection import Connection
from triton_pyb.server.errors import ServerError, ServerFailed

Arrays = dict[str, NDArray[Any]]

#: How long a stream that was left early is read on before it is cancelled.
READ_ON_S = 2.0


class TritonClient:
    """A client of one server, with the face of `EmulatedTriton`; usable from several threads.

    Parameters
    ----------
    url : str
        ``http://host:port`` (also without scheme) or ``grpc://host:port``.
    timeout_s : float
        How long one answer may take.
    """

    def __init__(self, url: str, timeout_s: float = 60.0) -> None:
        self._connection = Connection(url, timeout_s)

    @property
    def url(self) -> str:
        return self._connection.url

    def __enter__(self) -> TritonClient:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Close this thread's connection; those of other threads close when they end."""
        self._connection.close()

    # ---- requests

    def infer(
        self,
        model: str,
        inputs: Mapping[str, Any],
        outputs: Iterable[str] | None = None,
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
        """Send one request and return its outputs by name.

        Parameters
        ----------
        inputs : mapping of str to value
            An array goes as it is; ``bytes``, ``str``, numbers and lists of them become what the model's
            configuration declares (one value is one row).
        outputs : iterable of str, optional
            The outputs wanted; None: all.

        Returns
        -------
        dict of str to numpy.ndarray
            Shapes with the batch axis where the model has one; BYTES as an object array of ``bytes``.

        Raises
        ------
        InferenceFailed
            If the server answers with an error; `message` is its text, verbatim.
        ServerError
            If no server answers in time.
        """
        request = self._request(model, inputs, outputs, parameters, version)
        result = self._connection.ask(
            f"model '{model}'",
            lambda client, limits: client.infer(
                model,
                **request,
                request_id=request_id,
                sequence_id=correlation_id,
                sequence_start=sequence_start,
                sequence_end=sequence_end,
                priority=priority,
                timeout=timeout_us or None,
                **limits,
            ),
        )
        return _arrays(result)

    def infer_many(self, model: str, inputs: Sequence[Mapping[str, Any]], **options: Any) -> list[Any]:
        """Send several requests at once, each from a thread of its own; options as in `infer`.

        Returns
        -------
        list
            Per request, in order: a dict of arrays, or the `InferenceFailed` it got.
        """

        def one(values: Mapping[str, Any]) -> Arrays | InferenceFailed:
            try:
                return self.infer(model, values, **options)
            except InferenceFailed as error:
                return error
            finally:
                self.close()  # the connection of this thread, which ends

        if not inputs:
            return []
        with ThreadPoolExecutor(len(inputs)) as threads:
            return list(threads.map(one, inputs))

    def stream_infer(
        self,
        model: str,
        inputs: Mapping[str, Any],
        outputs: Iterable[str] | None = None,
        *,
        request_id: str = "",
        parameters: Mapping[str, Any] | None = None,
        correlation_id: int | str = 0,
        sequence_start: bool = False,
        sequence_end: bool = False,
        priority: int = 0,
        timeout_us: int = 0,
        version: str = "",
    ) -> Iterator[Arrays]:
        """The responses of one request as they come, for decoupled models too; gRPC only; options as in `infer`.

        A stream that is left early is read on in the background for at most `READ_ON_S` seconds, and cancelled only
        when it has not ended by then: each cancel of a running stream may end the whole server.
        Source: measured on 24.10, whose tritonserver died of SIGSEGV or SIGABRT after 20 to 800 cancels, with
        hand-written models too.

        Raises
        ------
        InferenceFailed
            In place of the response that is an error; the iteration ends there.
        """
        where = f"model '{model}'"
        if self._connection.scheme != "grpc":
            raise ServerError(
                "TPB621", "HTTP carries one response to a request", self.url, "use the server's grpc:// address"
            )
        request = self._request(model, inputs, outputs, parameters, version)
        options: dict[str, Any] = {
            "request_id": request_id,
            "sequence_id": correlation_id,
            "sequence_start": sequence_start,
            "sequence_end": sequence_end,
            "priority": priority,
            "timeout": timeout_us or None,
        }
        answers: queue.SimpleQueue[tuple[Any, Any]] = queue.SimpleQueue()
        left = finished = False
        client = self._connection.new_client()
        try:
            client.start_stream(lambda result, error: None if left else answers.put((result, error)))
            client.async_stream_infer(model, **request, enable_empty_final_response=True, **options)
            while not finished:
                try:
                    result, error = answers.get(timeout=self._connection.timeout_s)
                except queue.Empty:
                    raise self._connection.too_late(where) from None
                if error is not None:
                    raise self._connection.failure(error, where)
                response = result.get_response()
                if response.outputs:
                    yield _arrays(result)
                final = response.parameters.get("triton_final_response")
                finished = final is None or final.bool_param
        finally:
            left = True
            if finished:
                client.close()
            else:
                _leave(client)

    # ---- models

    def model_config(self, model: str, version: str = "") -> dict[str, Any]:
        """The complete configuration as the server sees it, with Triton's field names."""
        answer = self._connection.ask_json(
            f"model '{model}'", lambda client, as_json: client.get_model_config(model, version, **as_json)
        )
        config: dict[str, Any] = answer.get("config", answer)
        return config

    def statistics(self, model: str, version: str = "") -> dict[str, Any]:
        """What the server counted for this model (without `version`: its first loaded one)."""
        answer = self._connection.ask_json(
            f"model '{model}'",
            lambda client, as_json: client.get_inference_statistics(model, version, **as_json),
        )
        counts: dict[str, Any] = answer["model_stats"][0]
        return counts

    def repository_index(self) -> list[dict[str, Any]]:
        """Name, version, state and reason of every model in the repository index."""
        answer = self._connection.ask_json(
            "the repository index", lambda client, as_json: client.get_model_repository_index(**as_json)
        )
        models: list[dict[str, Any]] = answer.get("models", []) if isinstance(answer, dict) else answer
        return models

    def is_ready(self) -> bool:
        """Whether a server answers here and all of its models are ready."""
        try:
            return bool(self._connection.ask("the server", lambda client, _: client.is_server_ready()))
        except (ServerError, InferenceFailed):
            return False

    def is_model_ready(self, model: str, version: str = "") -> bool:
        """False for anything unknown."""
        return bool(self._connection.ask(f"model '{model}'", lambda client, _: client.is_model_ready(model, version)))

    def load_model(self, model: str) -> None:
        """Load or reload one model; the server must run with model_control_mode "explicit"."""
        try:
            self._connection.ask(f"model '{model}'", lambda client, _: client.load_model(model))
        except InferenceFailed as error:
            answer = error.message.strip()
            raise ServerFailed(
                "TPB612", f"{answer}", self.url, "correct what the message or the server's log tells of"
            ) from error

    def unload_model(self, model: str) -> None:
        """Unload one model and wait until the index says that it is gone.

        Raises
        ------
        InferenceFailed
            If the server refuses, e.g. because its model control mode is not "explicit".
        """
        self._connection.ask(f"model '{model}'", lambda client, _: client.unload_model(model))
        deadline = time.monotonic() + self._connection.timeout_s
        while self._state(model) & {"READY", "UNLOADING"}:
            if time.monotonic() > deadline:
                raise self._connection.too_late(f"model '{model}'")
            time.sleep(0.02)

    def _state(self, model: str) -> set[str]:
        """The states of its versions."""
        return {entry.get("state", "") for entry in self.repository_index() if entry["name"] == model}

    def _request(
        self,
        model: str,
        inputs: Mapping[str, Any],
        outputs: Iterable[str] | None,
        parameters: Mapping[str, Any] | None,
        version: str,
    ) -> dict[str, Any]:
        """The keywords that every kind of request of tritonclient takes."""
        plain = any(not isinstance(value, np.ndarray) for value in inputs.values())
        arrays = to_arrays(self.model_config(model, version) if plain else {}, dict(inputs))
        requested = self._connection.protocol.InferRequestedOutput
        return {
            "inputs": [self._connection.tensor(model, name, array) for name, array in arrays.items()],
            "model_version": version,
            "outputs": None if outputs is None else [requested(name) for name in outputs],
            "parameters": dict(parameters) if parameters else None,
        }


def _leave(client: Any) -> None:
    """End a stream whose responses are not all read; see `TritonClient.stream_infer`."""
    reading_on = threading.Thread(target=client.stop_stream, daemon=True)

    def end() -> None:
        reading_on.start()
        reading_on.join(READ_ON_S)
        if reading_on.is_alive():
            with contextlib.suppress(AttributeError):  # of tritonclient, when the stream ends at this very moment
                client.stop_stream(cancel_requests=True)
        client.close()

    try:
        threading.Thread(target=end).start()
    except RuntimeError:  # this interpreter ends, and with it the connection
        client.stop_stream(cancel_requests=True)


def _arrays(result: Any) -> Arrays:
    response = result.get_response()
    if isinstance(response, dict):
        names = [output["name"] for output in response.get("outputs", [])]
    else:
        names = [output.name for output in response.outputs]
    return {name: result.as_numpy(name) for name in names}
