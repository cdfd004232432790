"""Each example is a folder that could be copied elsewhere; every one has an ``app.py`` of its own."""

from __future__ import annotations

import functools
import importlib
import sys
from collections.abc import Iterator
from types import ModuleType

import pytest

from triton_pyb.emulator import targets
from triton_pyb.repository import build
from triton_pyb.server import ServerNotFound, find_installation


@pytest.fixture(scope="module")
def app(request: pytest.FixtureRequest) -> Iterator[ModuleType]:
    """The app.py beside the test, imported as ``app``: the name under which the model folder finds it."""
    folder = str(request.path.parent)
    sys.modules.pop("app", None)
    sys.path.insert(0, folder)
    try:
        yield importlib.import_module("app")
    finally:
        sys.path.remove(folder)
        sys.modules.pop("app", None)


@pytest.fixture(scope="package", autouse=True)
def builder() -> Iterator[None]:
    """What the entry point of an installed triton_pyb says, so that a bare checkout passes too."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(targets, "_registered", [build])
        yield


@functools.cache
def no_server() -> str:
    """Why there is no real Triton here, or an empty string."""
    try:
        find_installation()
    except ServerNotFound as error:
        return error.what
    return ""


@pytest.hookimpl(tryfirst=True)  # before fixtures start a server
def pytest_runtest_setup(item: pytest.Item) -> None:
    if item.get_closest_marker("real_triton") and no_server():
        pytest.skip(no_server())
