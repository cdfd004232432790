"""What ``import triton_python_backend_utils as pb_utils`` gives a model, up to release 26.07.

The C++ names, imported here from ``c_python_backend_utils``, and `get_model_dir` are not there yet while model.py
is being imported: use them inside functions, and annotations only under ``from __future__ import annotations``.
"""

from collections.abc import Mapping
from typing import Any, Final

import numpy as np
from c_python_backend_utils import TRITONSERVER_MEMORY_CPU as TRITONSERVER_MEMORY_CPU
from c_python_backend_utils import TRITONSERVER_MEMORY_GPU as TRITONSERVER_MEMORY_GPU
from c_python_backend_utils import InferenceRequest as InferenceRequest
from c_python_backend_utils import InferenceResponse as InferenceResponse
from c_python_backend_utils import Logger as Logger
from c_python_backend_utils import MetricFamily as MetricFamily
from c_python_backend_utils import PreferredMemory as PreferredMemory
from c_python_backend_utils import Tensor as Tensor
from c_python_backend_utils import TritonError as TritonError
from c_python_backend_utils import TritonModelException as TritonModelException
from c_python_backend_utils import is_model_ready as is_model_ready
from c_python_backend_utils import load_model as load_model
from c_python_backend_utils import unload_model as unload_model
from numpy.typing import NDArray

# The values are `bool` and numpy's scalar types. `type[np.generic]` would be truer, but no arithmetic works on the
# arrays that numpy's own types make of it.
TRITON_STRING_TO_NUMPY: dict[str, type[Any]]

TRITONSERVER_REQUEST_FLAG_SEQUENCE_START: Final = 1
"""Since 22.02."""
TRITONSERVER_REQUEST_FLAG_SEQUENCE_END: Final = 2
"""Since 22.02."""
TRITONSERVER_RESPONSE_COMPLETE_FINAL: Final = 1
"""Since 22.05."""
TRITONSERVER_REQUEST_RELEASE_ALL: Final = 1
"""Since 23.11."""
TRITONSERVER_REQUEST_RELEASE_RESCHEDULE: Final = 2
"""Since 23.11."""

def serialize_byte_tensor(input_tensor: NDArray[Any]) -> bytes | tuple[()] | None:
    """Each element of an object or S array in C order, after its length as 4 bytes, little endian.

    ``()`` where there are no elements, None for other dtypes.
    """

def deserialize_bytes_tensor(encoded_tensor: bytes | bytearray | memoryview) -> NDArray[np.object_]:
    """The elements as bytes, in one dimension; `struct.error` where the text ends early."""

def get_input_tensor_by_name(inference_request: InferenceRequest, name: str) -> Tensor | None:
    """The first input of that name; None where the request has none, as with optional inputs."""

def get_output_tensor_by_name(inference_response: InferenceResponse, name: str) -> Tensor | None:
    """The first output of that name; None where the response has none, as with an error."""

def get_input_config_by_name(model_config: Mapping[str, Any], name: str) -> dict[str, Any] | None:
    """The entry itself. `model_config` is what `json.loads` makes of ``args["model_config"]``."""

def get_output_config_by_name(model_config: Mapping[str, Any], name: str) -> dict[str, Any] | None:
    """The entry itself. `model_config` is what `json.loads` makes of ``args["model_config"]``."""

def using_decoupled_model_transaction_policy(model_config: Mapping[str, Any]) -> bool:
    """KeyError where the policy is there without ``decoupled``. Since 22.05."""

def triton_to_numpy_type(data_type: int) -> type[Any] | None:
    """The numpy type of a number of the C API: 1 is bool, 11 is float32, 13 is object; None for others."""

def numpy_to_triton_type(data_type: np.dtype[Any] | type[np.generic]) -> int | None:
    """The number that `triton_to_numpy_type` takes. None for others, and for ``np.dtype("S4")``."""

def triton_string_to_numpy(triton_type_string: str) -> type[Any]:
    """The type of ``"TYPE_FP32"``; KeyError for others, and for TYPE_BF16."""

def get_model_dir() -> str:
    """The folder of the version, ``<repository>/<model>/<version>``. Since 23.07."""

class ModelConfig:
    """What `auto_complete_config` gets, edits and returns. Since 22.06.

    Only `max_batch_size`, inputs, outputs, dynamic batching and the transaction policy are read back by the server.
    All methods raise ValueError where the configuration already says something else.
    """

    def __init__(self, model_config: str | bytes | bytearray) -> None:
        """`model_config` is JSON text."""

    def as_dict(self) -> dict[str, Any]:
        """The live dict, not a copy."""

    def set_max_batch_size(self, max_batch_size: int) -> None: ...
    def set_dynamic_batching(self) -> None: ...
    def add_input(self, input: dict[str, Any]) -> None:
        """Add ``{"name": ..., "data_type": "TYPE_FP32", "dims": [...]}``; ``"optional": True`` since 23.11."""

    def add_output(self, output: dict[str, Any]) -> None:
        """Add ``{"name": ..., "data_type": "TYPE_FP32", "dims": [...]}``, no other keys."""

    def set_model_transaction_policy(self, transaction_policy_dict: dict[str, bool]) -> None:
        """``{"decoupled": True}``, no other keys. Since 23.11."""
