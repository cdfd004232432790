"""Group 12: dynamic batching, instance groups and the rate limiter."""

from __future__ import annotations

from collections.abc import Iterator

from triton_pyb.check.finding import Finding, printable
from triton_pyb.check.model import Model
from triton_pyb.check.rule import ModelRule
from triton_pyb.config.group_names import SPLIT_SAYS, breaking
from triton_pyb.config.pbtxt import Entry, Message

_CONFIG = frozenset({"config"})
_SINGLE = frozenset({"config", "single"})


def _batching(model: Model) -> Message | None:
    found: Message | None = model.config["dynamic_batching"]
    return found


class PreferredAboveMax(ModelRule):
    """A preferred batch size is larger than max_batch_size.

    Source: core/src/model_config_utils.cc:1435 (24.10), ValidateModelConfig.
    """

    code = "TPB1201"
    needs = _CONFIG
    stage = "poll"
    message = "preferred_batch_size {got} is larger than max_batch_size {most}"
    fix = "lower it to {most} at most, or raise max_batch_size"
    said = "dynamic batching preferred size must be <= max batch size for {model}"

    def check(self, model: Model) -> Iterator[Finding]:
        block = _batching(model)
        for entry in block.entries.get("preferred_batch_size", ()) if block else ():
            if entry.value > max(model.max_batch_size, 0):
                limit = model.config.entry("max_batch_size")
                related = (("max_batch_size", model.place(limit)),) if limit else ()
                yield self.found(model, entry, got=entry.value, most=model.max_batch_size, related=related)


class PreferredNotPositive(ModelRule):
    """A preferred batch size is not positive.

    Source: core/src/model_config_utils.cc:1429 (24.10), ValidateModelConfig.
    """

    code = "TPB1202"
    needs = _CONFIG
    stage = "poll"
    message = "preferred_batch_size is {got}"
    fix = "write a size of at least 1, or remove it"
    said = "dynamic batching preferred size must be positive for {model}"

    def check(self, model: Model) -> Iterator[Finding]:
        block = _batching(model)
        for entry in block.entries.get("preferred_batch_size", ()) if block else ():
            if entry.value <= 0:
                yield self.found(model, entry, got=entry.value)


class DefaultPriority(ModelRule):
    """default_priority_level is not one of the priority levels.

    With `priority_levels: 2` it must be 1 or 2; left out it is 0, which is refused.

    Source: core/src/model_config_utils.cc:1448 (24.10), ValidateModelConfig.
    """

    code = "TPB1203"
    needs = _CONFIG
    stage = "poll"
    message = "default_priority_level is {got}, outside 1 to {levels}"
    fix = "write default_priority_level: 1 (up to {levels})"
    said = "default priority level must be in range [1, {levels}] for {model}"

    def check(self, model: Model) -> Iterator[Finding]:
        block = _batching(model)
        if block is None or block["priority_levels"] == 0:
            return
        levels, got = block["priority_levels"], block["default_priority_level"]
        if not 1 <= got <= levels:
            where = block.entry("default_priority_level") or block.entry("priority_levels")
            yield self.found(model, where, got=got, levels=levels)


class PriorityPolicyLevel(ModelRule):
    """A priority_queue_policy is for a level that does not exist.

    Source: core/src/model_config_utils.cc:1457 (24.10), ValidateModelConfig.
    """

    code = "TPB1204"
    needs = _CONFIG
    stage = "poll"
    message = "priority_queue_policy has the key {got}, outside 1 to {levels}"
    fix = "write a key from 1 to {levels}"
    said = "priority queue policy must have priority level in range [1, {levels}] for {model}"

    def check(self, model: Model) -> Iterator[Finding]:
        block = _batching(model)
        if block is None or block["priority_levels"] == 0:
            return
        levels = block["priority_levels"]
        for entry in block.entries.get("priority_queue_policy", ()):
            if not 1 <= entry.value["key"] <= levels:
                yield self.found(model, entry.value.entry("key") or entry, got=entry.value["key"], levels=levels)


class OrderingWithPriorities(ModelRule):
    """preserve_ordering stands beside more than one priority level.

    Source: core/src/model_config_utils.cc:1468 (24.10), ValidateModelConfig.
    """

    code = "TPB1205"
    needs = _CONFIG
    stage = "poll"
    message = "preserve_ordering is on with {levels} priority levels"
    fix = "remove preserve_ordering, or keep one level"
    said = "Only one priority level is allowed when 'preserve_ordering' is true for {model}"

    def check(self, model: Model) -> Iterator[Finding]:
        block = _batching(model)
        if block is not None and block["preserve_ordering"] and block["priority_levels"] > 1:
            yield self.found(model, block.entry("preserve_ordering"), levels=block["priority_levels"])


class OrderingWithDelay(ModelRule):
    """preserve_ordering stands beside a queue policy that delays.

    Source: core/src/model_config_utils.cc:1479 (24.10), ValidateModelConfig.
    """

    code = "TPB1206"
    needs = _CONFIG
    stage = "poll"
    message = "preserve_ordering is on, and a queue policy has timeout_action DELAY"
    fix = "write timeout_action: REJECT, or remove preserve_ordering"
    said = "Queue policy can not have DELAY as timeout action when 'preserve_ordering' is true for {model}"

    def check(self, model: Model) -> Iterator[Finding]:
        block = _batching(model)
        if block is None or not block["preserve_ordering"]:
            return
        entries = [block.entry("default_queue_policy"), *block.map("priority_queue_policy").values()]
        for entry in entries:
            policy = entry.value if entry is not None else None
            if isinstance(policy, Message) and policy["timeout_action"] == "DELAY":
                if policy["default_timeout_microseconds"] != 0:
                    yield self.found(model, policy.entry("timeout_action"))


class BatchingWithoutSize(ModelRule):
    """dynamic_batching stands in a model without max_batch_size.

    It loads, and never joins two requests.

    Source: measured on 24.10 (case C_ok_dynbatch_with_max_batch_zero).
    """

    code = "TPB1207"
    severity = "warning"
    needs = _SINGLE
    message = "dynamic_batching has no effect: max_batch_size is {got}"
    fix = "set max_batch_size (and take the batch axis out of dims), or remove dynamic_batching"

    def check(self, model: Model) -> Iterator[Finding]:
        if _batching(model) is not None and model.max_batch_size == 0 and model.is_python:
            if not any(s.completion is not None and s.completion.sets_batch_size for s in model.sources):
                entry = model.config.entry("max_batch_size")
                yield self.found(model, model.config.entry("dynamic_batching"), got=0 if entry else "0 (not given)")


class BatchSizeWithoutBatching(ModelRule):
    """max_batch_size is above 1, and dynamic_batching is not there.

    The server then hands over one request at a time: execute() always gets a list of length 1.

    Source: pain of many threads (server issues 3885, 6740); measured on 24.10.
    """

    code = "TPB1208"
    severity = "warning"
    needs = frozenset({"config", "python"})
    message = "max_batch_size is {got} without dynamic_batching: the server never joins two requests"
    fix = "add dynamic_batching {{ }}"

    def check(self, model: Model) -> Iterator[Finding]:
        scheduled = "dynamic_batching" in model.config or "sequence_batching" in model.config
        if model.max_batch_size > 1 and not scheduled:
            if not any(s.completion is not None and s.completion.sets_batching for s in model.sources):
                yield self.found(model, model.config.entry("max_batch_size"), got=model.max_batch_size)


def groups(model: Model) -> Iterator[tuple[str, Entry, Message]]:
    """``(name as Triton completes it, entry, group)``."""
    for index, entry in enumerate(model.config.entries.get("instance_group", ())):
        yield entry.value["name"] or f"{model.name}_{index}", entry, entry.value


class GroupWithForeignGpus(ModelRule):
    """An instance group of KIND_CPU or KIND_MODEL names GPUs.

    Source: core/src/model_config_utils.cc:1658 and 1707 (24.10), ValidateInstanceGroup.
    """

    code = "TPB1210"
    needs = _SINGLE
    stage = "load"
    message = "instance group '{name}' has kind {kind} and names gpus"
    fix = "write kind: KIND_GPU, or remove gpus"
    said = "Invalid argument: instance group {name} of model {model} has kind {kind} but specifies one or more GPUs"

    def check(self, model: Model) -> Iterator[Finding]:
        for name, _, group in groups(model):
            kind = group["kind"]
            if kind == "KIND_AUTO" and model.target.gpus == 0:
                kind = "KIND_CPU"  # what KIND_AUTO becomes on a machine without GPU
            if kind in ("KIND_CPU", "KIND_MODEL") and group["gpus"]:
                yield self.found(model, group.entry("gpus"), name=name, kind=kind)


class UnknownGroupKind(ModelRule):
    """The kind of an instance group is a number that no kind has.

    The text is read, because an enumeration takes any number; the model does not load.  The server's message names
    KIND_AUTO whatever the number was.

    Source: core/src/model_config_utils.cc, ValidateInstanceGroup, measured on 24.10.
    """

    code = "TPB1218"
    needs = _SINGLE
    stage = "load"
    message = "instance group '{name}' has kind {got}, which is no kind"
    fix = "write KIND_CPU, KIND_GPU, KIND_MODEL or KIND_AUTO"
    said = "Internal: instance group {name} of model {model} has unexpected kind KIND_AUTO"

    def check(self, model: Model) -> Iterator[Finding]:
        for name, _, group in groups(model):
            if isinstance(group["kind"], int):
                yield self.found(model, group.entry("kind"), name=name, got=group["kind"])


class GroupNameInShell(ModelRule):
    r"""The name of an instance group holds a character that breaks the start of the Python stub.

    The stub is started through `bash -c` with the name of the instance, unquoted: white space splits the name, and the
    model does not load; a quote or `;` ends the command, and the server waits for ever (up to 25.07).

    Source: python_backend/src/stub_launcher.cc (24.10), measured for white space ' " ` ; & | < ( ) {a,b}.
    """

    code = "TPB1219"
    needs = frozenset({"config", "python"})
    stage = "hang"
    message = "instance group '{name}' holds {character} in its name, which breaks the start of the Python stub"
    fix = "write a name of letters, digits, '_', '-' and '.'"

    def check(self, model: Model) -> Iterator[Finding]:
        for name, _, group in groups(model):
            found = breaking(group["name"])
            if found is None:
                continue
            yield self.found(
                model,
                group.entry("name"),
                stage="load" if not found.ends or model.target.at_least("25.08") else None,
                said=None if found.ends else f"Internal: {SPLIT_SAYS}",
                name=printable(name),
                character="a space" if found.text == " " else repr(found.text),
            )


class GroupWithoutGpu(ModelRule):
    """An instance group of KIND_GPU on a machine without GPU.

    Reported only when the target is said to have none (`--gpus 0`).

    Source: core/src/model_config_utils.cc:1672 (24.10), ValidateInstanceGroup.
    """

    code = "TPB1211"
    needs = _SINGLE
    stage = "load"
    message = "instance group '{name}' has kind KIND_GPU, and the target has no GPU"
    fix = "write kind: KIND_CPU"
    said = "Invalid argument: instance group {name} of model {model} has kind KIND_GPU but no GPUs are available"

    def check(self, model: Model) -> Iterator[Finding]:
        for name, entry, group in groups(model):
            if model.target.gpus == 0 and group["kind"] == "KIND_GPU" and not group["gpus"]:
                yield self.found(model, group.entry("kind") or entry, name=name)


class GroupWithUnknownGpu(ModelRule):
    """An instance group names a GPU that the target does not have.

    Source: core/src/model_config_utils.cc:1695 (24.10), ValidateInstanceGroup.
    """

    code = "TPB1212"
    needs = _SINGLE
    stage = "load"
    message = "instance group '{name}' names GPU {gpu}; the target has {have}"
    fix = "name a GPU that exists"
    said = (
        "Invalid argument: instance group {name} of model {model} specifies invalid or unsupported gpu id {gpu}. "
        "GPUs with at least the minimum required CUDA compute compatibility of 6.000000 are: {ids}"
    )

    def check(self, model: Model) -> Iterator[Finding]:
        count = model.target.gpus
        for name, _, group in groups(model):
            if group["kind"] != "KIND_GPU":
                continue
            for entry in group.entries.get("gpus", ()):
                if entry.value < 0 or count is not None and entry.value >= count:
                    ids = ", ".join(map(str, range(count or 0)))
                    have = "none" if count == 0 else f"GPUs 0 to {count - 1}" if count else "GPUs from 0"
                    yield self.found(model, entry, name=name, gpu=entry.value, have=have, ids=ids)


class GroupProfile(ModelRule):
    """An instance group has a profile outside TensorRT, or one that is no number.

    Source: core/src/model_config_utils.cc:1722 (24.10), ValidateInstanceGroup.
    """

    code = "TPB1213"
    needs = _SINGLE
    stage = "load"
    message = "instance group '{name}' has profile \"{profile}\"{why}"
    fix = "{repair}"
    said = "Invalid argument: instance group {name} of model {model} and platform {platform}{what}"

    def check(self, model: Model) -> Iterator[Finding]:
        platform = model.completed.platform
        for name, _, group in groups(model):
            for entry in group.entries.get("profile", ()):
                profile = entry.value
                if platform != "tensorrt_plan":
                    why, repair = ", which only TensorRT models have", "remove profile"
                    what = "specifies profile field which is only supported for TensorRT models"
                elif not profile.isdigit():
                    why, repair = ", which is no index", "write the index of an optimization profile"
                    what = (
                        f" specifies invalid profile {profile}. The field should contain the string "
                        "representation of a non-negative integer."
                    )
                else:
                    continue
                values = {
                    "profile": profile,
                    "why": why,
                    "repair": repair,
                    "platform": platform,
                    "what": what,
                }
                yield self.found(model, entry, name=name, **values)


class NegativeInstanceCount(ModelRule):
    """An instance group has a negative count.

    The server takes it for 1.

    Source: measured on 24.10 (case C_ok_ig_count_negative).
    """

    code = "TPB1214"
    severity = "warning"
    needs = _SINGLE
    message = "instance group '{name}' has count {got}, which the server takes for 1"
    fix = "write the number of instances"

    def check(self, model: Model) -> Iterator[Finding]:
        for name, _, group in groups(model):
            if group["count"] < 0:
                yield self.found(model, group.entry("count"), name=name, got=group["count"])


class OnlyPassive(ModelRule):
    """All instance groups are passive: nothing ever runs a request.

    Source: measured on 24.10 (case C_ig_only_passive).
    """

    code = "TPB1215"
    severity = "warning"
    needs = _SINGLE
    message = "every instance group is passive: no request is ever run"
    fix = "remove passive"

    def check(self, model: Model) -> Iterator[Finding]:
        found = list(groups(model))
        if found and all(group["passive"] for _, _, group in found):
            yield self.found(model, found[0][2].entry("passive"))


class ResourceGlobalAndLocal(ModelRule):
    """A rate limiter resource is global in one place and per device in another.

    Refused once the server runs with `--rate-limit=execution_count`.

    Source: core/src/rate_limiter.cc:1016 (24.10).
    """

    code = "TPB1216"
    needs = _SINGLE
    stage = "load"
    message = "resource '{name}' is global here and per device elsewhere"
    fix = "make it global everywhere, or nowhere"
    said = (
        'Invalid argument: Resource "{name}" is present as both global and device-specific resource in the model '
        "configuration."
    )

    def check(self, model: Model) -> Iterator[Finding]:
        seen: dict[str, bool] = {}
        for resource in _resources(model):
            name, is_global = resource["name"], bool(resource["global"])
            if seen.setdefault(name, is_global) != is_global:
                strict = model.target.rate_limit
                yield self.found(
                    model,
                    resource,
                    name=name,
                    severity="error" if strict else "warning",
                    stage=None if strict else "",
                    said=None if strict else "",
                )


class ResourceTooLarge(ModelRule):
    """A rate limiter resource asks for more than the server has.

    Source: core/src/rate_limiter.cc:1071 (24.10).
    """

    code = "TPB1217"
    needs = _SINGLE
    stage = "load"
    message = "resource '{name}' needs {need}; the server has {have}"
    fix = "ask for less, or raise --rate-limit-resource={name}:{need}"
    said = (
        'Invalid argument: Resource count for "{name}" is limited to {have} which will prevent scheduling of one '
        "or more model instances, the minimum required count is {need}"
    )

    def check(self, model: Model) -> Iterator[Finding]:
        for resource in _resources(model):
            have = model.target.resources.get(resource["name"])
            if model.target.rate_limit and have is not None and resource["count"] > have:
                where = resource.entry("count") or resource
                yield self.found(model, where, name=resource["name"], need=resource["count"], have=have)


def _resources(model: Model) -> Iterator[Message]:
    for _, _, group in groups(model):
        limiter = group["rate_limiter"]
        yield from limiter["resources"] if limiter is not None else []
