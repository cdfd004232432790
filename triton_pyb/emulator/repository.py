"""A model repository on disk: which folders are models, their configuration, their versions."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

from triton_pyb.emulator import model_config
from triton_pyb.emulator.errors import LoadFailed
from triton_pyb.emulator.load_rules import refuse_at_poll

_INTEGER_PREFIX = re.compile(r"\s*[+-]?\d+")  # what std::stoll reads: '2_old' is version 2


def model_folders(repository: Path) -> dict[str, Path]:
    """Every sub-folder is taken for a model, hidden ones too, exactly as the server does."""
    return {entry.name: entry for entry in sorted(repository.iterdir()) if entry.is_dir()}


def read_config(folder: Path, release: str, auto_complete: bool = True, override: str | None = None) -> Any:
    """The completed ``ModelConfig`` of a model folder.

    Parameters
    ----------
    override : str
        A configuration in JSON form that takes the place of config.pbtxt.

    Raises
    ------
    LoadFailed
        With stage ``"poll"``: the configuration is missing, does not parse, or breaks a rule.
    """
    name = folder.name
    path = folder / "config.pbtxt"
    try:
        if path.is_dir():
            raise model_config.ConfigRefused(f"'{path}' is a folder: a real server dies here")
        text = path.read_bytes() if path.exists() else b""
        if not path.exists() and not auto_complete:
            raise model_config.ConfigRefused(f"failed to open text file for read {path}: No such file or directory")
        if override is not None:
            config = model_config.from_json(override)
        else:
            try:
                config = model_config.parse(text, release)
            except model_config.ConfigRefused as error:
                # The server's own reason names the file only; libprotobuf's line goes to stderr.
                raise LoadFailed(name, "poll", f"failed to read text proto from {path}", detail=str(error)) from None
        model_config.complete(config, folder)
        refuse_at_poll(config, strict_config=not auto_complete)
        if config.name != name:
            raise model_config.ConfigRefused(
                f"unexpected directory name '{name}' for model '{config.name}', directory name must equal model name"
            )
    except model_config.ConfigRefused as error:
        raise LoadFailed(name, "poll", str(error)) from None
    return config


def versions(folder: Path, config: Any) -> list[int]:
    """The versions that the version policy picks, ascending.

    Raises
    ------
    LoadFailed
        With stage ``"versions"`` when there is none; with stage ``"load"`` when the server would take
        a folder for a version and then look for another name (``2_old`` for ``2``).
    """
    present = _present_versions(folder)
    policy = config.version_policy
    choice = policy.WhichOneof("policy_choice")
    if choice == "specific":
        picked = sorted(set(policy.specific.versions) & set(present))
    elif choice == "all":
        picked = sorted(present)
    else:
        count = policy.latest.num_versions
        picked = sorted(present)[-count:] if count else []
    if not picked:
        reason = f"at least one version must be available under the version policy of model '{config.name}'"
        raise LoadFailed(config.name, "versions", reason)
    for version in picked:
        if not (folder / str(version)).is_dir():
            reason = (
                f"the folder '{present[version]}' counts as version {version}, and the server then looks for"
                f" '{version}' (releases up to 25.07 never finish starting here): rename it"
            )
            raise LoadFailed(config.name, "load", reason, version, "INTERNAL")
    return picked


def _present_versions(folder: Path) -> dict[int, str]:
    found: dict[int, str] = {}
    for entry in sorted(folder.iterdir()):
        match = _INTEGER_PREFIX.match(entry.name)
        leading_zero = len(entry.name) > 1 and entry.name.startswith("0")
        if not entry.is_dir() or match is None or leading_zero:
            continue
        number = int(match.group())
        if str(number) == entry.name or number not in found:
            found[number] = entry.name
    return found
