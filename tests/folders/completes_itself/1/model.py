"""No config.pbtxt: the model says itself what it takes and gives."""

import triton_python_backend_utils as pb_utils


class TritonPythonModel:
    @staticmethod
    def auto_complete_config(auto_complete_model_config):
        known = auto_complete_model_config.as_dict()
        names = [tensor["name"] for tensor in known["input"] + known["output"]]
        if "X" not in names:
            auto_complete_model_config.add_input({"name": "X", "data_type": "TYPE_INT32", "dims": [-1]})
        if "LENGTH" not in names:
            auto_complete_model_config.add_output({"name": "LENGTH", "data_type": "TYPE_INT32", "dims": [1]})
        auto_complete_model_config.set_max_batch_size(4)
        auto_complete_model_config.set_dynamic_batching()
        return auto_complete_model_config

    def execute(self, requests):
        responses = []
        for request in requests:
            x = pb_utils.get_input_tensor_by_name(request, "X").as_numpy()
            length = (x * 0).sum(axis=1, keepdims=True, dtype="int32") + x.shape[1]
            responses.append(pb_utils.InferenceResponse([pb_utils.Tensor("LENGTH", length.astype("int32"))]))
        return responses
