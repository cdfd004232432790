"""Asks the model that the client names, and passes its answer or its error on."""

import triton_python_backend_utils as pb_utils


class TritonPythonModel:
    def execute(self, requests):
        responses = []
        for request in requests:
            name = pb_utils.get_input_tensor_by_name(request, "MODEL").as_numpy()[0].decode()
            call = pb_utils.InferenceRequest(
                model_name=name,
                requested_output_names=["SUM", "DIFFERENCE"],
                inputs=[pb_utils.get_input_tensor_by_name(request, tensor) for tensor in ("A", "B")],
            )
            answer = call.exec()
            if answer.has_error():
                responses.append(pb_utils.InferenceResponse(error=pb_utils.TritonError(answer.error().message())))
            else:
                responses.append(pb_utils.InferenceResponse(output_tensors=answer.output_tensors()))
        return responses
