"""Names of instance groups that break the start of the Python stub: it is started by ``bash -c``, the name unquoted.

Source: StubLauncher::Launch of the Python backend 24.10 (stub_launcher.cc), measured for white space, braces and
``' " ` ; & | < ( ) #``.
"""

from __future__ import annotations

import re
from typing import NamedTuple

#: What bash replaces by nothing, or by one word.
_SUBSTITUTED = re.compile(r"\$\([^()]*\)")
_ENDS = re.compile(r"[`\"';&|<>()]|\s#")
_SPLITS = re.compile(r"\s|\{[^{}]*(?:,|\.\.)[^{}]*\}")

#: What a model's load says where the name is split.
SPLIT_SAYS = "ModuleNotFoundError: No module named 'model'"


class Breaking(NamedTuple):
    """What in a name breaks the command.

    Attributes
    ----------
    ends : bool
        It ends the command: releases up to 25.07 wait for ever. Else it splits the name in two.
    """

    text: str
    ends: bool


def breaking(name: str) -> Breaking | None:
    """The first thing in an instance group's name that bash does not leave as it is, or None."""
    left = _SUBSTITUTED.sub("", name).strip()
    ending, splitting = _ENDS.search(left), _SPLITS.search(left)
    if ending is not None:
        return Breaking(ending.group(), True)
    return Breaking(splitting.group(), False) if splitting is not None else None
