"""One run of the checker as a command asks for it: repair first when wanted, then check."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

from triton_pyb.check.finding import Finding, Place
from triton_pyb.check.fixing import fix
from triton_pyb.check.repository import Repository, open_paths
from triton_pyb.check.rules.layout import NoRepository
from triton_pyb.check.runner import known_codes, known_entries, leaves_out, make_target, ordered, run, wanted
from triton_pyb.runtime.errors import did_you_mean


@dataclass(frozen=True)
class Options:
    """The options of a check; see `triton_pyb.check.check`."""

    release: str | None = None
    select: Sequence[str] = ()
    ignore: Mapping[str, str] = field(default_factory=dict)
    strict: bool = False
    gpus: int | None = None
    backends: Sequence[str] | None = None
    config_name: str = ""
    rate_limit: bool = False
    resources: Mapping[str, int] = field(default_factory=dict)
    import_models: bool = False


@dataclass
class Outcome:
    findings: list[Finding]
    models: int
    release: str
    repairs: list[str] = field(default_factory=list)
    #: What was asked for and had no effect.
    notes: list[str] = field(default_factory=list)

    @property
    def is_empty(self) -> bool:
        """True when there was nothing to check: a folder is missing, or holds no model."""
        return any(finding.code == NoRepository.code for finding in self.findings)


def run_command(folders: Sequence[str], options: Options, *, repair: bool = False) -> Outcome:
    """Check repositories, or folders of single models; with `repair`, make the safe repairs until none is left.

    Raises
    ------
    TargetError
        If the release or a code does not exist.
    """
    target = make_target(
        options.release,
        options.strict,
        options.gpus,
        options.backends,
        options.config_name,
        options.rate_limit,
        options.resources,
    )
    known_codes(options.select)
    known_entries(options.ignore)
    select, ignore = tuple(options.select), tuple(options.ignore)

    def allowed(code: str, model: str) -> bool:
        probe = Finding(code, "error", model, "", "", Place(""))
        return wanted(probe, select, ignore) and model not in opened.steps

    repairs: list[str] = []
    for _ in range(4 if repair else 0):  # a repaired text may show the next fault
        opened = open_paths(folders, target)
        made = fix(opened, allowed)
        repairs += made
        if not made:
            break
    repository = open_paths(folders, target)
    findings = [finding for finding in run(repository) if _asked(repository, finding)]
    models = [model for model in repository.models if model.name not in repository.steps]
    if options.import_models:
        from triton_pyb.check.importing import import_findings

        findings = ordered(repository, [*findings, *import_findings(replace(repository, models=models), findings)])
    nothing_checked = (NoRepository.code,) if select else ()  # no selection may hide that
    kept = [finding for finding in findings if wanted(finding, (*select, *nothing_checked), ignore)]
    names = [model.name for model in models]
    notes = [_unused(entry, names) for entry in ignore if not any(leaves_out(entry, f) for f in findings)]
    return Outcome(kept, len(models), target.release, repairs, [] if repairs else notes)


def _asked(repository: Repository, finding: Finding) -> bool:
    """False for what is found in a step that was opened for its ensemble, or in the folder around a single model."""
    if not finding.model:
        return finding.place.file not in repository.alone
    return finding.model not in repository.steps


def _unused(entry: str, models: Sequence[str]) -> str:
    model = entry.partition(":")[2]
    if model and model not in models:
        return f"--ignore {entry} leaves nothing out: there is no model {model!r}{did_you_mean(model, models)}"
    return f"--ignore {entry} leaves nothing out: nothing of that code was found; remove it"
