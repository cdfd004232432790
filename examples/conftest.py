"""Each example is a folder that could be copied elsewhere; every one has an ``app.py`` of its own."""

from __future__ import annotations

import importlib
import sys
from collections.abc import Iterator
from types import ModuleType

import pytest


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
