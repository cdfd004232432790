"""The wire below the client: tritonclient's HTTP or gRPC module, and one meaning for the errors of both."""

from __future__ import annotations

import http.client
import importlib
import threading
from collections.abc import Callable
from typing import Any, TypeVar

from numpy.typing import NDArray
from tritonclient.utils import InferenceServerException, np_to_triton_dtype

from triton_pyb.emulator.errors import HTTP_STATUS, InferenceFailed
from triton_pyb.server.errors import ServerError

Result = TypeVar("Result")

#: Triton's status codes by what the two protocols send.
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
#: Fields that are texts even when they are made of digits.
_TEXTS = ("name", "version", "string_value")


class Connection:
    """One server's address; a connection for each thread that asks.

    Parameters
    ----------
    url : str
        ``http://host:port`` (also without scheme) or ``grpc://host:port``.
    timeout_s : float
        How long one answer may take.
    """

    def __init__(self, url: str, timeout_s: float) -> None:
        scheme, _, address = url.rpartition("://")
        if scheme not in ("", "http", "grpc") or not address:
            raise ServerError(
                "TPB615", f"'{url}' is no address of a Triton", "url", "write http://host:port or grpc://host:port"
            )
        self.scheme, self.address, self.timeout_s = scheme or "http", address.rstrip("/"), timeout_s
        self.url = f"{self.scheme}://{self.address}"
        self.protocol = importlib.import_module(f"tritonclient.{self.scheme}")
        self._by_thread = threading.local()  # gevent, below tritonclient.http, binds a connection to its thread

    def close(self) -> None:
        """Close this thread's connection; those of other threads close when they end."""
        client = self._by_thread.__dict__.pop("client", None)
        if client is not None:
            client.close()

    def ask(self, where: str, call: Callable[[Any, dict[str, float]], Result]) -> Result:
        """``call(tritonclient's client, keywords for a limit in time)``, its errors turned into ours.

        Raises
        ------
        InferenceFailed
            If the server answers with an error.
        ServerError
            If nothing answers, or not in time.
        """
        limits = {"client_timeout": self.timeout_s} if self.scheme == "grpc" else {}
        try:
            return call(self._client(), limits)
        except InferenceServerException as error:
            raise self.failure(error, where) from error
        except TimeoutError as error:
            self.close()  # a late answer must not be taken for the next one's
            raise self.too_late(where) from error
        except (OSError, http.client.HTTPException) as error:
            self.close()
            raise self._absent(str(error)) from error

    def ask_json(self, where: str, call: Callable[[Any, dict[str, bool]], Any]) -> Any:
        """``call(client, keywords for JSON)``: the same JSON from both protocols."""
        if self.scheme == "http":
            return self.ask(where, lambda client, _: call(client, {}))
        return _with_numbers(self.ask(where, lambda client, _: call(client, {"as_json": True})))

    def tensor(self, model: str, name: str, array: NDArray[Any]) -> Any:
        """An ``InferInput`` with its data."""
        datatype = "BF16" if array.dtype.name == "bfloat16" else np_to_triton_dtype(array.dtype)
        if datatype is None:
            raise ServerError(
                "TPB618",
                f"got an array of dtype {array.dtype}, which Triton has no data type for",
                f"input '{name}' of model '{model}'",
                "convert it to the dtype that the model declares, e.g. with .astype(np.float32)",
            )
        tensor = self.protocol.InferInput(name, list(array.shape), datatype)
        tensor.set_data_from_numpy(array)
        return tensor

    def failure(self, error: InferenceServerException, where: str) -> InferenceFailed | ServerError:
        """What an exception of tritonclient means."""
        status = str(error.status() or "").replace("StatusCode.", "")
        message = str(error.message())
        if status in ("DEADLINE_EXCEEDED", "499"):
            return self.too_late(where)
        if status == "UNAVAILABLE" and "onnect" in message:
            return self._absent(message)
        code = _CODE_OF_HTTP.get(status) or _CODE_OF_GRPC.get(status) or "INTERNAL"
        return InferenceFailed(message, code, f"{where} at {self.url}")

    def too_late(self, where: str) -> ServerError:
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

    def new_client(self) -> Any:
        """One more of tritonclient's clients; the caller closes it."""
        options: dict[str, Any] = {"connection_timeout": self.timeout_s, "network_timeout": self.timeout_s}
        if self.scheme == "grpc":
            channel = [("grpc.max_send_message_length", -1), ("grpc.max_receive_message_length", -1)]
            if self.address.startswith(("127.", "localhost")):
                channel.append(("grpc.enable_http_proxy", 0))  # this machine, whatever proxy the environment names
            options = {"channel_args": channel}  # they replace tritonclient's own, so all are given
        return self.protocol.InferenceServerClient(self.address, **options)

    def _client(self) -> Any:
        client = getattr(self._by_thread, "client", None)
        if client is None:
            client = self._by_thread.client = self.new_client()
        return client


def _with_numbers(answer: Any) -> Any:
    """JSON made from protobuf spells 64-bit integers as strings; Triton's own JSON does not."""
    if isinstance(answer, dict):
        return {key: value if key in _TEXTS else _with_numbers(value) for key, value in answer.items()}
    if isinstance(answer, list):
        return [_with_numbers(value) for value in answer]
    if isinstance(answer, str) and answer.removeprefix("-").isdigit():
        return int(answer)
    return answer
