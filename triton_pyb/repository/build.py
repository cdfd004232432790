"""``triton-pyb build``: a pipeline or one step -> model folders in a repository."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

from triton_pyb.config.releases import Release, find_release
from triton_pyb.runtime.pipeline import Pipeline
from triton_pyb.runtime.steps import mark_of

from .archive_check import check_archive
from .environment import pack_environment, with_environment, write_image
from .folders import ModelFolder, core_folder, ensemble_folder, step_folder
from .graph import Graph, resolve
from .ownership import check_ownership
from .publish import publish
from .release_check import check_release, shm_need_bytes
from .target import BuildError, load_target
from .versions import KEEP, Published, publish_versions

#: ``/dev/shm`` of a container that is started without --shm-size.
DOCKER_SHM_BYTES = 64 << 20

__all__ = ["BuildError", "Built", "build"]

#: For a step that is built alone and says nothing: the pipeline's default.
DEFAULT_MAX_BATCH_SIZE = 8


class Built(NamedTuple):
    """What was written.

    Attributes
    ----------
    entry : str
        The model a client calls: the ensemble, or the one step.
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
    """

    repository: Path
    entry: str
    models: tuple[str, ...]
    third_party: tuple[str, ...]
    notes: tuple[str, ...]
    graph: Graph | None = None
    requirements: tuple[str, ...] = ()
    release: str = ""
    shm_bytes: int = 0
    image: Path | None = None


def build(
    target: Any,
    repository: str | os.PathLike[str],
    *,
    overwrite: bool = False,
    new_version: bool = False,
    keep: int = KEEP,
    release: str = "",
    env: str = "none",
    env_archive: str | os.PathLike[str] = "",
) -> Built:
    """Write the model folders of `target` into `repository`.

    Parameters
    ----------
    target : str, Pipeline or marked function
        ``"app.py:pipeline"``, or the object itself.
    overwrite : bool
        Also replace model folders that something else made, and edits made by hand.
    new_version : bool
        Publish the steps as new versions and an ensemble that pins them, instead of exchanging the folders.
    keep : int
        With `new_version`: how many old versions stay.
    release : str
        ``"24.10"`` or ``"latest"``: refuse what that container cannot run; empty: any release, unchecked.
    env : {"none", "pack", "image"}
        Where the packages come from: from the container as it is; from an archive in the model folder; from an
        image, whose Dockerfile is written beside the repository.  The last two need `release`.
    env_archive : path
        Instead of ``env="pack"``: an archive made by conda-pack or venv-pack.

    Raises
    ------
    TritonPybError
        When anything is wrong with the declaration, a model file or the repository; then nothing was written.
    """
    thing = load_target(target) if isinstance(target, str) else target
    graph: Graph | None = None
    if isinstance(thing, Pipeline):
        graph = resolve(thing)
        folders = [
            folder._replace(source=folder.source._replace(pipeline=thing.name))
            for folder in [*_node_folders(graph), ensemble_folder(graph)]
        ]
        max_batch_size = thing.max_batch_size
    else:
        folders = [_single_folder(thing)]
        mark = mark_of(thing)
        said = mark.max_batch_size if mark is not None else None
        max_batch_size = DEFAULT_MAX_BATCH_SIZE if said is None else said
    container = find_release(release) if release else None
    if container is not None:
        check_release(folders, container)
        release = container.name
        folders = [folder._replace(release=release) for folder in folders]
    image: Path | None = None
    if env != "none" or env_archive:
        if container is None:
            raise BuildError(
                "TPB458",
                f"env={env!r} needs to know the container's Python and glibc",
                "release=",
                'say the release: release="24.10", or --release 24.10',
            )
        if env != "image":
            folders = [_with_packages(folder, container, env_archive) for folder in folders]
    folders = [folder.with_manifest() for folder in folders]
    if not overwrite:
        for folder in folders:
            check_ownership(folder, Path(repository) / folder.name)
    warnings: tuple[str, ...] = ()
    if new_version:
        folders = _publish_versions(folders, graph, Path(repository), keep)
    else:
        warnings = publish(folders, Path(repository))
    if env == "image" and container is not None:
        image = write_image(folders, container, Path(repository))
    third_party = sorted({name for folder in folders for name in folder.third_party} - {"numpy"})
    notes = tuple(dict.fromkeys(note for folder in folders for note in folder.notes))
    requirements = tuple(sorted({line for folder in folders for line in folder.requirements}))
    if max_batch_size == 0:
        notes += ("max_batch_size is 0: the server never joins requests; set max_batch_size=8 to let it",)
    notes += warnings
    shm_bytes = shm_need_bytes(folders, container or find_release("latest"))
    if shm_bytes > DOCKER_SHM_BYTES:
        notes += (
            f"the Python models take about {shm_bytes >> 20} MiB of shared memory, docker gives 64 MiB: run the "
            f"container with --shm-size={max(128, (shm_bytes >> 20) * 5 // 4)}m",
        )
    names = tuple(folder.name for folder in folders)
    return Built(
        Path(repository),
        names[-1],
        names,
        tuple(third_party),
        notes,
        graph,
        requirements,
        container.name if container else "",
        shm_bytes,
        image,
    )


def _with_packages(folder: ModelFolder, container: Release, env_archive: str | os.PathLike[str]) -> ModelFolder:
    """A step with an environment archive of its own, when it needs more than numpy."""
    if not folder.requirements or folder.as_it_is:
        return folder
    if env_archive:
        archive = Path(env_archive)
        check_archive(archive, container)
        return with_environment(folder, archive)
    if len(folder.requirements) == 1:
        return folder
    return with_environment(folder, pack_environment(folder.requirements, container))


def _publish_versions(
    folders: list[ModelFolder], graph: Graph | None, repository: Path, keep: int
) -> list[ModelFolder]:
    if graph is None:
        return [published.folder for published in publish_versions(folders, None, repository, keep)]
    *steps, ensemble = folders

    def make_entry(placed: Sequence[Published]) -> ModelFolder:
        names = {step.name: (there.name, there.version) for step, there in zip(steps, placed, strict=True)}
        return ensemble_folder(graph, names)._replace(source=ensemble.source, release=ensemble.release)

    return [published.folder for published in publish_versions(steps, make_entry, repository, keep)]


def _node_folders(graph: Graph) -> list[ModelFolder]:
    folders = []
    for node, step in zip(graph.nodes, graph.pipeline.steps, strict=True):
        if node.core is not None:
            folders.append(core_folder(node.core, getattr(step.model, "config", None)))
        elif node.mark is not None:
            folders.append(
                step_folder(
                    node.mark,
                    step.model,
                    max_batch_size=graph.pipeline.max_batch_size,
                    max_queue_delay_microseconds=graph.pipeline.max_queue_delay_microseconds,
                )
            )
    return folders


def _single_folder(step: Any) -> ModelFolder:
    mark = mark_of(step)
    if mark is None:
        raise BuildError(
            "TPB407",
            f"{step!r} is neither a pipeline nor a step",
            "build()",
            "decorate the function with @preprocess, @postprocess or @model, or make a Pipeline",
        )
    said = mark.max_batch_size
    return step_folder(mark, step, max_batch_size=DEFAULT_MAX_BATCH_SIZE if said is None else said)
