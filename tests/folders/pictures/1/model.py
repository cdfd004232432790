"""Encoded pictures in, normalised planes out."""

import io

import numpy as np
import triton_python_backend_utils as pb_utils
from PIL import Image


class TritonPythonModel:
    def initialize(self, args):
        self.mean = np.array([0.485, 0.456, 0.406], np.float32)
        self.deviation = np.array([0.229, 0.224, 0.225], np.float32)

    def planes(self, encoded):
        picture = Image.open(io.BytesIO(encoded)).convert("RGB").resize((8, 8), Image.BILINEAR)
        pixels = np.asarray(picture, np.float32) / 255
        return ((pixels - self.mean) / self.deviation).transpose(2, 0, 1)

    def execute(self, requests):
        responses = []
        for request in requests:
            encoded = pb_utils.get_input_tensor_by_name(request, "PICTURE").as_numpy()
            try:
                pixels = np.stack([self.planes(each) for each in encoded[:, 0]])
            except OSError:
                error = pb_utils.TritonError("this is no picture", pb_utils.TritonError.INVALID_ARG)
                responses.append(pb_utils.InferenceResponse(error=error))
                continue
            responses.append(pb_utils.InferenceResponse([pb_utils.Tensor("PIXELS", pixels)]))
        return responses
