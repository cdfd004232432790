"""Which folders are versions, and which of them a policy picks."""

from __future__ import annotations

from pathlib import Path

import pytest

from triton_pyb.emulator import model_config, repository
from triton_pyb.emulator.errors import LoadFailed

NONE = "at least one version must be available under the version policy of model 'm'"


def picked(folder: Path, names: list[str], policy: str = "") -> list[int]:
    for name in names:
        (folder / name).mkdir(parents=True)
    config = model_config.parse(f'name: "m" {policy}', "24.10")
    model_config.normalize(config)
    return repository.versions(folder, config)


@pytest.mark.parametrize(
    ("names", "policy", "expected"),
    [
        (["1"], "", [1]),
        (["9", "10"], "", [10]),
        (["0"], "", [0]),
        (["1", "2", "3"], "version_policy { latest { num_versions: 2 } }", [2, 3]),
        (["1", "2"], "version_policy { all { } }", [1, 2]),
        (["1", "2"], "version_policy { specific { versions: [1, 7] } }", [1]),
        (["1", "assets", ".git"], "", [1]),
        (["1", "1abc"], "", [1]),
    ],
)
def test_versions(names: list[str], policy: str, expected: list[int], tmp_path: Path) -> None:
    assert picked(tmp_path / "m", names, policy) == expected


@pytest.mark.parametrize(
    ("names", "policy"),
    [
        (["v1"], ""),
        (["01"], ""),
        (["1"], "version_policy { latest { num_versions: 0 } }"),
        (["1"], "version_policy { latest { } }"),
        (["1"], "version_policy { specific { } }"),
        (["1"], "version_policy { specific { versions: [2] } }"),
    ],
)
def test_no_version(names: list[str], policy: str, tmp_path: Path) -> None:
    with pytest.raises(LoadFailed) as failed:
        picked(tmp_path / "m", names, policy)
    assert (failed.value.stage, failed.value.reason) == ("versions", NONE)
    assert failed.value.message == f"load failed for model 'm': {NONE}\n"


def test_a_backup_folder_counts_as_a_version_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(LoadFailed, match="the folder '2_old' counts as version 2"):
        picked(tmp_path / "m", ["1", "2_old"])
