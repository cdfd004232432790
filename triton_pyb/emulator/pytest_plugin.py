"""Fixtures for tests of models: `triton`, an emulated Triton or a real one, and `pb_utils`.

    def test_answers(triton):
        server = triton.load("model_repository")
        result = server.infer("preprocessing", {"image": open("cat.jpg", "rb").read()})

``pytest --triton=real`` runs the same tests on a real Triton. Imported by every pytest session of an environment
that has this package: nothing heavy may be imported here.
"""

from __future__ import annotations

from collections.abc import Generator, Iterator
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from triton_pyb.emulator.places import Place

MARKER = """triton(mode="strict" | "faithful", release="24.10", strict_off=["rows", ...]): what \
every `triton.load` of the test passes to EmulatedTriton; any of its keywords will do. On a real server a test that \
asks for another release is skipped."""


def pytest_addoption(parser: pytest.Parser) -> None:
    group = parser.getgroup("triton_pyb")
    group.addoption(
        "--triton",
        metavar="emulated|real|URL",
        default="emulated",
        help="where the fixture `triton` runs models: in the emulator (default), on a real Triton that is started"
        " once, or on the one at URL (http://host:port, grpc://host:port)",
    )
    group.addoption(
        "--triton-record",
        action="store_true",
        help="`triton.golden` writes its cases anew instead of comparing with them",
    )


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line("markers", MARKER)
    where = config.getoption("--triton")
    if where not in ("emulated", "real") and "://" not in where:
        raise pytest.UsageError(f"--triton={where}: write emulated, real, http://host:port or grpc://host:port")


class TritonFixture:
    """What the fixture `triton` gives: loads models, and stops them after the test.

    Parameters
    ----------
    options : dict
        Of the test's markers; what `load` is given goes before them.
    folder : pathlib.Path
        Relative names of golden cases count from here.
    record : bool
        Write golden cases instead of comparing with them.
    origin : str
        What ``--triton`` says, to be kept beside recorded answers.
    """

    def __init__(self, place: Place, options: dict[str, Any], folder: Path, record: bool, origin: str) -> None:
        self._place, self._options, self._folder, self._record = place, options, folder, record
        self._origin = origin
        self._servers: list[Any] = []
        self._loaded: list[Any] = []

    def load(self, target: Any, **options: Any) -> Any:
        """Serve `target` until the test ends; what is given has the face of an `EmulatedTriton`.

        Parameters
        ----------
        target : path, decorated function, Pipeline or "app.py:pipeline"
            A model repository, one model's folder, or something that is built first. In the emulator decorated
            functions run in this process (``inline=False``: in a child, as packaged), folders in child processes.
        **options
            As `EmulatedTriton` takes them, e.g. ``mode="faithful"``, ``release="21.10"``,
            ``fake_models={"scorer": function}``.
        """
        from triton_pyb.emulator.places import refuse_unknown

        __tracebackhide__ = True
        refuse_unknown({**self._options, **options})
        server = self._place.load(target, {**self._options, **options})
        self._servers.append(server)
        self._loaded.append(server)
        return server

    @property
    def log(self) -> str:
        """What the servers of this test logged; a report of pytest shows it when the test fails."""
        return "\n".join(filter(None, map(self._place.log_of, self._loaded)))

    def golden(
        self,
        path: str | Path,
        server: Any,
        model: str = "",
        *requests: dict[str, Any],
        rtol: float = 1e-5,
        atol: float = 1e-6,
        **options: Any,
    ) -> None:
        """Compare the answers of `server` with those recorded in `path`.npz and `path`.yaml.

        ``pytest --triton-record`` writes the two files, say on a real server; without it the recorded requests
        are sent again, say to the emulator, and every answer must be the recorded one.

        Parameters
        ----------
        path : str or Path
            Relative to the test's file.
        model, *requests
            What to send, a dict of inputs each; may be left out where nothing is recorded.
        rtol, atol : float
            For floating-point outputs, as in `numpy.testing.assert_allclose`; anything else must be equal.
        **options
            Of `infer`, for every request.
        """
        from triton_pyb.emulator import golden

        whole = self._folder / path
        if self._record and requests:
            golden.record(whole, server, model, requests, options, self._origin)
        else:
            golden.replay(whole, server, model, requests, rtol=rtol, atol=atol)

    def close(self) -> None:
        """Stop every server, the newest first."""
        if self._servers:
            try:
                self._place.unload(self._servers.pop())
            finally:  # one that fails must not keep the others running
                self.close()


_FIXTURE = pytest.StashKey[TritonFixture]()


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """A failing test shows the log of its servers, beside what pytest captured."""
    report = yield
    fixture = item.stash.get(_FIXTURE, None)
    if fixture is not None and report.failed and fixture.log:
        report.sections.append(("Captured Triton log", fixture.log))
    return report


@pytest.fixture(scope="session")
def triton_place(pytestconfig: pytest.Config) -> Iterator[Place]:
    """Where models run in this session, as ``--triton`` says."""
    from triton_pyb.emulator.places import find_place

    place = find_place(pytestconfig.getoption("--triton"), pytest.skip)
    yield place
    place.close()


@pytest.fixture
def triton(triton_place: Place, request: pytest.FixtureRequest) -> Iterator[TritonFixture]:
    """Loads models into a Triton, emulated unless --triton says otherwise: ``triton.load(target).infer(...)``."""
    options: dict[str, Any] = {}
    for mark in request.node.iter_markers("triton"):  # the closest first
        if mark.args:
            raise pytest.UsageError(f"@pytest.mark.triton{mark.args!r}: its options have names, e.g. mode='faithful'")
        options = {**mark.kwargs, **options}
    record = request.config.getoption("--triton-record")
    origin = request.config.getoption("--triton")
    fixture = TritonFixture(triton_place, options, request.path.parent, record, origin)
    request.node.stash[_FIXTURE] = fixture
    yield fixture
    fixture.close()


@pytest.fixture
def pb_utils() -> Iterator[ModuleType]:
    """Makes ``import triton_python_backend_utils`` work in the test, without a server, and gives the module."""
    from triton_pyb.emulator import current, pb_utils

    with current.stand_in(pb_utils):
        yield pb_utils
