"""Three calls of one model that run at the same time."""

import asyncio

import triton_python_backend_utils as pb_utils


class TritonPythonModel:
    async def execute(self, requests):
        return [await self.answer(request) for request in requests]

    async def answer(self, request):
        a = pb_utils.get_input_tensor_by_name(request, "A").as_numpy()
        b = pb_utils.get_input_tensor_by_name(request, "B").as_numpy()
        calls = [
            pb_utils.InferenceRequest(
                model_name="add_sub",
                requested_output_names=["SUM"],
                inputs=[pb_utils.Tensor("A", a * factor), pb_utils.Tensor("B", b)],
            ).async_exec()
            for factor in (1, 2, 3)
        ]
        total = 0
        for answer in await asyncio.gather(*calls):
            if answer.has_error():
                raise pb_utils.TritonModelException(answer.error().message())
            total = total + pb_utils.get_output_tensor_by_name(answer, "SUM").as_numpy()
        return pb_utils.InferenceResponse([pb_utils.Tensor("SUM_OF_ALL", total)])
