"""Stands for a trained network: how dark and how bright a picture is."""

import numpy as np
import triton_python_backend_utils as pb_utils


class TritonPythonModel:
    def execute(self, requests):
        pixels = [pb_utils.get_input_tensor_by_name(request, "PIXELS").as_numpy() for request in requests]
        mean = np.concatenate(pixels).mean(axis=(1, 2, 3))
        scores = np.stack([-mean, mean], axis=1).astype(np.float32)
        responses = []
        for each in np.split(scores, np.cumsum([len(rows) for rows in pixels])[:-1]):
            responses.append(pb_utils.InferenceResponse([pb_utils.Tensor("SCORES", each)]))
        return responses
