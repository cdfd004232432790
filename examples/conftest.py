import importlib.util
import sys
from pathlib import Path

import pytest


@pytest.fixture(scope="module")
def app(request):
    path = Path(request.path).parent / "app.py"
    spec = importlib.util.spec_from_file_location(path.parent.name + "_app", path)
    m = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = m
    spec.loader.exec_module(m)
    return m
