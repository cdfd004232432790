"""What may be said beside ``batch=``, and in which mode it means something."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Any, Callable, Dict, List, Mapping, Optional, Sequence, Tuple, Type

from .errors import did_you_mean

if TYPE_CHECKING:
    from typing import TypedDict

    class StepOptions(TypedDict, total=False):
        """The keywords of a step's decorator; :class:`triton_pyb.runtime.steps.StepDecorator` explains them."""

        inputs: Optional[Mapping[str, Any]]
        outputs: Optional[Mapping[str, Any]]
        name: str
        max_batch_size: Optional[int]
        instances: Optional[int]
        batch: str
        workers: int
        limit: int
        group_by: str
        ragged: str
        fallback: str
        on_item_error: str
        status_output: str
        bad_input: Tuple[Type[Exception], ...]
        pad_value: float
        pad_to: int
        multiple_of: int
        readonly: bool
        settings: Mapping[str, Any]
        sequence_idle_s: float
        assets: Sequence[str]
        config: Any


#: Every keyword of a decorator.
KEYWORDS = (
    "inputs",
    "outputs",
    "name",
    "max_batch_size",
    "instances",
    "batch",
    "workers",
    "limit",
    "group_by",
    "ragged",
    "fallback",
    "on_item_error",
    "status_output",
    "bad_input",
    "pad_value",
    "pad_to",
    "multiple_of",
    "readonly",
    "settings",
    "sequence_idle_s",
    "assets",
    "config",
)

MODEL_NAME = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.\-]*\Z")

BATCH_MODES = ("each", "stack", "list", "pad", "request")
#: Modes in which one call takes the items of several requests.
JOINED = ("stack", "list", "pad")

#: What a Signature carries: name -> the modes in which it means something.
_MODES: Dict[str, Tuple[str, ...]] = {
    "workers": ("each",),
    "limit": JOINED,
    "group_by": JOINED,
    "ragged": ("stack",),
    "fallback": JOINED,
    "on_item_error": ("each",) + JOINED,
    "status_output": ("each",) + JOINED,
    "pad_value": ("pad",),
    "pad_to": ("pad",),
    "multiple_of": ("pad",),
    "readonly": BATCH_MODES,
    "settings": BATCH_MODES,
    "sequence_idle_s": ("each", "request"),
}
_WORDS: Dict[str, Tuple[str, ...]] = {
    "ragged": ("bucket",),
    "fallback": ("split",),
    "on_item_error": ("fail_request", "mask"),
}


def _is_count(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and value >= 1


def _is_json_object(value: Any) -> bool:
    try:
        return isinstance(value, dict) and all(isinstance(key, str) for key in value) and bool(json.dumps(value))
    except (TypeError, ValueError):
        return False


_TYPES: Dict[str, Tuple[Callable[[Any], bool], str]] = {
    "workers": (_is_count, "a whole number of at least 1"),
    "limit": (_is_count, "a whole number of at least 1"),
    "pad_to": (_is_count, "a whole number of at least 1"),
    "multiple_of": (_is_count, "a whole number of at least 1"),
    "pad_value": (lambda value: isinstance(value, (int, float)), "a number"),
    "readonly": (lambda value: isinstance(value, bool), "True or False"),
    "settings": (lambda value: _is_json_object(value), "a dict of names to JSON values"),
    "sequence_idle_s": (lambda value: isinstance(value, (int, float)) and value > 0, "a number of seconds above 0"),
    "group_by": (lambda value: isinstance(value, str) and bool(value), "the name of an input or of a parameter"),
    "status_output": (lambda value: isinstance(value, str) and bool(value), "the name of an output"),
}

Problem = Tuple[str, str, str]


def check_keywords(given: Mapping[str, Any]) -> List[Problem]:
    """(code, what, fix) for every keyword that a decorator does not have."""
    return [
        (
            "TPB117",
            f"unknown option '{name}'{did_you_mean(name, KEYWORDS)}",
            f"the options are {', '.join(KEYWORDS)}",
        )
        for name in given
        if name not in KEYWORDS
    ]


def read_options(batch: str, given: Mapping[str, Any]) -> Tuple[Dict[str, Any], List[Problem]]:
    """The options a Signature carries, and what is wrong with them."""
    options = {name: value for name, value in given.items() if name in _MODES and value is not None}
    problems: List[Problem] = []
    for name, value in options.items():
        if batch in BATCH_MODES and batch not in _MODES[name]:
            modes = ", ".join(f'batch="{mode}"' for mode in _MODES[name])
            what = f"{name}={value!r} means nothing with batch={batch!r}"
            problems.append(("TPB118", what, f"it belongs to {modes}"))
        words = _WORDS.get(name)
        if words is not None and value not in words:
            hint = did_you_mean(str(value), words)
            allowed = " or ".join(f'"{word}"' for word in words)
            problems.append(("TPB118", f"{name}={value!r} is unknown{hint}", f"write {allowed}"))
        elif name in _TYPES and not _TYPES[name][0](value):
            problems.append(("TPB118", f"{name}={value!r} is not {_TYPES[name][1]}", f"write {_TYPES[name][1]}"))
    return options, problems


def check_model_name(name: object) -> List[Problem]:
    """A model's name is also a folder's name; one with a space makes 24.10 hang on loading."""
    if isinstance(name, str) and MODEL_NAME.match(name):
        return []
    fix = "use letters, digits, '_', '-' and '.', beginning with a letter, a digit or '_'"
    return [("TPB120", f"{name!r} cannot be a model's name", fix)]


def is_names(given: Any) -> bool:
    """A list of str; one str would be taken for its letters."""
    return isinstance(given, (list, tuple)) and all(isinstance(name, str) for name in given)


def check_assets(given: Any) -> List[Problem]:
    """`assets` is a list of paths or patterns."""
    if is_names(given):
        return []
    return [("TPB118", f"assets={given!r} is no list of paths", f"write assets=[{given!r}]")]


def check_bad_input(given: Any) -> List[Problem]:
    """`bad_input` is a tuple of exception classes."""
    classes = given if isinstance(given, tuple) else (given,)
    wrong = [item for item in classes if not (isinstance(item, type) and issubclass(item, Exception))]
    if isinstance(given, tuple) and not wrong:
        return []
    return [
        (
            "TPB118",
            f"bad_input={given!r} is no tuple of exception classes",
            "write bad_input=(ValueError,)",
        )
    ]
