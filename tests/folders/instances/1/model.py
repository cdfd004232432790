"""What an instance is told about where it runs."""

import numpy as np
import triton_python_backend_utils as pb_utils


class TritonPythonModel:
    def initialize(self, args):
        self.about = [args["model_instance_kind"], args["model_instance_device_id"], args["model_instance_name"][:-1]]

    def execute(self, requests):
        about = np.array(self.about, dtype=object)
        return [pb_utils.InferenceResponse([pb_utils.Tensor("ABOUT", about)]) for _ in requests]
