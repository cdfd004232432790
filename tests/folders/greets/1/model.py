"""Text in and out, an optional input, request parameters, log lines, and errors with codes."""

import json

import numpy as np
import triton_python_backend_utils as pb_utils


class TritonPythonModel:
    def initialize(self, args):
        self.codes = {
            b"nobody": pb_utils.TritonError.NOT_FOUND,
            b"busy": pb_utils.TritonError.UNAVAILABLE,
            b"cancelled": pb_utils.TritonError.CANCELLED,
            b"strange": pb_utils.TritonError.UNSUPPORTED,
        }

    def execute(self, requests):
        return [self.answer(request) for request in requests]

    def answer(self, request):
        names = pb_utils.get_input_tensor_by_name(request, "NAME").as_numpy()
        for name in names[:, 0]:
            if name in self.codes:
                return pb_utils.InferenceResponse(error=pb_utils.TritonError(f"no {name.decode()}", self.codes[name]))
            if name == b"raise":
                raise ValueError("no such name")
        given = pb_utils.get_input_tensor_by_name(request, "GREETING")
        greetings = given.as_numpy() if given is not None else np.array([[b"hello"]] * len(names), dtype=object)
        pb_utils.Logger.log_info(f"greeting {len(names)}")
        texts = [[greetings[row, 0] + b" " + name] for row, name in enumerate(names[:, 0])]
        parameters = json.dumps(json.loads(request.parameters()), sort_keys=True)
        tensors = [
            pb_utils.Tensor("TEXT", np.array(texts, dtype=object)),
            pb_utils.Tensor("PARAMETERS", np.array([[parameters]] * len(names), dtype=object)),
        ]
        return pb_utils.InferenceResponse(tensors)
