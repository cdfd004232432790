"""Response parameters, which releases before 25.02 do not know."""

import triton_python_backend_utils as pb_utils


class TritonPythonModel:
    def execute(self, requests):
        responses = []
        for request in requests:
            x = pb_utils.get_input_tensor_by_name(request, "X").as_numpy()
            parameters = {"rows": len(x), "largest": str(x.max()), "even": bool((x % 2 == 0).all())}
            responses.append(pb_utils.InferenceResponse([pb_utils.Tensor("Y", x)], parameters=parameters))
        return responses
