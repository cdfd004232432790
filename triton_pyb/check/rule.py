"""What a rule is: a small class whose docstring is its explanation."""

from __future__ import annotations

import inspect
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, ClassVar

from triton_pyb.check.finding import Finding, Place, Severity, printable

if TYPE_CHECKING:
    from triton_pyb.check.model import Model
    from triton_pyb.check.repository import Repository


class Rule:
    """Base of all rules.

    Attributes
    ----------
    code : str
        Stable; the first two digits are the group.
    needs : frozenset of str
        Facts without which the rule has nothing to read: ``"config"`` (the text was understood),
        ``"python"``, ``"ensemble"``, ``"source"`` (model.py parses).
    message, fix, said : str
        Templates of ``str.format``; `said` is what the server itself says.
    stage : str
        Where the server fails: ``"poll"``, ``"versions"``, ``"load"``, ``"dependency"``, ``"hang"``,
        ``"crash"``; empty when it does not.
    """

    code: ClassVar[str] = ""
    severity: ClassVar[Severity] = "error"
    needs: ClassVar[frozenset[str]] = frozenset()
    message: ClassVar[str] = ""
    fix: ClassVar[str] = ""
    said: ClassVar[str] = ""
    stage: ClassVar[str] = ""

    known: ClassVar[dict[str, type[Rule]]] = {}

    def __init_subclass__(cls) -> None:
        if cls.code:
            if Rule.known.setdefault(cls.code, cls) is not cls:
                raise ValueError(f"two rules are called {cls.code}")

    @classmethod
    def title(cls) -> str:
        """The first line of the docstring."""
        return (inspect.getdoc(cls) or "").split("\n", 1)[0].rstrip(".")

    def found(
        self,
        model: Model,
        where: Any = None,
        /,
        *,
        related: Any = (),
        drawing: Any = "",
        severity: Any = None,
        fix: Any = None,
        said: Any = None,
        stage: Any = None,
        **values: Any,
    ) -> Finding:
        """One finding; `where` is an entry of the configuration, an offset into it, or a place.

        The keyword arguments replace what the class says; all others fill its templates.
        """
        values.setdefault("model", model.name)
        place = where if isinstance(where, Place) else model.place(where)
        return Finding(
            self.code,
            severity or self.severity,
            model.name,
            printable(self.message.format(**values)),
            printable((self.fix if fix is None else fix).format(**values)),
            place,
            (self.said if said is None else said).format(**values),
            related,
            drawing,
            self.stage if stage is None else stage,
        )


class ModelRule(Rule):
    """A rule that reads one model."""

    def check(self, model: Model) -> Iterator[Finding]:
        raise NotImplementedError


class RepositoryRule(Rule):
    """A rule that reads the repository as a whole, after every model has been read alone."""

    def check_repository(self, repository: Repository) -> Iterator[Finding]:
        raise NotImplementedError
