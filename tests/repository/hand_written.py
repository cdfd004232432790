"""Ten model repositories as people write them by hand."""

from __future__ import annotations

ECHO = """\
import json
import numpy as np
import triton_python_backend_utils as pb_utils


class TritonPythonModel:
    def initialize(self, args):
        config = json.loads(args["model_config"])
        self.scale = float(config.get("parameters", {}).get("scale", {}).get("string_value", "1"))

    def execute(self, requests):
        responses = []
        for request in requests:
            x = pb_utils.get_input_tensor_by_name(request, "X").as_numpy()
            responses.append(pb_utils.InferenceResponse([pb_utils.Tensor("Y", (x * self.scale).astype(x.dtype))]))
        return responses
"""

HELPED = ECHO.replace("import numpy as np", "import numpy as np\nfrom helper import SCALE").replace('"1"', "str(SCALE)")
TYPED = ECHO.replace("class T", "def f(x): return x\n\n\nclass T")
NO_CONFIG = (
    ECHO
    + """
    @staticmethod
    def auto_complete_config(config):
        config.add_input({"name": "X", "data_type": "TYPE_FP32", "dims": [2]})
        config.add_output({"name": "Y", "data_type": "TYPE_FP32", "dims": [2]})
        config.set_max_batch_size(4)
        return config
"""
)


def config(name: str, extra: str = "", batch: int = 8, dims: str = "[ 2 ]", backend: str = 'backend: "python"') -> str:
    """A config.pbtxt in a hand's style: comments, commas, and what comes last."""
    return f"""\
# {name}, by hand
name: "{name}"
{backend}
max_batch_size: {batch}
input [
  {{ name: "X", data_type: TYPE_FP32, dims: {dims} }}  # in
]
output [ {{ name: "Y" data_type: TYPE_FP32 dims: {dims} }} ]
{extra}
"""


def ensemble(name: str, steps: str, extra: str = "", batch: int = 8) -> str:
    return config(name, f"ensemble_scheduling {{ step [ {steps} ] }}\n{extra}", batch, backend='platform: "ensemble"')


def step(model: str, x: str, y: str, version: int = -1) -> str:
    return (
        f'{{ model_name: "{model}" model_version: {version} input_map {{ key: "X" value: "{x}" }} '
        f'output_map {{ key: "Y" value: "{y}" }} }}'
    )


OWNER = 'parameters { key: "owner" value { string_value: "me" } }'
SCALE_3 = 'parameters { key: "scale" value { string_value: "3" } }'
TWO = {
    "a/config.pbtxt": config("a", SCALE_3),
    "a/1/model.py": ECHO,
    "b/config.pbtxt": config("b", 'parameters: { key: "scale", value: { string_value: "0.5" } }'),
    "b/1/model.py": ECHO,
}

#: Name -> files; the model that is asked is ``entry``, or the only one.
REPOSITORIES: dict[str, dict[str, str]] = {
    "plain": {"m/config.pbtxt": config("m"), "m/1/model.py": ECHO},
    "without_name": {"m/config.pbtxt": config("m").replace('name: "m"\n', ""), "m/1/model.py": ECHO},
    "helper": {"m/config.pbtxt": config("m"), "m/1/model.py": HELPED, "m/1/helper.py": "SCALE = 4\n"},
    "without_config": {"m/1/model.py": NO_CONFIG},
    "versions": {
        "m/config.pbtxt": config("m", "version_policy { specific { versions: [ 1, 3 ] } }"),
        "m/1/model.py": ECHO,
        "m/3/model.py": TYPED,
    },
    "much": {
        "m/config.pbtxt": config(
            "m",
            "instance_group [ { count: 2 kind: KIND_CPU } ]\n"
            "dynamic_batching { preferred_batch_size: [ 4, 8 ] max_queue_delay_microseconds: 100 }\n"
            "model_warmup [ { name: \"w\" batch_size: 1 inputs { key: \"X\" value { data_type: TYPE_FP32 dims: [ 2 ] "
            "zero_data: true } } } ]\nresponse_cache { enable: false }\n" + SCALE_3,
        ),
        "m/1/model.py": ECHO,
    },
    "explicit": {"m/config.pbtxt": config("m", batch=0, dims="[ -1, 2 ]"), "m/1/model.py": ECHO},
    "ensemble": {**TWO, "entry/config.pbtxt": ensemble("entry", f'{step("a", "X", "MID")}, {step("b", "MID", "Y")}'),
                 "entry/1/.keep": ""},
    "backwards": {**TWO, "entry/config.pbtxt": ensemble(
        "entry", f'{step("b", "MID", "Y")}, {step("a", "X", "MID")}', OWNER),
        "entry/1/.keep": ""},
    "twice": {**TWO, "entry/config.pbtxt": ensemble(
        "entry", f'{step("a", "X", "ONE", 1)}, {step("a", "ONE", "TWO")}, {step("b", "TWO", "Y")}'),
        "entry/1/.keep": ""},
}  # fmt: skip
