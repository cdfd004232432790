"""``triton-pyb build``: a pipeline or one step -> model folders in a repository."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

from triton_pyb.config.releases import Release, find_release

from .archive_check import check_archive
from .environment import other_versions, pack_environment, with_environment, write_image
from .folders import ensemble_folder
from .graph import Graph
from .model_folder import ModelFolder
from .object_store import GUARANTEE, Store, is_url
from .ownership import check_kept, check_ownership, check_repository
from .plan import Plan, make_plans
from .publish import publish
from .release_check import check_release, shm_need_bytes
from .target import BuildError, load_target
from .versions import KEEP, Published, publish_versions

#: ``/dev/shm`` of a container that is started without --shm-size.
DOCKER_SHM_BYTES = 64 << 20

__all__ = ["BuildError", "Built", "build"]


class Built(NamedTuple):
    """What was written.

    Attributes
    ----------
    repository : Path or str
        The address of an object store.
    entry : str
        The model a client calls: the ensemble, or the one step; empty when a list gave several.
    models : tuple of str
        Every model folder written, in order.
    third_party : tuple of str
        Packages that must be installed where Triton runs, besides numpy.
    notes : tuple of str
        What the author should know.
    graph : Graph or None
        The pipeline's; None for a step built alone.
    requirements : tuple of str
        The same packages, and numpy, with the versions in use here.
    release : str
        The release that it was built for; empty: any.
    shm_bytes : int
        Shared memory that the Python models take, as far as their tensors have known sizes.
    image : Path or None
        The folder of the Dockerfile.
    versions : dict of str to int, or None
        With `new_version`: the newest version of every model, published now or before; else None.
    published : tuple of str
        With `new_version`: the models that got that version now; empty when nothing changed.
    """

    repository: Path | str
    entry: str
    models: tuple[str, ...]
    third_party: tuple[str, ...]
    notes: tuple[str, ...]
    graph: Graph | None = None
    requirements: tuple[str, ...] = ()
    release: str = ""
    shm_bytes: int = 0
    image: Path | None = None
    versions: dict[str, int] | None = None
    published: tuple[str, ...] = ()


def build(
    target: Any,
    repository: str | os.PathLike[str],
    *,
    overwrite: bool = False,
    new_version: bool = False,
    keep: int | None = None,
    release: str = "",
    env: str = "none",
    env_archive: str | os.PathLike[str] = "",
    machine: str = "x86_64",
) -> Built:
    """Write the model folders of `target` into `repository`.

    Parameters
    ----------
    target : str, Pipeline, marked function, core model, or a list of them
        ``"app.py:pipeline"``, or the object itself.
    overwrite : bool
        Also replace model folders that something else made, edits made by hand, and versions that were kept.
    new_version : bool
        Publish the steps as new versions and an ensemble that pins them, instead of exchanging the folders.
    keep : int
        With `new_version`: how many old versions stay; None: 2.
    release : str
        ``"24.10"`` or ``"latest"``: refuse what that container cannot run; empty: any release, unchecked.
    env : {"none", "pack", "image"}
        Where the packages come from: from the container as it is; from an archive in the model folder; from an
        image, whose Dockerfile is written beside the repository.  The last two need `release`.
    env_archive : path
        Instead of ``env="pack"``: an archive made by conda-pack or venv-pack.
    machine : {"x86_64", "aarch64"}
        Of the container, for the packages.

    Raises
    ------
    TritonPybError
        When anything is wrong with the declaration, a model file or the repository; then nothing was written.
    """
    __tracebackhide__ = True  # pytest then shows the test, the author's lines and the message
    if not os.fspath(repository):
        raise BuildError("TPB437", "the repository has no name", "repository ''", "name a folder; '.' is this one")
    if keep is not None and not new_version:
        raise BuildError(
            "TPB447",
            f"keep={keep} says how many old versions stay, and without new_version none does",
            "keep=",
            "build with new_version=True, or leave keep= out",
        )
    if not is_url(repository):
        repository = os.path.abspath(repository)  # now: an application may change the working folder
        check_repository(Path(repository))
    thing = load_target(target) if isinstance(target, str) else target
    plans = make_plans(thing)
    for folder in _all(plans):
        folder.config()  # one that cannot be read is told before anything is written
    container = find_release(release) if release else None
    if container is None and (env != "none" or env_archive):
        raise BuildError(
            "TPB458",
            f"env={env!r} needs to know the container's Python and glibc",
            "release=",
            'say the release: release="24.10", or --release 24.10',
        )
    plans = [_for_container(plan, container, env == "pack", env_archive, machine) for plan in plans]
    if is_url(repository):
        return _into_store(plans, str(repository), container, overwrite, new_version or env == "image")
    if not overwrite:
        for folder in _all(plans):
            check_ownership(folder, Path(repository) / folder.name)
            if not new_version:
                check_kept(folder, Path(repository) / folder.name)
    warnings: tuple[str, ...] = ()
    placed: list[Published] = []
    if new_version:
        kept = KEEP if keep is None else keep
        pairs = [_publish_versions(plan, Path(repository), kept) for plan in plans]
        plans, placed = [plan for plan, _ in pairs], [there for _, found in pairs for there in found]
    else:
        warnings = publish(_all(plans), Path(repository))
    image = write_image(_all(plans), container, Path(repository), machine) if env == "image" and container else None
    built = _built(plans, Path(repository), container, warnings, image)
    if not new_version:
        return built
    versions = {there.name: int(there.folder.version) for there in placed}
    published = tuple(dict.fromkeys(there.name for there in placed if there.is_new))
    return built._replace(versions=versions, published=published)


def _into_store(
    plans: Sequence[Plan], url: str, container: Release | None, overwrite: bool, asks_too_much: bool
) -> Built:
    """Publish into S3, GCS or another object store."""
    if asks_too_much:
        raise BuildError(
            "TPB428",
            f"'{url}' is no folder: new_version= and env='image' need one",
            f"repository '{url}'",
            "leave them out; in an object store every build is a new version",
        )
    store, folders = Store(url), _all(plans)
    if not overwrite:
        for folder in folders:
            store.check_ownership(folder)
    store.publish(folders)
    return _built(plans, url, container, (GUARANTEE,), None)


def _all(plans: Sequence[Plan]) -> list[ModelFolder]:
    """Every folder once."""
    return list({folder.name: folder for plan in plans for folder in plan.folders}.values())


def _for_container(
    plan: Plan, container: Release | None, pack: bool, env_archive: str | os.PathLike[str], machine: str
) -> Plan:
    """What depends on the release; then the manifests."""
    folders: Sequence[ModelFolder] = plan.folders
    if container is not None:
        check_release(folders, container)
        folders = [folder._replace(release=container.name) for folder in folders]
        if pack or env_archive:
            folders = [_with_packages(folder, container, env_archive, machine) for folder in folders]
    return plan._replace(folders=tuple(folder.with_manifest() for folder in folders))


def _built(
    plans: Sequence[Plan],
    repository: str | os.PathLike[str],
    container: Release | None,
    warnings: tuple[str, ...],
    image: Path | None,
) -> Built:
    folders = _all(plans)
    notes = tuple(dict.fromkeys(note for folder in folders for note in folder.notes))
    if not all(plan.joins for plan in plans):
        notes += ("max_batch_size is 0: the server never joins requests; set max_batch_size=8 to let it",)
    notes += warnings
    unquoted = sorted(set(os.path.abspath(repository)) & set(" $&;'\"()<>|*?`\\"))
    if unquoted and not is_url(repository):
        notes += (
            f"the path '{os.path.abspath(repository)}' holds {' '.join(map(repr, unquoted))}: Triton up to 25.07 hangs "
            "when it loads a Python model from such a path; serve it from another one",
        )
    steps = {folder.name for plan in plans if plan.graph is not None for folder in plan.folders[:-1]}
    entries = [plan.folders[-1].name for plan in plans if plan.folders[-1].name not in steps]
    shm_bytes = shm_need_bytes(folders, container or find_release("latest"))
    if shm_bytes > DOCKER_SHM_BYTES:
        notes += (
            f"the Python models take about {shm_bytes >> 20} MiB of shared memory, docker gives 64 MiB: run the "
            f"container with --shm-size={max(128, (shm_bytes >> 20) * 5 // 4)}m",
        )
    return Built(
        str(repository) if is_url(repository) else Path(repository),
        entries[0] if len(entries) == 1 else "",
        tuple(folder.name for folder in folders),
        tuple(sorted({name for folder in folders for name in folder.third_party} - {"numpy"})),
        notes,
        next((plan.graph for plan in reversed(plans) if plan.graph is not None), None),
        tuple(sorted({line for folder in folders for line in folder.requirements})),
        container.name if container else "",
        shm_bytes,
        image,
    )


def _with_packages(
    folder: ModelFolder, container: Release, env_archive: str | os.PathLike[str], machine: str
) -> ModelFolder:
    """A step with an environment archive of its own, when it needs more than numpy."""
    if not folder.requirements or folder.as_it_is:
        return folder
    if env_archive:
        archive = Path(env_archive)
        check_archive(archive, container, machine)
        return with_environment(folder, archive)
    if len(folder.requirements) == 1:
        return folder
    archive = pack_environment(folder.requirements, container, machine)
    others = other_versions(folder.requirements, archive)
    note = f"the environment for Python {container.python_text} holds {', '.join(others)}: test with these versions"
    return with_environment(folder._replace(notes=(*folder.notes, note) if others else folder.notes), archive)


def _publish_versions(plan: Plan, repository: Path, keep: int) -> tuple[Plan, list[Published]]:
    """The plan as it was published, with the names and versions that the models got; and which are new."""
    if plan.graph is None:
        placed = publish_versions(plan.folders, None, repository, keep)
        return plan._replace(folders=tuple(published.folder for published in placed)), placed
    graph = plan.graph
    *steps, ensemble = plan.folders

    def make_entry(placed: Sequence[Published]) -> ModelFolder:
        names = {step.name: (there.name, there.version) for step, there in zip(steps, placed, strict=True)}
        return ensemble_folder(graph, names)._replace(source=ensemble.source, release=ensemble.release)

    placed = publish_versions(steps, make_entry, repository, keep)
    return plan._replace(folders=tuple(published.folder for published in placed)), placed
