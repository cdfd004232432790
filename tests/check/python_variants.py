"""Ways to write a model.py, with the verdict of a real Triton 24.10 on each (Python 3.11)."""

# ruff: noqa: E501  (a table of short texts)

from __future__ import annotations

from tests.check.examples import INPUT, MODEL_PY, OUTPUT, Files, hook, method

CONFIG = 'backend: "python"\nmax_batch_size: 8\n' + INPUT + OUTPUT
VARIANTS: dict[str, Files] = {}


def add(name: str, source: str, config: str = CONFIG, **more: str) -> None:
    """One model folder; `more` are further files in it."""
    files = {f"{name}/{path}": text for path, text in more.items()}
    VARIANTS[name] = {f"{name}/config.pbtxt": config, f"{name}/1/model.py": source, **files}


add("import_cls", "from impl import TritonPythonModel\n", **{"1/impl.py": MODEL_PY})
add(
    "base_cls",
    "from impl import Base\nclass TritonPythonModel(Base):\n    pass\n",
    **{"1/impl.py": MODEL_PY.replace("TritonPythonModel", "Base")},
)
add("ac_self", method("def auto_complete_config(self, c):\n    return c"))
add("fin_arity", method("def finalize(self, a):\n    pass"))
add("exec_arity", MODEL_PY.replace("self, requests", "self"))
add("main_guard", MODEL_PY + '\nif __name__ == "__main__":\n    raise SystemExit(pb_utils.Tensor)\n')
add("undef_body", MODEL_PY + "\n    x = nothere\n")
add("assert_init", method('def initialize(self, args):\n    assert False, "x"'))
add("exit_init", method("def initialize(self, args):\n    exit()"))
add("sysexit_imp", "import sys\nsys.exit(2)\n" + MODEL_PY)
add("raise_body", MODEL_PY + '\n    raise ValueError("b")\n')
add("lazy_imp", method("def initialize(self, args):\n    import nothere_x"))
add("lazy_exec", MODEL_PY.replace("rows = ", "import nothere_x; rows = "))
add("deflt", MODEL_PY.replace("self, requests", "self, requests, t=pb_utils.Tensor"))
add("deco", MODEL_PY.replace("    def execute", "    @pb_utils.Logger\n    def execute"))
add("async_init", method('async def initialize(self, args):\n    raise ValueError("never run")'))
add("lambda_pb", "import triton_python_backend_utils as pb_utils\nf = lambda: pb_utils.Tensor\n" + MODEL_PY)
add("cls_attr", MODEL_PY + "\n    T = pb_utils.Tensor\n")
add("local_ann", method("def initialize(self, args):\n    x: pb_utils.Tenzor = 1"))
add("star", "from impl import *\n", **{"1/impl.py": MODEL_PY})
add(
    "factory",
    "import triton_python_backend_utils as pb_utils\nclass M:\n    def execute(self, r):\n        return []\ndef TritonPythonModel():\n    return M()\n",
)
add("varargs", method("def initialize(*args):\n    pass"))
add("kwonly", method("def initialize(self, args, *, x):\n    pass"))
add("static_init", method("@staticmethod\ndef initialize(args):\n    pass"))
add(
    "tryexc",
    method("def initialize(self, args):\n    try:\n        raise ValueError()\n    except ValueError:\n        pass"),
)
add("condret", method("def initialize(self, args):\n    if args:\n        return\n    raise ValueError()"))
add("badkey", method("def initialize(self, args):\n    x = args['model_path']"))
add("getkey", method("def initialize(self, args):\n    x = args.get('model_path')"))
add(
    "cfgname",
    "import json\n"
    + method(
        "def initialize(self, args):\n    c = json.loads(args['model_config'])\n    o = pb_utils.get_output_config_by_name(c, 'NOPE')\n    self.t = o['data_type']"
    ),
)
add(
    "cfgname_ok",
    "import json\n"
    + method(
        "def initialize(self, args):\n    c = json.loads(args['model_config'])\n    o = pb_utils.get_output_config_by_name(c, 'NOPE')"
    ),
)
add(
    "bls_init",
    method(
        "def initialize(self, args):\n    r = pb_utils.InferenceRequest(model_name='x', requested_output_names=['y'], inputs=[])\n    r.exec()"
    ),
)
add("np_float", method("def initialize(self, args):\n    self.t = np.float"))
add(
    "loop_ac",
    hook(
        "ins = [{'name': 'IN', 'data_type': 'TYPE_FP32', 'dims': [4]}, {'name': 'B', 'data_type': 'TYPE_FP32', 'dims': [4]}]\nfor i in ins:\n    config.add_input(i)\nreturn config"
    ),
)
add(
    "cond_ac",
    hook(
        "names = [i['name'] for i in config.as_dict()['input']]\nif 'IN' not in names:\n    config.add_input({'name': 'IN', 'data_type': 'TYPE_INT32', 'dims': [4]})\nreturn config"
    ),
)
add(
    "opt_ac",
    hook("config.add_input({'name': 'IN', 'data_type': 'TYPE_FP32', 'dims': [4], 'optional': True})\nreturn config"),
)
add("none_ac", hook("if config:\n    return config"))
add("ac_none", hook("if not config:\n    return config"))
add("ac_dec_false", hook("config.set_model_transaction_policy({'decoupled': False})\nreturn config"))
add("ac_mbs16", hook("config.set_max_batch_size(16)\nreturn config"))
add(
    "ac_out_opt",
    hook("config.add_output({'name': 'OUT', 'data_type': 'TYPE_FP32', 'dims': [4], 'optional': True})\nreturn config"),
)
add("ac_dims_tuple", hook("config.add_input({'name': 'IN', 'data_type': 'TYPE_FP32', 'dims': (4,)})\nreturn config"))
add(
    "ac_const",
    "D = [5]\n" + hook("config.add_input({'name': 'IN', 'data_type': 'TYPE_FP32', 'dims': D})\nreturn config"),
)
add(
    "ac_nodtype_cfg",
    hook("config.add_input({'name': 'IN', 'data_type': 'TYPE_FP32', 'dims': [4]})\nreturn config"),
    config='backend: "python"\ninput { name: "IN" }\n' + OUTPUT,
)
add("nodtype_cfg", MODEL_PY, config='backend: "python"\ninput { name: "IN" dims: [ 4 ] }\n' + OUTPUT)
add("ver_lead0", MODEL_PY, **{"00/x": "x", "0/model.py": MODEL_PY})
add("helper_syntax", "import helper_s\n" + MODEL_PY, **{"1/helper_s.py": "def (:\n"})
add("helper_missing_deep", "import helper_d\n" + MODEL_PY, **{"1/helper_d.py": "import notthere_deep\n"})
add("helper_in_model", "import helper_m\n" + MODEL_PY, **{"helper_m.py": "x = 1\n"})
add("pkg_sub", "from pkg.sub import x\n" + MODEL_PY, **{"1/pkg/sub.py": "x = 1\n"})
add("pkg_nosub", "from pkg.nosub import x\n" + MODEL_PY, **{"1/pkg/__init__.py": ""})
add(
    "rel_in_helper",
    "import helper_r\n" + MODEL_PY,
    **{"1/helper_r.py": "from .other import x\n", "1/other.py": "x=1\n"},
)
add(
    "rel_pkg",
    "from .pkg import a\n" + MODEL_PY,
    **{"1/pkg/__init__.py": "", "1/pkg/a.py": "from ..other import x\n", "1/other.py": "x=1\n"},
)

#: Those that did not load.
REFUSED = frozenset(
    {
        "ac_const",
        "ac_dims_tuple",
        "ac_none",
        "ac_out_opt",
        "ac_self",
        "assert_init",
        "badkey",
        "bls_init",
        "cfgname",
        "cls_attr",
        "deco",
        "deflt",
        "exit_init",
        "helper_missing_deep",
        "helper_syntax",
        "kwonly",
        "lazy_imp",
        "nodtype_cfg",
        "np_float",
        "opt_ac",
        "pkg_nosub",
        "raise_body",
        "rel_in_helper",
        "sysexit_imp",
        "undef_body",
    }
)
