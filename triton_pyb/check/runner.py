"""Run the rules over a repository and collect everything they find."""

from __future__ import annotations

import contextlib
import gc
import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace

from triton_pyb.check.dependencies import resolve_ensembles
from triton_pyb.check.finding import Finding
from triton_pyb.check.model import Model
from triton_pyb.check.repository import Repository, open_repository
from triton_pyb.check.rules import MODEL_RULES, REPOSITORY_RULES, RULES
from triton_pyb.check.target import MEASURED_RELEASE, Target, TargetError, known_release
from triton_pyb.runtime.errors import did_you_mean

_LOADING = ("poll", "versions", "load", "hang", "crash")


def check(
    repository: str | os.PathLike[str] | Sequence[str | os.PathLike[str]],
    *,
    release: str | None = None,
    select: Iterable[str] = (),
    ignore: Mapping[str, str] | Iterable[str] = (),
    strict: bool = False,
    gpus: int | None = None,
    backends: Iterable[str] | None = None,
    config_name: str = "",
    rate_limit: bool = False,
    resources: Mapping[str, int] | None = None,
    import_models: bool = False,
) -> list[Finding]:
    """Find every fault of a model repository that a real Triton reports, hangs on, dies of or hides.

    No server is started and, unless `import_models` says so, no code of the repository is run.

    Parameters
    ----------
    repository : path or sequence of paths
        The ``--model-repository`` folders.
    release : str, optional
        Container release of the target, e.g. ``"21.10"``; by default 24.10, on which the rules were measured.
    select : iterable of str, optional
        Only these codes, or codes that begin so (``"TPB16"``).
    ignore : mapping of str to str, or iterable of str
        Codes to leave out, each with the reason; ``"TPB1708:tokenizer"`` leaves it out for one model.
    strict : bool
        The server runs with ``--disable-auto-complete-config`` (older: ``--strict-model-config``).
    gpus : int, optional
        How many GPUs the target has; by default at least one.
    backends : iterable of str, optional
        Backends that the target has beside those of NVIDIA's container; a leading ``"="`` as first item means
        exactly these.
    config_name : str
        ``--model-config-name``.
    rate_limit, resources
        ``--rate-limit=execution_count`` and ``--rate-limit-resource``.
    import_models : bool
        Import every model.py in a child process, with the emulator in place of Triton.

    Returns
    -------
    list of Finding
        In the order of models, then of places in their files.

    Raises
    ------
    TargetError
        If the release, or a code, does not exist.
    """
    folders = [repository] if isinstance(repository, (str, os.PathLike)) else list(repository)
    target = make_target(release, strict, gpus, backends, config_name, rate_limit, resources)
    known_codes(select)
    known_entries(ignore)
    opened = open_repository(folders, target)
    findings = run(opened)
    if import_models:
        from triton_pyb.check.importing import import_findings

        findings = ordered(opened, [*findings, *import_findings(opened, findings)])
    return [finding for finding in findings if wanted(finding, tuple(select), tuple(ignore))]


def make_target(
    release: str | None = None,
    strict: bool = False,
    gpus: int | None = None,
    backends: Iterable[str] | None = None,
    config_name: str = "",
    rate_limit: bool = False,
    resources: Mapping[str, int] | None = None,
) -> Target:
    """The target of these options; see `check`."""
    target = Target(
        chosen=release is not None,
        strict=strict,
        gpus=gpus,
        config_name=config_name,
        rate_limit=rate_limit,
        resources=dict(resources or {}),
        release=known_release(release) if release is not None else MEASURED_RELEASE,
    )
    if backends is None:
        return target
    named = list(backends)
    exactly = named[:1] == ["="]
    known = frozenset(named[1:]) if exactly else frozenset(named) | target.installed_backends
    return replace(target, backends=known)


def known_codes(codes: Iterable[str]) -> None:
    """Refuse codes that no rule has.

    Raises
    ------
    TargetError
        If a code is neither a rule nor the beginning of one.
    """
    for code in codes:
        if not any(known.startswith(code) for known in RULES) or not code:
            raise TargetError(
                "TPB711",
                f"there is no rule {code!r}{did_you_mean(code, RULES)}",
                "--select, --ignore or --explain",
                "name a rule such as TPB1123, or the beginning of some such as TPB16",
            )


def known_entries(ignore: Iterable[str]) -> None:
    """Refuse entries of `ignore` that can leave nothing out: ``CODE`` or ``CODE:MODEL``.

    Raises
    ------
    TargetError
        If a code does not exist, or a colon has no model behind it.
    """
    for entry in ignore:
        code, colon, model = entry.partition(":")
        known_codes([code])
        if colon and not model:
            raise TargetError(
                "TPB717",
                f"{entry!r} has no model behind the colon",
                "--ignore",
                f"write {code}:MODEL for one model, or {code} for all of them",
            )


def wanted(finding: Finding, select: Sequence[str], ignore: Sequence[str]) -> bool:
    """True when a finding is selected and not ignored."""
    if select and not any(finding.code.startswith(code) for code in select):
        return False
    return not any(leaves_out(entry, finding) for entry in ignore)


def leaves_out(entry: str, finding: Finding) -> bool:
    """True when an entry of `ignore` is about a finding."""
    code, _, model = entry.partition(":")
    return finding.code.startswith(code) and (not model or model == finding.model)


def run(repository: Repository) -> list[Finding]:
    """All findings of a repository, and its `broken` and `ensemble_faults` filled in."""
    with _collector_at_rest():
        return _run(repository)


@contextlib.contextmanager
def _collector_at_rest() -> Iterator[None]:
    """Reference counting frees the syntax trees; the cycle collector would only walk them, more with every model."""
    was_enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_enabled:
            gc.enable()


def _run(repository: Repository) -> list[Finding]:
    findings: list[Finding] = []
    for model in repository.models:
        found = check_model(model)
        findings += found
        fatal = [f for f in found if f.severity == "error" and f.stage in _LOADING]
        if fatal:
            first = min(fatal, key=_server_order)
            error = first.said
            if first.stage == "load":
                version = model.selected_versions[0].number if model.selected_versions else 1
                error = f"version {version} is at UNAVAILABLE state: {error};"
            repository.broken[model.name] = (first.stage, error)
    resolve_ensembles(repository)
    for rule in REPOSITORY_RULES:
        findings += rule.check_repository(repository)
    return ordered(repository, findings)


def _server_order(finding: Finding) -> tuple[int, int]:
    """Of several faults of one model the server reports the one it meets first."""
    met_first = ("TPB1703", "TPB1708", "TPB1709")
    rank = met_first.index(finding.code) if finding.code in met_first else len(met_first)
    return _LOADING.index(finding.stage), rank


def check_model(model: Model) -> list[Finding]:
    """What the rules find in one model alone."""
    findings: list[Finding] = []
    facts = model.facts
    for rule in MODEL_RULES:
        if rule.needs <= facts:
            findings += rule.check(model)
    model.forget_sources()
    return findings


def ordered(repository: Repository, findings: list[Finding]) -> list[Finding]:
    """Findings by model, file and place, each once."""
    order = {model.name: index for index, model in enumerate(repository.models)}
    unique = list(dict.fromkeys(findings))
    return sorted(unique, key=lambda f: (order.get(f.model, -1), f.place.file, f.place.line, f.place.column, f.code))
