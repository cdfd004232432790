"""Scores to the names that the configuration's parameters list."""

import json

import numpy as np
import triton_python_backend_utils as pb_utils


class TritonPythonModel:
    def initialize(self, args):
        parameters = json.loads(args["model_config"])["parameters"]
        self.classes = parameters["classes"]["string_value"].split(",")

    def execute(self, requests):
        responses = []
        for request in requests:
            scores = pb_utils.get_input_tensor_by_name(request, "SCORES").as_numpy()
            names = np.array([[self.classes[index]] for index in scores.argmax(axis=1)], dtype=object)
            responses.append(pb_utils.InferenceResponse([pb_utils.Tensor("CLASS", names)]))
        return responses
