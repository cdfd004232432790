"""What to do about errors whose cause is the way Triton starts Python: see `embedding`."""

from __future__ import annotations

import os
import re
from importlib.machinery import PathFinder

_ASCII = "Python inside this Triton works in ASCII, whatever it does elsewhere"
_READING = f"name the encoding, e.g. open(path, encoding='utf-8'): {_ASCII}"
_WRITING = (
    "name the encoding, e.g. open(path, 'w', encoding='utf-8'), or before printing "
    f"sys.stdout.reconfigure(encoding='utf-8'): {_ASCII}"
)
#: Texts that have one usual cause, and what to do about it.
_SIGNS = {
    "'NoneType' object has no attribute 'as_numpy'": "compare the names in model.py with config.pbtxt and the request:"
    " get_input_tensor_by_name and get_output_tensor_by_name give None for a name that is not there",
    "Tensor(arg0: str, arg1: numpy.ndarray)": "give pb_utils.Tensor a name and a numpy array, e.g. np.array(values)",
    "exceptions must derive from BaseException": "raise pb_utils.TritonModelException(message), or answer with"
    " pb_utils.InferenceResponse(error=pb_utils.TritonError(message))",
    "Number of InferenceResponse objects do not match": "return one InferenceResponse per request, in their order",
    "is not healthy.": "look for what ended the model's process: os._exit, a crash in a library, the memory's end",
}
_MISSING = re.compile(r"ModuleNotFoundError: No module named '(\w+)")


def fix_of_python(text: str) -> str:
    """The next thing to do about an error in `text` that the same code does not meet here; else an empty string."""
    if "UnicodeDecodeError: 'ascii' codec" in text:
        return _READING
    if "UnicodeEncodeError: 'ascii' codec" in text:
        return _WRITING
    missing = _MISSING.search(text)
    if missing:
        return _of_missing(missing[1])
    return next((fix for sign, fix in _SIGNS.items() if sign in text), "")


def _of_missing(module: str) -> str:
    found = PathFinder.find_spec(module)
    if found is None:
        return ""
    places = [os.path.dirname(found.origin)] if found.origin else []
    if found.submodule_search_locations is not None:
        places = [os.path.dirname(place) for place in found.submodule_search_locations]
    place = places[0] if places else ""
    on_path = [os.path.abspath(entry) for entry in os.environ.get("PYTHONPATH", "").split(os.pathsep) if entry]
    where = (
        f"'{module}' is in {place}, which only PYTHONPATH names" if place in on_path else f"'{module}' is in {place}"
    )
    return (
        f"{where}: the Python inside this Triton does not look there; put the module beside model.py, or install it"
        " where the models' Python looks"
    )
