"""Adds up what a decoupled model streams."""

import numpy as np
import triton_python_backend_utils as pb_utils


class TritonPythonModel:
    def execute(self, requests):
        responses = []
        for request in requests:
            call = pb_utils.InferenceRequest(
                model_name="squares",
                requested_output_names=["OUT"],
                inputs=[pb_utils.Tensor("IN", pb_utils.get_input_tensor_by_name(request, "N").as_numpy())],
            )
            values = []
            for answer in call.exec(decoupled=True):
                if answer.has_error():
                    raise pb_utils.TritonModelException(answer.error().message())
                if answer.output_tensors():  # the last one may be the final flag alone
                    values.append(int(pb_utils.get_output_tensor_by_name(answer, "OUT").as_numpy()[0]))
            tensors = [
                pb_utils.Tensor("SUM", np.array([sum(values)], np.int32)),
                pb_utils.Tensor("RESPONSES", np.array([len(values)], np.int32)),
            ]
            responses.append(pb_utils.InferenceResponse(tensors))
        return responses
