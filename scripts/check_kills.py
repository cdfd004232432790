"""Kill builds with SIGKILL at random moments; print what a server could have seen, and what was left behind.

python scripts/check_kills.py --kills 200 --seed 1
"""

from __future__ import annotations

import argparse
import os
import random
import shutil
import signal
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))

from tests.repository.applications import pipeline_text, tree, write
from triton_pyb.repository import build

#: About as long as a build writes and exchanges on a machine that is busy with other things.
WRITING_S = 0.1


def by_model(repository: Path) -> dict[str, dict[str, bytes]]:
    """Model -> its files."""
    return {entry.name: tree(entry) for entry in repository.iterdir()}


def build_and_kill(target: str, repository: Path, chance: random.Random, new_version: bool) -> bool:
    """Fork, build, kill; True when the build was still running then.

    One kill in four comes at any moment of the build, the others while it writes: after its staging folder appeared.
    """
    child = os.fork()
    if child == 0:
        try:
            build(target, repository, new_version=new_version)
        finally:
            os._exit(0)
    if chance.random() < 0.25:
        time.sleep(chance.uniform(0, 0.5))
    else:
        staging = repository.parent / f".{repository.name}.triton_pyb-staging"
        while not staging.exists() and os.waitid(os.P_PID, child, os.WEXITED | os.WNOHANG | os.WNOWAIT) is None:
            time.sleep(0.0005)
        time.sleep(chance.uniform(0, WRITING_S))
    os.kill(child, signal.SIGKILL)
    _, status = os.waitpid(child, 0)
    return os.WIFSIGNALED(status)


def kills(count: int, seed: int, new_version: bool) -> Counter[str]:
    """Alternate between two texts of one application; after every kill each model must be old or new, whole."""
    chance = random.Random(seed)
    totals: Counter[str] = Counter()
    with tempfile.TemporaryDirectory(prefix="triton_pyb_kills_") as name:
        folder = Path(name)
        repository, targets = folder / "models", []
        for index in range(2):
            write(folder / f"app{index}", {"app.py": pipeline_text(offset=str(index), factor="2")})
            targets.append(str(folder / f"app{index}/app.py:pipeline"))
        build(targets[0], repository, new_version=new_version)
        for kill in range(count):
            old = by_model(repository)
            target = targets[(kill + 1) % 2]
            expected = folder / "expected"  # what the build gives when nobody kills it
            shutil.copytree(repository, expected)
            build(target, expected, new_version=new_version)
            new = by_model(expected)
            shutil.rmtree(expected)
            running = build_and_kill(target, repository, chance, new_version)
            totals["killed while building" if running else "had ended"] += 1
            totals["litter outside after the kill"] += len(list(folder.glob(".models*")))
            seen = by_model(repository)
            for model, files in seen.items():
                if files == new.get(model):
                    totals["models seen: new"] += files != old.get(model)
                    totals["models seen: unchanged"] += files == old.get(model)
                elif files == old.get(model):
                    totals["models seen: old"] += 1
                elif new_version and is_between(files, old.get(model, {}), new.get(model, {})):
                    totals["models seen: whole versions, old and new"] += 1
                else:
                    totals["MODELS SEEN: NEITHER"] += 1
            totals["MODELS MISSING"] += len(set(old) - set(seen) - (set(old) - set(new)))
            build(target, repository, new_version=new_version)
            totals["LITTER AFTER THE NEXT BUILD"] += len(list(folder.glob(".models*")))
            totals["NEXT BUILD DIFFERS"] += not new_version and by_model(repository) != new
    return totals


def is_between(seen: dict[str, bytes], old: dict[str, bytes], new: dict[str, bytes]) -> bool:
    """Whether every version folder, and config.pbtxt, is exactly that of the old or of the new state."""
    tops = {name.partition("/")[0] for name in seen}

    def part(files: dict[str, bytes], top: str) -> dict[str, bytes]:
        return {name: content for name, content in files.items() if name.partition("/")[0] == top}

    return all(part(seen, top) in (part(old, top), part(new, top)) for top in tops)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--kills", type=int, default=200)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--new-version", action="store_true")
    given = parser.parse_args()
    found = kills(given.kills, given.seed, given.new_version)
    for key, value in sorted(found.items()):
        print(f"{key}: {value}")
    sys.exit(any(value for key, value in found.items() if key.isupper()))
