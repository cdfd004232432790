"""Poll mode: what changed in the repositories since the last look is loaded, reloaded or unloaded.

Source: ModelRepositoryManager::PollAndUpdate of Triton's core. Caches that the interpreter writes beside a
model (``__pycache__``) are no change here.
"""

from __future__ import annotations

from pathlib import Path

from triton_pyb.emulator.errors import LoadFailed
from triton_pyb.emulator.model_store import ModelStore

#: Path below the model's folder to modification time in nanoseconds.
Stamp = dict[str, int]


class Poller:
    """Remembers the state of every model's folder.

    Parameters
    ----------
    store : ModelStore
        With everything loaded that lies in its repositories.
    """

    def __init__(self, store: ModelStore) -> None:
        self._store = store
        self._stamps = {name: stamp(folder) for name, folder in store.folders().items()}

    def poll(self) -> list[LoadFailed]:
        """Bring the models up to the folders; what does not load keeps its old version in service."""
        folders = self._store.folders()
        new = {name: stamp(folder) for name, folder in folders.items()}
        for name in self._stamps.keys() - new.keys():
            self._store.unload(name)
        changed = {name for name in new if new[name] != self._stamps.get(name)}
        self._stamps = new
        changed |= {
            entry.name for entry in self._store.entries.values() if entry.steps & changed and entry.name in folders
        }
        return self._store.reload({name: folders[name] for name in sorted(changed)})


def stamp(folder: Path) -> Stamp:
    """The files and folders of a model, with their times."""
    return {
        str(path.relative_to(folder)): path.stat().st_mtime_ns
        for path in sorted(folder.rglob("*"))
        if "__pycache__" not in path.parts and path.exists() and not (path.is_dir() and _only_caches(path))
    }


def _only_caches(folder: Path) -> bool:
    # A folder's own time changes when a cache appears in it: its entries speak for it, unless there are none.
    return any(entry.name != "__pycache__" for entry in folder.iterdir())
