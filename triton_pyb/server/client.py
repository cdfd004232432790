"""One request at a time to a Triton, in plain Python values, over HTTP or gRPC."""

from __future__ import annotations

import http.client
import importlib
import threading
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray
from tritonclient.utils import InferenceServerException, np_to_triton_dtype

from triton_pyb.emulator.errors import HTTP_STATUS, InferenceFailed
from triton_pyb.emulator.values import to_arrays
from triton_pyb.server.errors import ServerError, ServerFailed

Result = TypeVar("Result")

#: Names of Triton's status codes by what the two protocols send.
_CODE_OF_HTTP = {
    "400": "INVALID_ARG",
    "404": "NOT_FOUND",
    "500": "INTERNAL",
    "501": "UNSUPPORTED",
    "503": "UNAVAILABLE",
}
_CODE_OF_GRPC = {
    "INVALID_ARGUMENT": "INVALID_ARG",
    "UNIMPLEMENTED": "UNSUPPORTED",
    **{code: code for code in HTTP_STATUS},
}


class TritonClient:
    """A client of one server; usable from several threads.

    Parameters
    ----------
    url : str
        ``http://host:port`` (also without scheme) or ``grpc://host:port``.
    timeout_s : float
        How long one answer may take.
    """

    def __init__(self, url: str, timeout_s: float = 60.0) -> None:
        scheme, _, address = url.rpartition("://")
        if scheme not in ("", "http", "grpc") or not address:
            raise ServerError(
                "TPB615",
                f"'{url}' is no address of a Triton",
                "url",
                "write http://host:port or grpc://host:port",
            )
        self.url = f"{scheme or 'http'}://{address}"
        self.timeout_s = timeout_s
        self._scheme, self._address = scheme or "http", address.rstrip("/")
        self._protocol = importlib.import_module(f"tritonclient.{self._scheme}")
        self._by_thread = threading.local()  # gevent, below tritonclient.http, binds a connection to its thread

    def __enter__(self) -> TritonClient:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Close this thread's connection; those of other threads close when they end."""
        connection = self._by_thread.__dict__.pop("connection", None)
        if connection is not None:
            connection.close()

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
    ) -> dict[str, NDArray[Any]]:
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
        arrays = self._arrays(model, inputs, version)
        protocol = self._protocol
        tensors = [_tensor(protocol, model, name, array) for name, array in arrays.items()]
        wanted = None if outputs is None else [protocol.InferRequestedOutput(name) for name in outputs]
        result = self._ask(
            f"model '{model}'",
            lambda connection, limits: connection.infer(
                model,
                tensors,
                model_version=version,
                outputs=wanted,
                request_id=request_id,
                parameters=dict(parameters) if parameters else None,
                sequence_id=correlation_id,
                sequence_start=sequence_start,
                sequence_end=sequence_end,
                priority=priority,
                timeout=timeout_us or None,
                **limits,
            ),
        )
        response = result.get_response()
        names = (
            [o["name"] for o in response.get("outputs", [])]
            if isinstance(response, dict)
            else [o.name for o in response.outputs]
        )
        return {name: result.as_numpy(name) for name in names}

    def infer_many(self, model: str, inputs: Sequence[Mapping[str, Any]], **options: Any) -> list[Any]:
        """Send several requests at once, each from a thread of its own; options as in `infer`.

        Returns
        -------
        list
            Per request, in order: a dict of arrays, or the `InferenceFailed` it got.
        """

        def one(values: Mapping[str, Any]) -> dict[str, NDArray[Any]] | InferenceFailed:
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

    def model_config(self, model: str, version: str = "") -> dict[str, Any]:
        """The complete configuration as the server sees it, with Triton's field names."""
        answer = self._json(
            f"model '{model}'",
            lambda connection, as_json: connection.get_model_config(model, version, **as_json),
        )
        config: dict[str, Any] = answer.get("config", answer)
        return config

    def statistics(self, model: str, version: str = "") -> dict[str, Any]:
        """What the server counted for the first (or the given) version of this model."""
        answer = self._json(
            f"model '{model}'",
            lambda connection, as_json: connection.get_inference_statistics(model, version, **as_json),
        )
        counts: dict[str, Any] = answer["model_stats"][0]
        return counts

    def repository_index(self) -> list[dict[str, Any]]:
        """Name, version, state and reason of every model in the repository index."""
        answer: Any = self._json(
            "the repository index",
            lambda connection, as_json: connection.get_model_repository_index(**as_json),
        )
        models: list[dict[str, Any]] = answer.get("models", []) if isinstance(answer, dict) else answer
        return models

    def is_ready(self) -> bool:
        """Whether a server answers here and all of its models are ready."""
        try:
            return bool(self._ask("ready?", lambda connection, _: connection.is_server_ready()))
        except (ServerError, InferenceFailed):
            return False

    def is_model_ready(self, model: str, version: str = "") -> bool:
        """False for anything unknown."""
        return bool(self._ask(f"model '{model}'", lambda connection, _: connection.is_model_ready(model, version)))

    def load_model(self, model: str) -> None:
        """Load or reload one model; the server must run with model_control_mode "explicit"."""
        try:
            self._ask(f"model '{model}'", lambda connection, _: connection.load_model(model))
        except InferenceFailed as error:
            raise ServerFailed(
                "TPB612",
                error.message.strip(),
                self.url,
                "correct what the message or the server's log tells of",
            ) from error

    def unload_model(self, model: str) -> None:
        """Unload one model and wait until the index says that it is gone.

        Raises
        ------
        InferenceFailed
            If the server refuses, e.g. because its model control mode is not "explicit".
        """
        self._ask(f"model '{model}'", lambda connection, _: connection.unload_model(model))
        deadline = time.monotonic() + self.timeout_s
        while any(
            entry["name"] == model and entry.get("state") in ("READY", "UNLOADING") for entry in self.repository_index()
        ):
            if time.monotonic() > deadline:
                raise self._too_late(f"model '{model}'")
            time.sleep(0.02)

    def _arrays(self, model: str, inputs: Mapping[str, Any], version: str) -> dict[str, NDArray[Any]]:
        if all(isinstance(value, np.ndarray) for value in inputs.values()):
            return to_arrays({}, dict(inputs))  # nothing to look up
        return to_arrays(self.model_config(model, version), dict(inputs))

    def _connection(self) -> Any:
        connection = getattr(self._by_thread, "connection", None)
        if connection is None:
            limits = {}
            if self._scheme == "http":
                limits = {"connection_timeout": self.timeout_s, "network_timeout": self.timeout_s}
            connection = self._protocol.InferenceServerClient(self._address, **limits)
            self._by_thread.connection = connection
        return connection

    def _json(self, where: str, call: Callable[[Any, dict[str, bool]], Any]) -> dict[str, Any]:
        as_json = {"as_json": True} if self._scheme == "grpc" else {}
        answer = self._ask(where, lambda connection, _: call(connection, as_json))
        numbers: dict[str, Any] = _with_numbers(answer) if self._scheme == "grpc" else answer
        return numbers

    def _ask(self, where: str, call: Callable[[Any, dict[str, float]], Result]) -> Result:
        limits = {"client_timeout": self.timeout_s} if self._scheme == "grpc" else {}
        try:
            return call(self._connection(), limits)
        except InferenceServerException as error:
            raise self._failed(error, where) from error
        except TimeoutError as error:
            self.close()  # a late answer must not be taken for the next one's
            raise self._too_late(where) from error
        except (OSError, http.client.HTTPException) as error:
            self.close()
            raise self._absent(str(error)) from error

    def _failed(self, error: InferenceServerException, where: str) -> InferenceFailed | ServerError:
        status = str(error.status() or "").replace("StatusCode.", "")
        message = str(error.message())
        if status == "DEADLINE_EXCEEDED" or status == "499":
            return self._too_late(where)
        if status == "UNAVAILABLE" and "onnect" in message:
            return self._absent(message)
        code = _CODE_OF_HTTP.get(status) or _CODE_OF_GRPC.get(status) or "INTERNAL"
        return InferenceFailed(message, code, f"{where} at {self.url}")

    def _too_late(self, where: str) -> ServerError:
        return ServerError(
            "TPB616",
            f"no answer within {self.timeout_s:g} s",
            f"{where} at {self.url}",
            "give it more time with timeout_s=, or look at the server's log",
        )

    def _absent(self, reason: str) -> ServerError:
        return ServerError(
            "TPB617",
            f"no Triton answers: {reason}",
            self.url,
            "start one with `triton-pyb serve REPOSITORY`, or correct the address",
        )


def _tensor(protocol: Any, model: str, name: str, array: NDArray[Any]) -> Any:
    datatype = "BF16" if array.dtype.name == "bfloat16" else np_to_triton_dtype(array.dtype)
    if datatype is None:
        raise ServerError(
            "TPB618",
            f"got an array of dtype {array.dtype}, which Triton has no data type for",
            f"input '{name}' of model '{model}'",
            "convert it to the dtype that the model declares, e.g. with .astype(np.float32)",
        )
    tensor = protocol.InferInput(name, list(array.shape), datatype)
    tensor.set_data_from_numpy(array)
    return tensor


#: Fields that are texts even when they are made of digits.
_TEXTS = ("name", "version", "string_value")


def _with_numbers(answer: Any) -> Any:
    """JSON made from protobuf spells 64-bit integers as strings; Triton's own JSON does not."""
    if isinstance(answer, dict):
        return {key: value if key in _TEXTS else _with_numbers(value) for key, value in answer.items()}
    if isinstance(answer, list):
        return [_with_numbers(value) for value in answer]
    if isinstance(answer, str) and answer.removeprefix("-").isdigit():
        return int(answer)
    return answer
