"""Changes of the log's settings, as each protocol takes them; what was read before a refusal holds.

Source: HandleLogging of Triton's http_server.cc and RegisterLogging of its grpc_server.cc, 24.10.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from triton_pyb.emulator import rapid_json
from triton_pyb.emulator.validation import RequestRefused

_FILE = "log file location can not be updated through network protocol"
_FORMATS = ("default", "ISO8601")
#: Setting to how JSON gives it, in the order of reading.
_JSON: dict[str, Callable[[Any], Any]] = {
    "log_info": rapid_json.as_bool,
    "log_warning": rapid_json.as_bool,
    "log_error": rapid_json.as_bool,
    "log_verbose_level": rapid_json.as_unsigned,
    "log_format": rapid_json.as_text,
}
#: Setting to its field in gRPC's message, and what a refusal calls that.
_FIELDS = {
    "log_info": ("bool_param", "boolean"),
    "log_warning": ("bool_param", "boolean"),
    "log_error": ("bool_param", "boolean"),
    "log_verbose_level": ("uint32_param", "int32"),
    "log_format": ("string_param", "string"),
}


def update_from_json(settings: dict[str, Any], document: Any) -> None:
    """Take over what an HTTP body asks for; members of other names are nobody's business.

    Raises
    ------
    RequestRefused
    """
    asked = document if isinstance(document, dict) else {}
    if asked.get("log_file") is not None:
        raise RequestRefused(_FILE, "UNSUPPORTED")
    for name, read in _JSON.items():
        if asked.get(name) is not None:
            value = read(asked[name])
            if name == "log_format" and value not in _FORMATS:
                raise RequestRefused(f"invalid argument for --log_format, got: {value}", "UNAVAILABLE")
            settings[name] = value


def update_from_message(settings: dict[str, Any], asked: Any) -> None:
    """Take over the ``settings`` of a ``LogSettingsRequest``.

    Raises
    ------
    RequestRefused
    """
    if "log_file" in asked:
        raise RequestRefused(_FILE, "UNSUPPORTED")
    for name, (field, words) in _FIELDS.items():
        if name in asked:
            if asked[name].WhichOneof("parameter_choice") != field:
                raise RequestRefused(f"expect {words} for '{name}'")
            value = getattr(asked[name], field)
            if name == "log_format" and value not in _FORMATS:
                raise RequestRefused(f"invalid argument for log_format, got: {value}")
            settings[name] = value
