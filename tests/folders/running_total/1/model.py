"""A total for each sequence of requests, kept between them."""

import numpy as np
import triton_python_backend_utils as pb_utils


def control(request, name):
    return pb_utils.get_input_tensor_by_name(request, name).as_numpy().ravel()[0]


class TritonPythonModel:
    def initialize(self, args):
        self.totals = {}

    def execute(self, requests):
        responses = []
        for request in requests:
            sequence = int(control(request, "CORRID"))
            if control(request, "START"):
                self.totals[sequence] = (0, 0)
            total, seen = self.totals[sequence]
            x = pb_utils.get_input_tensor_by_name(request, "X").as_numpy()
            self.totals[sequence] = total, seen = total + int(x[0, 0]), seen + 1
            if control(request, "END"):
                del self.totals[sequence]
            tensors = [
                pb_utils.Tensor("TOTAL", np.array([[total]], np.int32)),
                pb_utils.Tensor("SEEN", np.array([[seen]], np.int32)),
            ]
            responses.append(pb_utils.InferenceResponse(tensors))
        return responses
