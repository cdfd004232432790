"""Repositories in object stores: fsspec's memory, and S3 as moto's server speaks it."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import fsspec
import pytest

from tests.repository.applications import pipeline_text, step_with, write
from triton_pyb.repository import BuildError, build
from triton_pyb.repository.object_store import Store
from triton_pyb.repository.versions import read_config


@pytest.fixture
def memory() -> Iterator[Any]:
    files = fsspec.filesystem("memory")
    files.store.clear()
    yield files
    files.store.clear()
    files.pseudo_dirs[:] = [""]


@pytest.fixture(scope="module")
def s3() -> Iterator[Any]:
    """An S3 of this test alone, with a bucket."""
    server_module = pytest.importorskip("moto.server")
    pytest.importorskip("s3fs")
    server = server_module.ThreadedMotoServer(ip_address="127.0.0.1", port=0, verbose=False)
    server.start()
    host, port = server.get_host_and_port()
    with pytest.MonkeyPatch.context() as patch:
        for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"):
            patch.setenv(name, "test")
        patch.setenv("AWS_ENDPOINT_URL", f"http://{host}:{port}")
        patch.setenv("AWS_DEFAULT_REGION", "us-east-1")
        files = fsspec.filesystem("s3")
        files.mkdir("bucket")
        yield files
    server.stop()


def application(folder: Path, offset: str = "1") -> str:
    write(folder, {"app.py": pipeline_text(offset=offset)})
    return str(folder / "app.py:pipeline")


def objects(files: Any, place: str) -> list[str]:
    files.invalidate_cache()
    return sorted(name.split(place.strip("/") + "/")[1] for name in files.find(place))


def config(files: Any, path: str, folder: Path) -> Any:
    (folder / "c.pbtxt").write_bytes(files.cat_file(path))
    return read_config(folder / "c.pbtxt")


def test_a_new_version_and_the_configuration_that_serves_it(tmp_path: Path, memory: Any) -> None:
    built = build(application(tmp_path), "memory://bucket/models")
    assert built.repository == "memory://bucket/models"
    assert "an object store exchanges no folders" in built.notes[-1]
    assert config(memory, "/bucket/models/shift/config.pbtxt", tmp_path).version_policy.specific.versions == [1]
    build(application(tmp_path, "9"), "memory://bucket/models")
    assert config(memory, "/bucket/models/shift/config.pbtxt", tmp_path).version_policy.specific.versions == [2]
    names = objects(memory, "/bucket/models")
    assert "shift/2/app.py" in names and not any(name.startswith("shift/1/") for name in names)
    assert b"mid.reshape(2) + 9" in memory.cat_file("/bucket/models/shift/2/app.py")


def test_the_configuration_comes_last(tmp_path: Path, memory: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    order: list[str] = []
    real = Store._put

    def put(self: Store, path: str, content: bytes | Path) -> None:
        order.append(path)
        real(self, path, content)

    monkeypatch.setattr(Store, "_put", put)
    build(application(tmp_path), "memory://bucket/models")
    assert order[-3:] == ["scale/config.pbtxt", "shift/config.pbtxt", "sums/config.pbtxt"]
    assert [name for name in order if name.startswith("scale/1/")][-1] == "scale/1/model.py"
    assert "config.pbtxt" not in "".join(order[:-3])


@pytest.mark.parametrize("failing", [3, 40])
def test_an_upload_that_fails_leaves_what_was_there(
    tmp_path: Path, memory: Any, monkeypatch: pytest.MonkeyPatch, failing: int
) -> None:
    build(application(tmp_path), "memory://bucket/models")
    before = {name: memory.cat_file(f"/bucket/models/{name}") for name in objects(memory, "/bucket/models")}
    calls = 0
    real = Store._put

    def put(self: Store, path: str, content: bytes | Path) -> None:
        nonlocal calls
        calls += 1
        if calls == failing:
            raise PermissionError("Access Denied")
        real(self, path, content)

    monkeypatch.setattr(Store, "_put", put)
    with pytest.raises(BuildError, match="TPB411 the repository cannot be written: PermissionError: Access Denied"):
        build(application(tmp_path, "9"), "memory://bucket/models")
    assert {name: memory.cat_file(f"/bucket/models/{name}") for name in objects(memory, "/bucket/models")} == before


def test_whose_folder_it_is(tmp_path: Path, memory: Any) -> None:
    memory.pipe_file("/bucket/models/double/config.pbtxt", b'backend: "python"')
    write(tmp_path, step_with(""))
    target = str(tmp_path / "app.py:double")
    with pytest.raises(BuildError, match="TPB412 'memory://bucket/models/double' was not built by triton_pyb"):
        build(target, "memory://bucket/models")
    build(target, "memory://bucket/models", overwrite=True)
    write(tmp_path, {"other.py": (tmp_path / "app.py").read_text()})
    with pytest.raises(BuildError, match="TPB413 .* was built from app.py:double, and other.py:double would replace"):
        build(str(tmp_path / "other.py:double"), "memory://bucket/models")


def test_an_existing_model_comes_as_it_is(tmp_path: Path, memory: Any) -> None:
    write(tmp_path, {"m/config.pbtxt": 'backend: "python"', "m/3/model.py": "theirs",
                     "app.py": "from triton_pyb import ExistingModel\nm = ExistingModel('m')\n"})  # fmt: skip
    build(str(tmp_path / "app.py:m"), "memory://bucket/models")
    assert memory.cat_file("/bucket/models/m/config.pbtxt") == b'backend: "python"'
    assert memory.cat_file("/bucket/models/m/3/model.py") == b"theirs"


def test_what_a_store_cannot(tmp_path: Path) -> None:
    with pytest.raises(BuildError, match="TPB428 'memory://x' is no folder: new_version= and env='image' need one"):
        build(application(tmp_path), "memory://x", new_version=True)
    with pytest.raises(BuildError, match="TPB427 'nostore://x' cannot be opened: Protocol not known: nostore"):
        build(application(tmp_path), "nostore://x")


def test_s3(tmp_path: Path, s3: Any) -> None:
    build(application(tmp_path), "s3://bucket/models")
    build(application(tmp_path, "9"), "s3://bucket/models")
    names = objects(s3, "bucket/models")
    assert {name for name in names if name.endswith("config.pbtxt")} == {
        "scale/config.pbtxt",
        "shift/config.pbtxt",
        "sums/config.pbtxt",
    }
    assert {name.split("/")[1] for name in names if name.startswith("shift/")} == {"2", "config.pbtxt"}
    assert config(s3, "bucket/models/shift/config.pbtxt", tmp_path).version_policy.specific.versions == [2]


def test_s3_that_does_not_answer(tmp_path: Path, s3: Any) -> None:
    with pytest.raises(BuildError, match="TPB411 the repository cannot be written: .*bucket"):
        build(application(tmp_path), "s3://no-such-bucket/models")
