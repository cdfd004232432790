"""Run a packaged model in this Python: ``python answer_requests.py VERSION_FOLDER NAME CONFIG INSTALLED``.

INSTALLED goes first on ``sys.path``: what else is installed under the same names must not win.

Reads requests as JSON lines from stdin and writes one JSON line of answers; 3.8 and newer, numpy only.
Text stands for TYPE_STRING, base64 behind "b64:" for bytes that are none.
"""
# Python 3.8
# mypy: disable-error-code="no-untyped-def, no-untyped-call"

import base64
import json
import os
import sys

import numpy as np

folder, model_name, config, installed = sys.argv[1:5]
here = os.path.dirname(os.path.abspath(__file__))
# As in Triton's stub: the backend's own folder and the model's folders come after what is installed.
sys.path.insert(0, installed)
sys.path.append(here)
sys.path.append(folder)

import triton_python_backend_utils as pb_utils  # noqa: E402  # after the path is set


def array(value, dtype):
    if dtype != "BYTES":
        return np.array(value, dtype)
    made = np.array(value, object)
    for index, text in np.ndenumerate(made):
        made[index] = base64.b64decode(text[4:]) if text.startswith("b64:") else text.encode()
    return made


def plain(tensor):
    values = tensor.as_numpy()
    if values.dtype == object:
        values = np.array([element.decode() for element in values.ravel()], object).reshape(values.shape)
    return {"dtype": str(tensor.as_numpy().dtype), "values": values.tolist()}


import model as packaged  # type: ignore[import-not-found]  # noqa: E402

instance = packaged.TritonPythonModel()
instance.initialize(
    {
        "model_config": config,
        "model_name": model_name,
        "model_instance_name": model_name + "_0",
        "model_instance_kind": "CPU",
        "model_instance_device_id": "0",
        "model_repository": os.path.dirname(folder),
        "model_version": "1",
    }
)
requests = [
    pb_utils.InferenceRequest(  # type: ignore[call-overload]  # the one beside this file is simpler
        {name: array(entry["values"], entry["dtype"]) for name, entry in request.items()},
        [output["name"] for output in json.loads(config)["output"]],
    )
    for request in json.load(sys.stdin)
]
answers = [
    {"error": response.error().message()}
    if response.has_error()
    else {tensor.name(): plain(tensor) for tensor in response.output_tensors()}
    for response in instance.execute(requests)
]
instance.finalize()
import triton_pyb  # noqa: E402

json.dump({"version": list(sys.version_info[:2]), "from": triton_pyb.__file__, "answers": answers}, sys.stdout)
