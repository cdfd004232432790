"""Group 15: folders, versions and names."""

from __future__ import annotations

import fnmatch
import os
import re
from collections.abc import Iterator

from triton_pyb.check.finding import Finding, Place, printable
from triton_pyb.check.model import RESERVED_FOLDERS, Model
from triton_pyb.check.repository import Repository
from triton_pyb.check.rule import ModelRule, RepositoryRule

_CONFIG = frozenset({"config"})
#: What a shell does not take literally.  Source: stub_launcher.cc starts the stub through ``bash -c``, unquoted.
SHELL = re.compile(r"[\s$`\"'\\;&|<>()]|\{[^{}]*(?:,|\.\.)[^{}]*\}")
_CONFIG_NAMES = re.compile(r"config\.(pbtx|pbtext|pb|prototxt|txt|pbtxt\.txt|pbtxt\.bak|json|yaml|yml)$", re.I)


class NoVersion(ModelRule):
    """A model has no version folder.

    A version is a folder whose name is a number without leading zeros: `1`, not `v1`, `01` or a file.  Ensembles need
    one too; it may be empty, but git and zip drop empty folders: put a placeholder file into it.  `--fix` creates `1/`.

    Source: core/src/model_repository_manager/model_lifecycle.cc:455 (24.10).
    """

    code = "TPB1501"
    needs = _CONFIG
    stage = "versions"
    message = "the model has no version folder{why}"
    fix = "{repair}"
    said = "at least one version must be available under the version policy of model '{model}'"

    def check(self, model: Model) -> Iterator[Finding]:
        if model.versions or model.completed.undetermined or overflowing(model):
            return
        if model.config_state == "absent" and model.target.strict:
            return
        why, repair = _why_no_version(model)
        yield self.found(model, Place(model.path), why=printable(why), repair=printable(repair))


def _why_no_version(model: Model) -> tuple[str, str]:
    if model.config_state == "absent" and model.name.startswith("."):
        return (
            f": '{model.name}' is no model, but the server takes every sub folder of the repository for one",
            "move it out of the repository, or point --model-repository at a folder without it",
        )
    if "model.py" in model.files:
        return ": model.py lies beside config.pbtxt", "move model.py into a folder named 1"
    for name in model.files:
        if name.isdigit():
            return f": '{name}' is a file", f"make '{name}' a folder"
    others = [name for name in model.subfolders if name not in RESERVED_FOLDERS]
    zeros = [name for name in others if name[0] == "0" and name.strip("0").isdigit()]
    if zeros:
        return f": '{zeros[0]}' has leading zeros", f"rename it to {int(zeros[0])}"
    like = [name for name in others if re.fullmatch(r"[A-Za-z_.-]*\d+", name)]
    if like:
        digits = "".join(re.findall(r"\d+", like[0])).lstrip("0") or "1"
        return f": '{like[0]}' is no number", f"rename it to {digits}"
    if others:
        return f": '{others[0]}' is no number", "create a folder named 1"
    return "", "create a folder named 1" + (
        " (with a placeholder file, so that git keeps it)" if model.is_ensemble else ""
    )


class PolicyPicksNothing(ModelRule):
    """version_policy picks none of the versions that exist.

    `latest { }` means zero versions, `specific { }` none.

    Source: core/src/model_repository_manager/model_lifecycle.cc:455 (24.10).
    """

    code = "TPB1502"
    needs = _CONFIG
    stage = "versions"
    message = "version_policy picks no version; there are {known}"
    fix = "write latest {{ num_versions: 1 }}, or name versions that exist"
    said = "at least one version must be available under the version policy of model '{model}'"

    def check(self, model: Model) -> Iterator[Finding]:
        if model.versions and not model.selected_versions and not overflowing(model):
            known = ", ".join(str(version.number) for version in model.versions)
            yield self.found(model, model.config.entry("version_policy"), known=known)


class PolicyNamesMissing(ModelRule):
    """version_policy names a version that is not there.

    The others load; the server only logs it.

    Source: core/src/model_repository_manager/model_lifecycle.cc:123 (24.10).
    """

    code = "TPB1503"
    severity = "warning"
    needs = _CONFIG
    message = "version_policy names version {version}, which does not exist"
    fix = "add the folder {version}, or remove it from versions"
    said = "version {version} is specified for model '{model}', but the version directory is not present"

    def check(self, model: Model) -> Iterator[Finding]:
        policy = model.config["version_policy"]
        specific = policy["specific"] if policy is not None else None
        known = [version.number for version in model.versions]
        for entry in specific.entries.get("versions", ()) if specific is not None else ():
            if entry.value not in known and model.selected_versions:
                yield self.found(model, entry, version=entry.value)


class GhostVersion(ModelRule):
    """A folder such as `2_old` is taken for version 2, and there is no folder `2`.

    Triton reads the number in front of a folder name (std::stoll): `2_old`, `20240101-backup`, `1.0`, `+1`, ` 1` and
    `-1` all count.  It then looks into a folder named exactly by that number.  Up to 25.07 a Python model hangs the
    whole server start; the newest number wins, so a backup can win over the real version.

    Source: model_lifecycle.cc VersionsToLoad and stub_launcher.cc:461 (24.10), measured (R_version_prefix_numeric ...).
    """

    code = "TPB1504"
    needs = _CONFIG
    stage = "hang"
    message = "folder '{folder}' is taken for version {number}, and folder '{path}' does not exist{effect}"
    fix = "rename '{folder}' so that it does not begin with a number, or move it out of the model folder"
    said = "Failed to preinitialize Python stub: Python model file not found in '<REPO>/{model}/{path}/{file}'"

    def check(self, model: Model) -> Iterator[Finding]:
        if overflowing(model):
            return
        for version in model.selected_versions:
            if not version.exists:
                ensemble = model.is_ensemble
                effect = ": " + _hangs(model) if model.is_python and not ensemble else ""
                yield self.found(
                    model,
                    Place(os.path.join(model.path, version.folder)),
                    severity="warning" if ensemble else "error",
                    stage="" if ensemble else None if not model.target.at_least("25.08") else "load",
                    folder=printable(version.folder),
                    number=version.number,
                    path=os.path.basename(version.path),
                    effect=effect,
                    file=model.completed.filename or "model.py",
                )


def _hangs(model: Model) -> str:
    return "the model does not load" if model.target.at_least("25.08") else "the server start hangs for ever"


class HarmlessGhost(ModelRule):
    """A folder such as `2_old` is taken for a version, without effect so far.

    Source: model_lifecycle.cc VersionsToLoad (24.10), measured (R_both_1_and_1abc).
    """

    code = "TPB1505"
    severity = "warning"
    needs = _CONFIG
    message = "folder '{folder}' counts as version {number}: the server reads the number in front of the name"
    fix = "rename it so that it does not begin with a number, or move it out of the model folder"

    def check(self, model: Model) -> Iterator[Finding]:
        selected = {version.folder for version in model.selected_versions if not version.exists}
        for name in model.subfolders:
            match = re.match(r"[ \t]*([+-]?\d+)", name)
            if match and name != match.group(1) and name not in selected and name[0] != "0":
                folder = Place(os.path.join(model.path, name))
                yield self.found(model, folder, folder=printable(name), number=int(match.group(1)[:30]))


def overflowing(model: Model) -> list[str]:
    """Sub folders whose number is beyond 64 bits."""
    found = []
    for name in model.subfolders:
        match = re.match(r"[ \t\n\r\v\f]*([+-]?\d+)", name)
        if match and name[0] != "0" and name not in RESERVED_FOLDERS:
            if not -(2**63) <= int(match.group(1)[:400]) < 2**63:
                found.append(name)
    return found


class VersionOverflow(ModelRule):
    """The number of a version folder does not fit 64 bits: the server process dies.

    Source: measured on 24.10 ("terminate called after throwing an instance of 'std::out_of_range'").
    """

    code = "TPB1506"
    stage = "crash"
    message = "folder '{folder}' has a number beyond 64 bits: the whole server dies"
    fix = "rename it"
    said = "stoll"

    def check(self, model: Model) -> Iterator[Finding]:
        for name in overflowing(model):
            yield self.found(model, Place(os.path.join(model.path, name)), folder=printable(name))


class ShellName(ModelRule):
    r"""The name of a Python model holds a character that a shell does not take literally.

    The stub process is started through `bash -c` with an unquoted path: a space or `$` in the name hangs the server
    start up to 25.07.

    Source: python_backend/src/stub_launcher.cc (24.10), measured for white space and $ ` " ' \ ; & | < > ( ) {a,b}.
    """

    code = "TPB1507"
    needs = frozenset({"config", "python"})
    stage = "hang"
    message = "the name '{name}' holds {character}, which breaks the start of the Python stub: {effect}"
    fix = "rename the folder: letters, digits, '_', '-' and '.' only"

    def check(self, model: Model) -> Iterator[Finding]:
        found = _broken_by_a_shell(model)
        if found and model.selected_versions:
            character = "a space" if found == " " else repr(found)
            name = printable(model.name)
            yield self.found(model, Place(model.path), name=name, character=character, effect=_hangs(model))


def _broken_by_a_shell(model: Model) -> str:
    """The part of a name that bash would change; a pattern only when it fits another folder too."""
    match = SHELL.search(model.name)
    if match:
        return match.group()
    if any(character in model.name for character in "*?["):
        beside = fnmatch.filter(model.folders.names(os.path.dirname(model.path)), model.name)
        if set(beside) - {model.name}:
            return next(character for character in "*?[" if character in model.name)
    return ""


class NonAsciiName(ModelRule):
    """The name of a Python model holds a character outside ASCII.

    In a container without LANG the stub cannot encode the path.

    Source: measured on 24.10 (R_folder_name_unicode: UnicodeEncodeError).
    """

    code = "TPB1508"
    needs = frozenset({"config", "python"})
    stage = "load"
    message = "the name '{name}' holds characters outside ASCII: the stub's Python cannot open it"
    fix = "rename the folder in ASCII (LANG=C.UTF-8 helps from 24.11 on, and up to 24.10 with Python up to 3.10)"
    said = "Internal: UnicodeEncodeError: 'ascii' codec can't encode character"

    def check(self, model: Model) -> Iterator[Finding]:
        if not model.name.isascii() and model.selected_versions:
            yield self.found(model, Place(model.path), name=printable(model.name))


class DuplicateModel(RepositoryRule):
    """One model stands in two repositories.

    Source: core/src/model_repository_manager/model_repository_manager.h:50 (24.10).
    """

    code = "TPB1509"
    stage = "poll"
    message = "model '{model}' is also in {other}"
    fix = "keep one of the two"
    said = "model appears in two or more repositories"

    def check_repository(self, repository: Repository) -> Iterator[Finding]:
        seen: dict[str, Model] = {}
        for model in repository.models:
            if model.name in seen:
                first = seen[model.name]
                related = (("the other one", Place(first.path)),)
                yield self.found(model, Place(model.path), other=printable(first.path), related=related)
            seen.setdefault(model.name, model)


class ConfigMisnamed(ModelRule):
    """The configuration has another name than config.pbtxt, and is not read.

    Source: measured on 24.10 (cases R_config_wrong_extension, R_config_uppercase).
    """

    code = "TPB1510"
    severity = "warning"
    message = "'{name}' is not read: the server wants config.pbtxt"
    fix = "rename it to config.pbtxt"

    def check(self, model: Model) -> Iterator[Finding]:
        if model.config_state == "absent" and not model.target.config_name:
            for name in model.files:
                if name.lower() == "config.pbtxt" or _CONFIG_NAMES.match(name):
                    yield self.found(model, Place(os.path.join(model.path, name)), name=printable(name))


class StrictWithoutConfig(ModelRule):
    """There is no config.pbtxt, and auto-complete is off.

    Source: core/src/filesystem/implementations/local.h:194 (24.10); `--disable-auto-complete-config`.
    """

    code = "TPB1516"
    stage = "poll"
    message = "there is no config.pbtxt, and the server runs with --disable-auto-complete-config"
    fix = "write a config.pbtxt"
    said = "failed to open text file for read <REPO>/{model}/config.pbtxt: No such file or directory"

    def check(self, model: Model) -> Iterator[Finding]:
        if model.target.strict and model.config_state == "absent":
            yield self.found(model, Place(model.path))


class FolderBesideVersions(ModelRule):
    """A hidden folder lies beside the versions.

    As soon as `backend` is left out, the server looks into the first sub folder in string order, and `.git`
    comes before
    `1`.

    Source: core/src/model_config_utils.cc AutoCompleteBackendFields (24.10), measured.
    """

    code = "TPB1511"
    severity = "warning"
    needs = _CONFIG
    message = "'{name}' lies beside the versions: without `backend` the server would look into it for the model"
    fix = "move it out of the model folder{or_backend}"

    def check(self, model: Model) -> Iterator[Finding]:
        if model.config_state != "file" or model.completed.undetermined:
            return
        or_backend = "" if model.config["backend"] or model.is_ensemble else ", and write backend"
        for name in model.subfolders:
            if name.startswith(".") or name in ("__pycache__", "__MACOSX"):
                yield self.found(model, Place(os.path.join(model.path, name)), name=name, or_backend=or_backend)


class NoRepository(RepositoryRule):
    """The model repository is not there, is no folder, cannot be listed, or is empty.

    Source: core/src/model_repository_manager/model_repository_manager.cc; the server starts with no model.
    """

    code = "TPB1512"
    stage = "poll"
    message = "the model repository {why}"
    fix = "name the folder that holds the model folders"

    def check_repository(self, repository: Repository) -> Iterator[Finding]:
        for folder, reason in repository.unreadable:
            reason = "does not exist" if reason == "No such file or directory" else reason
            why = reason if reason.startswith(("is", "does")) else f"cannot be read: {reason}"
            yield Finding(
                self.code,
                "error",
                "",
                self.message.format(why=why),
                self.fix,
                Place(folder),
                stage=self.stage,
            )
        if not repository.models and not repository.unreadable:
            where = Place(repository.folders[0]) if repository.folders else Place("")
            yield Finding(self.code, "warning", "", self.message.format(why="holds no model folder"), self.fix, where)


class ModelAsRepository(RepositoryRule):
    """The folder given is a model, not a repository.

    Source: the server takes the version folders for models (measured on 24.10).
    """

    code = "TPB1513"
    severity = "warning"
    message = "'{name}' is a model folder: it holds a config.pbtxt"
    fix = "name the folder above it"

    def check_repository(self, repository: Repository) -> Iterator[Finding]:
        for folder in repository.folders:
            if os.path.isfile(os.path.join(folder, "config.pbtxt")):
                name = printable(os.path.basename(os.path.abspath(folder)))
                yield Finding(self.code, "warning", "", self.message.format(name=name), self.fix, Place(folder))


class DanglingLink(ModelRule):
    """A link in the model folder leads nowhere: the server drops the model without a word.

    The server asks for the kind of every entry beside config.pbtxt, and gives the model up at the first that it cannot
    tell.  Deeper in the folder such a link does not matter.

    Source: measured on 24.10 (the index holds the name alone, the log nothing).
    """

    code = "TPB1515"
    stage = "poll"
    message = "'{name}' is a link to {goal}, which does not exist: the server drops the model without a word"
    fix = "remove the link, or put there what it leads to"

    def check(self, model: Model) -> Iterator[Finding]:
        for name in model.files:
            path = os.path.join(model.path, name)
            if os.path.islink(path) and not os.path.exists(path) and path != model.config_file:
                values = {"name": printable(name), "goal": printable(os.readlink(path))}
                yield self.found(model, Place(path), **values)


class UnreadableFolder(ModelRule):
    """A model folder cannot be listed.

    Source: core/src/filesystem/implementations/local.h GetDirectoryContents.
    """

    code = "TPB1514"
    stage = "poll"
    message = "the folder cannot be read"
    fix = "give the server the right to read it"

    def check(self, model: Model) -> Iterator[Finding]:
        if not os.access(model.path, os.R_OK | os.X_OK):
            yield self.found(model, Place(model.path))
