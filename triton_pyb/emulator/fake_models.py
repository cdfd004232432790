"""Plain functions in the place of models that a model under test calls (BLS)."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator, Mapping
from typing import Any

import numpy as np

from triton_pyb.emulator import tensors
from triton_pyb.emulator.errors import InferenceFailed
from triton_pyb.emulator.messages import WireError, WireRequest, WireResponse
from triton_pyb.emulator.validation import RequestRefused

Fake = Callable[..., Any]


def is_decoupled(fake: Fake) -> bool:
    """A generator function is a decoupled model: a response for each dict that it yields."""
    return inspect.isgeneratorfunction(fake)


def answer(fake: Fake, request: WireRequest, broken: list[Exception]) -> Iterator[WireResponse]:
    """The responses of `fake`, called with the request's arrays by their names.

    It returns a dict of output name to array (or yields them); `InferenceFailed` fails the request in its own words,
    any other exception with its text, as a model's does; that one is also put into `broken`, because it is a fault of
    the test itself, and a model with a fallback would hide it.
    """
    arrays = tensors.arrays_of(request.inputs)
    try:
        if is_decoupled(fake):
            for outputs in fake(**arrays):
                yield _response(outputs, request, final=False)
            yield WireResponse(final=True)
        else:
            yield _response(fake(**arrays), request, final=True)
    except InferenceFailed as failure:
        yield WireResponse(error=WireError(failure.code, failure.message))
    except RequestRefused as refused:
        yield WireResponse(error=WireError(refused.code, refused.message, "request"))
    except Exception as error:
        broken.append(error)
        yield WireResponse(error=WireError("INTERNAL", f"{type(error).__name__}: {error}"))


def _response(outputs: Mapping[str, Any], request: WireRequest, final: bool) -> WireResponse:
    for name in request.requested_outputs:
        if name not in outputs:
            raise RequestRefused(f"unexpected inference output '{name}' for model '{request.model_name}'")
    wanted = request.requested_outputs or list(outputs)
    return WireResponse([tensors.tensor_of(name, np.asarray(outputs[name])) for name in wanted], final=final)
