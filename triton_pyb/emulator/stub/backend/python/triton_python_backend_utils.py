"""The Python half of pb_utils; the stub adds the C++ classes after it has imported model.py."""
# Every global here is a public name of pb_utils: nothing to write annotations with can be imported.
# mypy: ignore-errors

import json
import struct

import numpy as np

TRITON_STRING_TO_NUMPY = {
    "TYPE_BOOL": bool,
    "TYPE_UINT8": np.uint8,
    "TYPE_UINT16": np.uint16,
    "TYPE_UINT32": np.uint32,
    "TYPE_UINT64": np.uint64,
    "TYPE_INT8": np.int8,
    "TYPE_INT16": np.int16,
    "TYPE_INT32": np.int32,
    "TYPE_INT64": np.int64,
    "TYPE_FP16": np.float16,
    "TYPE_FP32": np.float32,
    "TYPE_FP64": np.float64,
    "TYPE_STRING": np.object_,
}

TRITONSERVER_REQUEST_FLAG_SEQUENCE_START = 1
TRITONSERVER_REQUEST_FLAG_SEQUENCE_END = 2
TRITONSERVER_RESPONSE_COMPLETE_FINAL = 1
TRITONSERVER_REQUEST_RELEASE_ALL = 1
TRITONSERVER_REQUEST_RELEASE_RESCHEDULE = 2


def serialize_byte_tensor(input_tensor):
    """Bytes of an object or S array, each element after its length; () when empty, None for other dtypes."""
    if input_tensor.size == 0:
        return ()
    if input_tensor.dtype != object and input_tensor.dtype.type != np.bytes_:
        return None
    parts = []
    for element in np.nditer(input_tensor, flags=["refs_ok"], order="C"):
        item = element.item()
        data = item if type(item) == bytes else str(item).encode("utf-8")  # noqa: E721 (exact type, as upstream)
        parts.append(struct.pack("<I", len(data)))
        parts.append(data)
    return b"".join(parts)


def deserialize_bytes_tensor(encoded_tensor):
    """The 1-D object array of `bytes` that `serialize_byte_tensor` wrote."""
    elements = []
    buffer = encoded_tensor
    position = 0
    while position < len(buffer):
        (length,) = struct.unpack_from("<I", buffer, position)
        position += 4
        (element,) = struct.unpack_from(f"<{length}s", buffer, position)
        position += length
        elements.append(element)
    array = np.empty(len(elements), dtype=np.object_)
    array[:] = elements
    return array


def get_input_tensor_by_name(inference_request, name):
    """The first input of that name, or None."""
    for tensor in inference_request.inputs():
        if tensor.name() == name:
            return tensor
    return None


def get_output_tensor_by_name(inference_response, name):
    """The first output of that name, or None."""
    for tensor in inference_response.output_tensors():
        if tensor.name() == name:
            return tensor
    return None


def get_input_config_by_name(model_config, name):
    """The first entry of `input` of that name, or None; the entry itself."""
    if "input" in model_config:
        for entry in model_config["input"]:
            if entry["name"] == name:
                return entry
    return None


def get_output_config_by_name(model_config, name):
    """The first entry of `output` of that name, or None; the entry itself."""
    if "output" in model_config:
        for entry in model_config["output"]:
            if entry["name"] == name:
                return entry
    return None


def using_decoupled_model_transaction_policy(model_config):
    """Whether the configuration says decoupled."""
    if "model_transaction_policy" in model_config:
        return model_config["model_transaction_policy"]["decoupled"]
    return False


def triton_to_numpy_type(data_type):
    """The numpy type of a number of the C API, None for an unknown one."""
    numbered = [np.bool_, np.uint8, np.uint16, np.uint32, np.uint64, np.int8, np.int16, np.int32, np.int64]
    numbered += [np.float16, np.float32, np.float64, np.object_]
    for number, numpy_type in enumerate(numbered, start=1):
        if data_type == number:
            return numpy_type
    return None


def numpy_to_triton_type(data_type):
    """The number of a numpy dtype or scalar type, None for an unknown one."""
    numbered = [np.bool_, np.uint8, np.uint16, np.uint32, np.uint64, np.int8, np.int16, np.int32, np.int64]
    numbered += [np.float16, np.float32, np.float64, np.object_]
    for number, numpy_type in enumerate(numbered, start=1):
        if data_type == numpy_type:
            return number
    return 13 if data_type == np.bytes_ else None


def triton_string_to_numpy(triton_type_string):
    """The numpy type of a TYPE_ name; KeyError for an unknown one."""
    return TRITON_STRING_TO_NUMPY[triton_type_string]


def build():
    """The class, with its helpers out of sight: pb_utils shows no other name."""

    def problem_of(work, config, kind, entry, allowed):
        # Returned, not raised here: in a traceback the method that was called stands alone.
        try:
            work(config, kind, entry, allowed)
        except Exception as problem:
            return problem.with_traceback(None)

    def add(config, kind, entry, allowed):
        model = config["name"]
        where = " in auto-complete-config function for model '" + model + "' "
        for key in entry:
            if key not in allowed:
                listed = ", ".join("'" + word + "'" for word in allowed[:-1]) + " and '" + allowed[-1] + "'."
                raise ValueError(kind + " '" + entry["name"] + "'" + where + "contains property other than " + listed)
        if "name" not in entry:
            raise ValueError(kind + where + "is missing 'name' property.")
        for key in ("data_type", "dims"):
            if key not in entry:
                raise ValueError(kind + " '" + entry["name"] + "'" + where + "is missing '" + key + "' property.")
        for current in config[kind]:
            if current["name"] == entry["name"]:
                complete(config, kind, current, entry)
                return
        config[kind].append(entry)

    def complete(config, kind, current, entry):
        model, name = config["name"], entry["name"]
        if current["data_type"] != "TYPE_INVALID":
            if current["data_type"] != entry["data_type"]:
                raise ValueError(
                    "unable to load model '"
                    + model
                    + "', configuration expects datatype "
                    + current["data_type"]
                    + " for "
                    + kind
                    + " '"
                    + name
                    + "', model provides "
                    + entry["data_type"]
                )
        else:
            current["data_type"] = entry["data_type"]
        if current["dims"]:
            if current["dims"] != entry["dims"]:
                raise ValueError(
                    "model '"
                    + model
                    + "', tensor '"
                    + name
                    + "': the model expects dims "
                    + str(entry["dims"])
                    + " but the model configuration specifies dims "
                    + str(current["dims"])
                )
        else:
            current["dims"] = entry["dims"]
        if kind == "input" and "optional" in entry:
            if "optional" in current and current["optional"] != entry["optional"]:
                raise ValueError(
                    "model '"
                    + model
                    + "', tensor '"
                    + name
                    + "': the model expects optional "
                    + str(entry["optional"])
                    + " but the model configuration specifies optional "
                    + str(current["optional"])
                )
            current["optional"] = entry["optional"]

    class ModelConfig:
        """The configuration that `auto_complete_config` edits."""

        __qualname__ = "ModelConfig"

        def __init__(self, model_config):
            self._model_config = json.loads(model_config)

        def as_dict(self):
            """The live dict."""
            return self._model_config

        def set_max_batch_size(self, max_batch_size):
            """Set it, or raise ValueError when the configuration already asks for more."""
            current = self._model_config["max_batch_size"]
            if current > max_batch_size:
                raise ValueError(
                    "configuration specified max_batch_size "
                    + str(current)
                    + ", but in auto-complete-config function for model '"
                    + self._model_config["name"]
                    + "' specified max_batch_size "
                    + str(max_batch_size)
                )
            self._model_config["max_batch_size"] = max_batch_size

        def set_dynamic_batching(self):
            """Choose dynamic batching unless another scheduler is chosen."""
            for other in ("sequence_batching", "ensemble_scheduling"):
                if other in self._model_config:
                    raise ValueError(
                        "Configuration specified scheduling_choice as '"
                        + other
                        + "', but auto-complete-config function for model '"
                        + self._model_config["name"]
                        + "' tries to set scheduling_choice as 'dynamic_batching'"
                    )
            if "dynamic_batching" not in self._model_config:
                self._model_config["dynamic_batching"] = {}

        def add_input(self, input):
            """Add an input, or complete the one of that name."""
            problem = problem_of(add, self._model_config, "input", input, ["name", "data_type", "dims", "optional"])
            if problem is not None:
                raise problem

        def add_output(self, output):
            """Add an output, or complete the one of that name."""
            problem = problem_of(add, self._model_config, "output", output, ["name", "data_type", "dims"])
            if problem is not None:
                raise problem

        def set_model_transaction_policy(self, transaction_policy_dict):
            """Set `decoupled`; ValueError when it was set to something else."""
            for key in transaction_policy_dict.keys():
                if key != "decoupled":
                    raise ValueError(
                        "model transaction property in auto-complete-config function for model '"
                        + self._model_config["name"]
                        + "' contains property other than 'decoupled'."
                    )
            if "model_transaction_policy" not in self._model_config:
                self._model_config["model_transaction_policy"] = {}
            if "decoupled" in transaction_policy_dict:
                policy = self._model_config["model_transaction_policy"]
                wanted = transaction_policy_dict["decoupled"]
                if "decoupled" in policy and policy["decoupled"] != wanted:
                    raise ValueError(
                        "trying to change decoupled property in auto-complete-config for model '"
                        + self._model_config["name"]
                        + "', which is already set to '"
                        + str(policy["decoupled"])
                        + "'."
                    )
                policy["decoupled"] = wanted

    for name, method in vars(ModelConfig).items():
        if callable(method):
            method.__qualname__ = "ModelConfig." + name
    return ModelConfig


ModelConfig = build()
del build
