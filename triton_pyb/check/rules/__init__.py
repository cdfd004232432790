"""All rules, grouped by what they read."""

from __future__ import annotations

from triton_pyb.check.rule import ModelRule, RepositoryRule, Rule
from triton_pyb.check.rules import (
    backend,
    ensemble,
    layout,
    python_imports,
    python_model,
    python_names,
    python_requests,
    python_traps,
    release,
    scheduler,
    sequence,
    tensors,
    text_format,
    warmup,
)

MODULES = (
    text_format,
    tensors,
    backend,
    scheduler,
    sequence,
    warmup,
    layout,
    ensemble,
    python_imports,
    python_model,
    python_names,
    python_requests,
    python_traps,
    release,
)

#: Every rule, by code.
RULES: dict[str, Rule] = {code: kind() for code, kind in sorted(Rule.known.items())}
MODEL_RULES = [rule for rule in RULES.values() if isinstance(rule, ModelRule)]
REPOSITORY_RULES = [rule for rule in RULES.values() if isinstance(rule, RepositoryRule)]
