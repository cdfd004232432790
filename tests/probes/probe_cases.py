# ruff: noqa
# mypy: ignore-errors
"""Differential probes of triton_python_backend_utils (pb_utils).

Two kinds of probe live here.

PROBES        small functions  probe(pb, req) -> JSON-able.  They run inside execute() of a host
              model (HOST_SOURCE/HOST_CONFIG) - so BLS, metrics, load_model ... work - and get the
              pb_utils module and the *real* InferenceRequest that carried the call.  p.request is
              the documented request to send (defaults: DEFAULT_REQUEST, only the PROBE input).
              Run one against another pb_utils with  run_probe(name, pb_utils, request).
MODEL_PROBES  a whole model (source text + config) plus client calls; the result is what the client
              observes (outputs / exact error strings / stream) + load error + an optional marker
              file that the model wrote to $PROBE_OUT/<model>.json + selected server log lines.

HELPERS       models that PROBES/MODEL_PROBES need to be loaded (BLS targets, ensemble).

Every value goes through enc(); every exception through exc(): {"type": "module.qualname", "msg"}.
Memory addresses become 0xADDR.
"""
import json, math, re

# ------------------------------------------------------------------ encoding
_ADDR = re.compile(r"0x[0-9a-fA-F]{6,}")


def norm(s):
    return _ADDR.sub("0xADDR", s)


def tname(t):
    return f"{t.__module__}.{t.__qualname__}"


def enc(v, d=0):
    import numpy as np
    if d > 8:
        return {"deep": True}
    if v is None or isinstance(v, bool):
        return v
    if type(v) is str:
        try:
            v.encode("utf-8")
            return norm(v)
        except UnicodeEncodeError:
            return {"str_ascii": ascii(v)}
    if type(v) is int:
        return v
    if type(v) is float:
        return v if math.isfinite(v) else {"float": repr(v)}
    if type(v) in (bytes, bytearray):
        return {type(v).__name__: bytes(v[:400]).decode("latin1"), **({"len": len(v)} if len(v) > 400 else {})}
    if isinstance(v, np.ndarray):
        vals = v.ravel().tolist()
        return {"nd": v.dtype.str, "shape": list(v.shape), "v": [enc(x, d + 1) for x in vals[:64]],
                **({"cls": tname(type(v))} if type(v) is not np.ndarray else {})}
    if isinstance(v, np.generic):
        return {"np": v.dtype.str, "v": enc(v.item(), d + 1)}
    if isinstance(v, dict):
        return {(k if isinstance(k, str) else "k:" + repr(k)): enc(x, d + 1) for k, x in v.items()}
    if isinstance(v, list):
        return [enc(x, d + 1) for x in v]
    if isinstance(v, tuple):
        return {"tuple": [enc(x, d + 1) for x in v]}
    if isinstance(v, (set, frozenset)):
        return {"set": sorted((enc(x, d + 1) for x in v), key=str)}
    if isinstance(v, np.dtype):
        return {"dtype": v.str}
    if isinstance(v, type):
        return {"class": tname(v)}
    if isinstance(v, BaseException):
        return exc(v)
    t = type(v)
    if hasattr(t, "__members__"):
        return {"enum": repr(v), "int": int(v)}
    if t.__name__ == "PyCapsule":
        return {"capsule": norm(repr(v))}
    return {"obj": tname(t)}


def exc(e):
    return {"type": tname(type(e)), "msg": norm(str(e))}


PAUSE = [0.0]  # real 24.10 has a shared-memory race when metric / model-control calls follow each other too fast


def A(f, *a, **k):
    """attempt: {"ok": value} or {"raise": {...}}"""
    if PAUSE[0]:
        import time
        time.sleep(PAUSE[0])
    try:
        return {"ok": enc(f(*a, **k))}
    except BaseException as e:  # noqa
        return {"raise": exc(e)}


# ------------------------------------------------------------------ registry
class Probe:
    def __init__(self, name, fn, group, request, danger, note):
        self.name, self.fn, self.group, self.request, self.danger, self.note = name, fn, group, request, danger, note


PROBES = {}
DEFAULT_REQUEST = {"inputs": []}


def probe(group, request=None, danger=False, note=""):
    def deco(fn):
        assert fn.__name__ not in PROBES, fn.__name__
        PROBES[fn.__name__] = Probe(fn.__name__, fn, group, request or DEFAULT_REQUEST, danger, note or (fn.__doc__ or ""))
        return fn
    return deco


def run_probe(name, pb, req=None):
    import os
    PAUSE[0] = 0.08 if PROBES[name].group in ("metrics", "model_control") and os.environ.get("PROBE_OUT") else 0.0
    try:
        return {"result": enc(PROBES[name].fn(pb, req))}
    except BaseException as e:  # noqa
        return {"probe_raised": exc(e)}


HOST_CONFIG = dict(
    max_batch_size=0,
    inputs=[("PROBE", "TYPE_STRING", [1])] + [
        (n, t, [-1], True) for n, t in [
            ("X_FP32", "TYPE_FP32"), ("X_FP16", "TYPE_FP16"), ("X_FP64", "TYPE_FP64"), ("X_BF16", "TYPE_BF16"),
            ("X_INT8", "TYPE_INT8"), ("X_INT16", "TYPE_INT16"), ("X_INT32", "TYPE_INT32"), ("X_INT64", "TYPE_INT64"),
            ("X_UINT8", "TYPE_UINT8"), ("X_UINT16", "TYPE_UINT16"), ("X_UINT32", "TYPE_UINT32"),
            ("X_UINT64", "TYPE_UINT64"), ("X_BOOL", "TYPE_BOOL"), ("X_BYTES", "TYPE_STRING")]]
    + [("Y_FP32", "TYPE_FP32", [-1, -1], True), ("Y_BYTES", "TYPE_STRING", [-1, -1], True)],
    outputs=[("RESULT", "TYPE_STRING", [1]), ("EXTRA", "TYPE_FP32", [-1])],
)
HOST_SOURCE = '''
import json, os, sys
import numpy as np
import triton_python_backend_utils as pb_utils
sys.path.insert(0, os.environ["PROBE_CODE"])
import probe_cases

class TritonPythonModel:
    def execute(self, requests):
        out = []
        for r in requests:
            name = pb_utils.get_input_tensor_by_name(r, "PROBE").as_numpy().ravel()[0].decode()
            res = probe_cases.run_probe(name, pb_utils, r)
            out.append(pb_utils.InferenceResponse([pb_utils.Tensor("RESULT", np.array([json.dumps(res)], dtype=object))]))
        return out
'''

# ==================================================================== A. surface
CLASSES = ["Tensor", "InferenceRequest", "InferenceResponse", "TritonError", "TritonModelException", "Logger",
           "MetricFamily", "PreferredMemory", "ModelConfig"]


@probe("surface")
def surface_public_names(pb, req):
    "every non-dunder attribute of the module"
    return sorted(n for n in dir(pb) if not n.startswith("__"))




@probe("surface")
def surface_constants(pb, req):
    return {n: A(lambda n=n: getattr(pb, n)) for n in [
        "TRITONSERVER_REQUEST_FLAG_SEQUENCE_START", "TRITONSERVER_REQUEST_FLAG_SEQUENCE_END",
        "TRITONSERVER_RESPONSE_COMPLETE_FINAL", "TRITONSERVER_REQUEST_RELEASE_ALL",
        "TRITONSERVER_REQUEST_RELEASE_RESCHEDULE", "TRITONSERVER_MEMORY_GPU", "TRITONSERVER_MEMORY_CPU"]}


@probe("surface")
def surface_class_identity(pb, req):
    return {n: [tname(getattr(pb, n)), tname(type(getattr(pb, n))), [tname(c) for c in getattr(pb, n).__mro__]] for n in CLASSES}


@probe("surface")
def surface_class_attrs(pb, req):
    return {n: sorted(a for a in dir(getattr(pb, n)) if a not in dir(object)) for n in CLASSES}


@probe("surface")
def surface_signatures(pb, req):
    "the pybind11 docstrings = the exact signatures"
    out = {}
    for n in CLASSES:
        c = getattr(pb, n)
        out[n] = {a: norm(getattr(getattr(c, a), "__doc__", None) or "") for a in sorted(set(dir(c)) - set(dir(object)) | {"__init__"})
                  if callable(getattr(c, a, None))} if n not in ("ModelConfig", "TritonModelException") else {}
    for f in ["load_model", "unload_model", "is_model_ready", "get_model_dir"]:
        out[f] = A(lambda f=f: getattr(pb, f).__doc__)
    return out


@probe("surface")
def surface_c_module(pb, req):
    "the C++ module that hides the remaining classes"
    import c_python_backend_utils as c
    out = {"names": sorted(n for n in dir(c) if not n.startswith("__"))}
    for n in ("InferenceTrace", "InferenceResponseSender", "ResponseIterator", "Metric", "SharedMemory"):
        k = getattr(c, n, None)
        if k is not None:
            out[n] = {a: getattr(getattr(k, a), "__doc__", "") or "" for a in sorted(set(dir(k)) - set(dir(object)) | {"__init__"}) if callable(getattr(k, a, None))}
    return out


@probe("surface")
def surface_environment(pb, req):
    import sys, numpy, os
    return {"python": sys.version.split()[0], "numpy": numpy.__version__, "executable": os.path.basename(sys.executable or ""),
            "argv": A(lambda: [type(x).__name__ for x in sys.argv]), "main": __import__("__main__").__name__,
            "cwd_is_model_dir": os.getcwd() == pb.get_model_dir(), "threads": __import__("threading").current_thread().name}


@probe("surface")
def get_model_dir_value(pb, req):
    import os
    d = pb.get_model_dir()
    return {"type": type(d).__name__, "tail": d.split(os.sep)[-2:], "isabs": os.path.isabs(d), "args": A(lambda: pb.get_model_dir(1))}




# ==================================================================== B. Tensor
def _np():
    import numpy as np
    return np


NUMPY_DTYPES = ["bool", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64", "float16", "float32",
                "float64", "longlong", "ulonglong", "intc", "uintc", "float128", "complex64", "complex128", "datetime64[s]", "timedelta64[s]",
                "S", "S4", "U", "U4", "O", "V4", ">f4", ">i4", "<f4", ">u2", ">i8", "i4,f4"]


@probe("tensor_ctor")
def tensor_ctor_dtypes(pb, req):
    "Tensor('t', np.zeros(2, dtype)) for every numpy dtype: accepted? as_numpy dtype"
    np = _np()
    out = {}
    for d in NUMPY_DTYPES:
        def f():
            t = pb.Tensor("t", np.zeros(2, dtype=d))
            return [t.shape(), t.as_numpy().dtype.str]
        out[d] = A(f)
    return out


@probe("tensor_ctor")
def tensor_triton_dtype(pb, req):
    "triton_dtype() of a constructed tensor"
    np = _np()
    return {d: A(lambda d=d: pb.Tensor("t", np.zeros(1, dtype=d)).triton_dtype()) for d in ("float32", "int32", "O", "bool")}


@probe("tensor_ctor")
def tensor_ctor_name_variants(pb, req):
    np = _np()
    a = np.zeros(1, np.float32)
    return {k: A(lambda v=v: pb.Tensor(v, a).name()) for k, v in
            {"empty": "", "none": None, "int": 3, "bytes": b"raw", "npstr": np.str_("n"), "unicode": "naïve-名", "space": " ", "nul": "a\0b",
             "bytearray": bytearray(b"x")}.items()}


@probe("tensor_ctor")
def tensor_ctor_kwargs(pb, req):
    "argument names do not exist"
    np = _np()
    a = np.zeros(1, np.float32)
    return {"kw": A(lambda: pb.Tensor(name="n", numpy_array=a)), "one": A(lambda: pb.Tensor("n")), "none": A(lambda: pb.Tensor()),
            "swapped": A(lambda: pb.Tensor(a, "n")), "three": A(lambda: pb.Tensor("n", a, 1))}


@probe("tensor_ctor")
def tensor_ctor_non_arrays(pb, req):
    np = _np()
    return {k: A(lambda v=v: pb.Tensor("n", v).as_numpy()) for k, v in
            {"list": [1.0], "tuple": (1,), "float": 1.0, "npfloat32": np.float32(1), "none": None, "bytes": b"x", "memoryview": memoryview(b"abc"),
             "tensor": pb.Tensor("z", np.zeros(1)), "str": "abc", "array_iface": type("AI", (), {"__array__": lambda self, dtype=None: np.zeros(1)})()}.items()}


@probe("tensor_ctor")
def tensor_ctor_subclasses(pb, req):
    np = _np()

    def masked():
        return pb.Tensor("n", np.ma.array([1.0, 2.0], mask=[0, 1], dtype="f4")).as_numpy()

    def matrix():
        return pb.Tensor("n", np.asmatrix(np.eye(2, dtype="f4"))).as_numpy()

    def recarray():
        return pb.Tensor("n", np.zeros(2, dtype="f4").view(np.recarray)).as_numpy()
    return {"masked": A(masked), "matrix": A(matrix), "recarray": A(recarray)}


@probe("tensor_ctor")
def tensor_ctor_zero_dim(pb, req):
    np = _np()

    def f(a):
        t = pb.Tensor("n", a)
        return [t.shape(), t.as_numpy()]
    return {"f4": A(f, np.array(2.5, np.float32)), "obj_str": A(f, np.array("s", dtype=object)), "obj_bytes": A(f, np.array(b"s", dtype=object)), "S": A(f, np.array(b"s"))}


@probe("tensor_ctor")
def tensor_ctor_empty(pb, req):
    np = _np()

    def f(a):
        t = pb.Tensor("n", a)
        return [t.shape(), t.as_numpy()]
    return {"f4_0": A(f, np.zeros(0, "f4")), "f4_0_3": A(f, np.zeros((0, 3), "f4")), "f4_2_0": A(f, np.zeros((2, 0), "f4")),
            "obj_0": A(f, np.array([], dtype=object)), "S_0": A(f, np.array([], dtype="S3")), "obj_0_2": A(f, np.zeros((0, 2), object))}


@probe("tensor_ctor")
def tensor_identity_contiguous(pb, req):
    "as_numpy() IS the array that was passed (no copy)"
    np = _np()
    a = np.arange(6, dtype="f4").reshape(2, 3)
    t = pb.Tensor("n", a)
    b = t.as_numpy()
    a[0, 0] = 99
    return {"is": b is a, "second_call_is": t.as_numpy() is b, "shares": bool(np.shares_memory(a, b)), "sees_mutation": float(t.as_numpy()[0, 0]),
            "writeable": b.flags.writeable, "owndata": b.flags.owndata}


@probe("tensor_ctor")
def tensor_identity_noncontiguous(pb, req):
    "non C-contiguous input is copied to C order; the caller's array is untouched"
    np = _np()
    out = {}
    base = np.arange(12, dtype="f4").reshape(3, 4)
    for k, a in {"slice": base[:, ::2], "transpose": base.T, "fortran": np.asfortranarray(base), "negstride": base[::-1], "broadcast": np.broadcast_to(np.float32(3), (2, 2)),
                 "row_slice_contig": base[1:2], "1d_stride": np.arange(8, dtype="f4")[::2]}.items():
        def f(a=a):
            t = pb.Tensor("n", a)
            b = t.as_numpy()
            return {"is": b is a, "shares": bool(np.shares_memory(a, b)), "c": b.flags.c_contiguous, "f": b.flags.f_contiguous, "w": b.flags.writeable,
                    "equal": bool((b == a).all()), "shape": t.shape(), "caller_still_same_strides": list(a.strides) != list(b.strides) or b is a}
        out[k] = A(f)
    return out


@probe("tensor_ctor")
def tensor_fortran_objects(pb, req):
    np = _np()
    a = np.array([["a", "b"], ["c", "d"]], dtype=object, order="F")
    t = pb.Tensor("n", a)
    return {"is": t.as_numpy() is a, "v": t.as_numpy(), "ser": A(lambda: pb.serialize_byte_tensor(a))}


@probe("tensor_ctor")
def tensor_readonly(pb, req):
    np = _np()
    a = np.arange(3, dtype="f4")
    a.flags.writeable = False
    t = pb.Tensor("n", a)
    b = np.frombuffer(b"\0\0\x80?", dtype="f4")
    return {"w": t.as_numpy().flags.writeable, "is": t.as_numpy() is a, "frombuffer": A(lambda: pb.Tensor("n", b).as_numpy().flags.writeable)}




@probe("tensor_ctor")
def tensor_object_weird_elements(pb, req):
    "object elements that are not str/bytes are accepted"
    np = _np()
    out = {}
    for k, v in {"int": 1, "float": 1.5, "none": None, "bytearray": bytearray(b"ab"), "npbytes": np.bytes_(b"ab"), "npstr": np.str_("ab"),
                 "list": [1, 2], "dict": {"a": 1}, "bool": True, "surrogate": "\udc80", "memoryview": memoryview(b"ab"), "nan": float("nan")}.items():
        def f(v=v):
            a = np.empty(1, dtype=object)
            a[0] = v
            pb.Tensor("n", a)
            return "accepted"
        out[k] = A(f)
    return out




@probe("tensor_ctor")
def tensor_S_dtype(pb, req):
    np = _np()
    a = np.array([b"ab", b"c", b"\0x", b"y\0"], dtype="S4")
    t = pb.Tensor("n", a)
    return {"is": t.as_numpy() is a, "dtype": t.as_numpy().dtype.str, "dtypeS0": A(lambda: pb.Tensor("n", np.array([b""])).as_numpy()), "chararray": A(lambda: pb.Tensor("n", np.char.array([b"ab"])).as_numpy())}


@probe("tensor_ctor")
def tensor_U_dtype(pb, req):
    np = _np()
    return A(lambda: pb.Tensor("n", np.array(["abc"])))




@probe("tensor_methods")
def tensor_shape_type(pb, req):
    np = _np()
    t = pb.Tensor("n", np.zeros((2, 3), "f4"))
    s = t.shape()
    s.append(7)
    return {"type": type(s).__name__, "after_append": t.shape(), "elem": type(t.shape()[0]).__name__, "is": t.shape() is t.shape()}




@probe("tensor_methods")
def tensor_extra_args(pb, req):
    np = _np()
    t = pb.Tensor("n", np.zeros(1, "f4"))
    return {"name": A(lambda: t.name(1)), "as_numpy": A(lambda: t.as_numpy(copy=True)), "is_cpu": A(t.is_cpu), "name_type": type(t.name()).__name__}


@probe("tensor_methods")
def tensor_python_protocols(pb, req):
    "repr / eq / hash / copy / pickle / setattr / weakref / len / array()"
    np = _np()
    import copy, pickle, weakref
    a = np.zeros(2, "f4")
    t, u = pb.Tensor("n", a), pb.Tensor("n", a)

    def setit():
        t.foo = 1
    return {"repr": norm(repr(t)), "eq_self": t == t, "eq_same": t == u, "hash": A(lambda: hash(t) == hash(t)), "copy": A(lambda: copy.copy(t)), "deepcopy": A(lambda: copy.deepcopy(t)),
            "pickle": A(lambda: pickle.dumps(t)), "setattr": A(setit), "weakref": A(lambda: weakref.ref(t)() is t), "len": A(lambda: len(t)), "np_array": A(lambda: np.array(t).dtype.str), "bool": A(lambda: bool(t))}


@probe("tensor_methods")
def tensor_as_numpy_lifetime(pb, req):
    np = _np()

    def mk():
        return pb.Tensor("n", np.arange(4, dtype="i4")).as_numpy()
    a = mk()
    import gc
    gc.collect()
    return a


@probe("tensor_methods")
def tensor_object_mutation_after_ctor(pb, req):
    "object arrays are serialised in the constructor: a later mutation is seen by as_numpy but not sent (see bls_bytes_mutation)"
    np = _np()
    a = np.array([b"old"], dtype=object)
    t = pb.Tensor("n", a)
    a[0] = b"new"
    return t.as_numpy()




@probe("dlpack")
def dlpack_device(pb, req):
    np = _np()
    t = pb.Tensor("n", np.zeros(2, "f4"))
    return {"f4": A(t.__dlpack_device__), "bytes": A(pb.Tensor("n", np.array(["a"], object)).__dlpack_device__), "el0": A(lambda: type(t.__dlpack_device__()[0]).__name__)}




@probe("dlpack")
def dlpack_numpy_from(pb, req):
    "np.from_dlpack(Tensor) for each dtype"
    np = _np()
    out = {}
    for d in ["bool", "i1", "i2", "i4", "i8", "u1", "u2", "u4", "u8", "f2", "f4", "f8"]:
        def f(d=d):
            t = pb.Tensor("n", np.ones((2, 2), d))
            b = np.from_dlpack(t)
            return [b, b.flags.writeable, bool(np.shares_memory(b, t.as_numpy()))]
        out[d] = A(f)
    return out


_KEEP = []


class Cap:
    """A DLPack producer made with ctypes (its capsule has no destructor).  Needed because the capsule of a numpy
    array kills the real stub (see dlpack_from_ndarray_kills_stub)."""

    def __init__(self, arr, code=None, bits=None, lanes=1, device=(1, 0), strides="auto", byte_offset=0):
        import ctypes as c
        kind = {"f": 2, "i": 0, "u": 1, "b": 6, "c": 5}[arr.dtype.kind]
        self.arr, self.dev = arr, device
        nd = arr.ndim
        shape = (c.c_int64 * max(nd, 1))(*arr.shape)
        st = None
        if strides == "auto":
            st = (c.c_int64 * max(nd, 1))(*[x // arr.itemsize for x in arr.strides])

        class DLM(c.Structure):
            _fields_ = [("data", c.c_void_p), ("dtype_dev", c.c_int32), ("dev_id", c.c_int32), ("ndim", c.c_int32), ("code", c.c_uint8), ("bits", c.c_uint8), ("lanes", c.c_uint16),
                        ("shape", c.c_void_p), ("strides", c.c_void_p), ("byte_offset", c.c_uint64), ("ctx", c.c_void_p), ("deleter", c.c_void_p)]
        self.deleted = 0

        def _del(p):
            self.deleted += 1
        fn = c.CFUNCTYPE(None, c.c_void_p)(_del)
        m = DLM(arr.ctypes.data, device[0], device[1], nd, kind if code is None else code, bits or arr.itemsize * 8, lanes, c.addressof(shape), c.addressof(st) if st is not None else None, byte_offset, None, c.cast(fn, c.c_void_p).value)
        new = c.pythonapi.PyCapsule_New
        new.restype, new.argtypes = c.py_object, [c.c_void_p, c.c_char_p, c.c_void_p]
        self.name = c.create_string_buffer(b"dltensor")
        self.cap = new(c.addressof(m), c.addressof(self.name) and b"dltensor", None)
        _KEEP.append((self, shape, st, fn, m))

    def __dlpack__(self, stream=None):
        self.stream = stream
        return self.cap

    def __dlpack_device__(self):
        return self.dev


@probe("dlpack")
def dlpack_from_roundtrip(pb, req):
    "Tensor.from_dlpack(name, producer): dtype, shape; memory: as_numpy() is a COPY"
    np = _np()
    out = {}
    for d in ["bool", "i1", "i2", "i4", "i8", "u1", "u2", "u4", "u8", "f2", "f4", "f8"]:
        def f(d=d):
            a = np.ones((2, 2), d)
            p = Cap(a)
            t = pb.Tensor.from_dlpack("n", p)
            b = t.as_numpy()
            a[0, 0] = 0
            v = t.as_numpy()
            r = {"v_after_source_mutation": v, "w": b.flags.writeable, "own": b.flags.owndata, "shares": bool(np.shares_memory(a, b)), "shape": t.shape(), "is2": v is b, "type": type(t).__name__, "dlpack_sees": A(lambda: np.from_dlpack(t))}
            del t, b, v
            r["deleter_called"] = p.deleted
            return r
        out[d] = A(f)
    return out






@probe("dlpack")
def dlpack_from_devices(pb, req):
    np = _np()
    a = np.zeros(2, "f4")
    f = lambda dev: (lambda t: [t.is_cpu(), t.__dlpack_device__()])(pb.Tensor.from_dlpack("n", Cap(a, device=dev)))
    return {"cpu": A(f, (1, 0)), "cuda_host": A(f, (3, 0)), "rocm": A(f, (10, 0)), "cpu_id5": A(f, (1, 5)), "managed": A(f, (13, 0))}


@probe("dlpack", danger=True)
def dlpack_from_ndarray_kills_stub(pb, req):
    "Tensor.from_dlpack(name, numpy_array): numpy's capsule destructor recurses for ever because pb renames the capsule to used_dlpack"
    np = _np()
    return A(lambda: pb.Tensor.from_dlpack("n", np.ones(2, "f4")).as_numpy())


@probe("dlpack")
def dlpack_from_capsule(pb, req):
    np = _np()

    def f():
        t = pb.Tensor("src", np.arange(3, dtype="i4"))
        c = t.to_dlpack()
        u = pb.Tensor.from_dlpack("dst", c)
        return [u.name(), u.as_numpy(), repr(c).split(" at ")[0]]
    return A(f)




@probe("dlpack")
def dlpack_from_errors(pb, req):
    np = _np()
    a = np.arange(6, dtype="f4").reshape(2, 3)
    ro = np.arange(3, dtype="f4")
    ro.flags.writeable = False  # numpy refuses to export it: no capsule is made

    class Dev:
        def __init__(self, d):
            self.d = d

        def __dlpack__(self, stream=None):
            return a.__dlpack__()

        def __dlpack_device__(self):
            return (self.d, 0)
    return {"empty_name": A(lambda: pb.Tensor.from_dlpack("", a)), "list": A(lambda: pb.Tensor.from_dlpack("n", [1])), "none": A(lambda: pb.Tensor.from_dlpack("n", None)),
            "readonly": A(lambda: pb.Tensor.from_dlpack("n", ro)),
            "str_array": A(lambda: pb.Tensor.from_dlpack("n", np.array(["a"], object))), "kwargs": A(lambda: pb.Tensor.from_dlpack(name="n", tensor=a)), "device_rocm": A(lambda: pb.Tensor.from_dlpack("n", Dev(10))), "device_cuda_on_cpu_box": A(lambda: pb.Tensor.from_dlpack("n", Dev(2)))}




@probe("dlpack")
def dlpack_from_on_instance(pb, req):
    "from_dlpack is an unbound method: calling it on an instance passes self as name"
    np = _np()
    t = pb.Tensor("n", np.zeros(1, "f4"))
    return A(lambda: t.from_dlpack("x", np.zeros(1, "f4")))


def make_bf16(pb, np, n=2):
    """a BF16 pb Tensor without torch: patch the DLDataType of a uint16 capsule"""
    import ctypes
    t = pb.Tensor("b", np.full(n, 0x3F80, dtype=np.uint16))  # 1.0 in bf16
    c = t.to_dlpack()
    get = ctypes.pythonapi.PyCapsule_GetPointer
    get.restype, get.argtypes = ctypes.c_void_p, [ctypes.py_object, ctypes.c_char_p]
    p = get(c, b"dltensor")
    # DLTensor: void* data(8) | device{int32 type,int32 id}(8) | int32 ndim(4) | dtype{u8 code,u8 bits,u16 lanes}(4)
    ctypes.c_uint8.from_address(p + 8 + 8 + 4).value = 4  # kDLBfloat
    return pb.Tensor.from_dlpack("b", c)


@probe("dlpack")
def dlpack_bf16(pb, req):
    np = _np()
    out = {}
    try:
        t = make_bf16(pb, np)
    except BaseException as e:
        return exc(e)
    out["as_numpy"] = A(t.as_numpy)
    out["shape"] = A(t.shape)
    out["triton_dtype"] = A(t.triton_dtype)
    out["np_from"] = A(lambda: np.from_dlpack(t))
    out["is_cpu"] = A(t.is_cpu)
    return out


# ==================================================================== C. helpers
@probe("helpers")
def helper_serialize(pb, req):
    np = _np()
    s = pb.serialize_byte_tensor
    return {"bytes": A(s, np.array([b"ab", b""], dtype=object)), "str": A(s, np.array(["ab", "ü"], dtype=object)), "S": A(s, np.array([b"ab", b"c\0"])), "empty": A(s, np.array([], dtype=object)),
            "empty_float": A(s, np.zeros(0)), "float": A(s, np.zeros(1)), "U": A(s, np.array(["ab"])), "int_elem": A(s, np.array([12], dtype=object)), "none_elem": A(s, np.array([None], dtype=object)),
            "bytearray": A(s, np.array([bytearray(b"x")], dtype=object)), "0d": A(s, np.array(b"q", dtype=object)), "fortran": A(s, np.array([["a", "b"], ["c", "d"]], dtype=object).T), "list": A(s, [b"a"])}


@probe("helpers")
def helper_deserialize(pb, req):
    np = _np()
    d = pb.deserialize_bytes_tensor
    good = b"\x02\0\0\0ab\0\0\0\0"
    return {"ok": A(d, good), "empty": A(d, b""), "trunc_len": A(d, b"\x02\0"), "trunc_body": A(d, b"\x05\0\0\0ab"), "ndarray": A(d, np.frombuffer(good, np.uint8)), "tuple": A(d, ()), "same_len_strings": A(d, b"\x01\0\0\0a\x01\0\0\0b"), "str": A(d, "abc")}


@probe("helpers")
def helper_numpy_to_triton_type(pb, req):
    np = _np()
    f = pb.numpy_to_triton_type
    out = {d: A(lambda d=d: f(np.dtype(d))) for d in NUMPY_DTYPES}
    out.update({"t:" + t.__name__: A(f, t) for t in (bool, int, float, str, bytes, object, np.bool_, np.object_, np.bytes_, np.str_, np.float32, np.complex64, np.int64)})
    out.update({"s:float32": A(f, "float32"), "None": A(f, None), "dtype_S0": A(f, np.dtype("S"))})
    return out


@probe("helpers")
def helper_triton_to_numpy_type(pb, req):
    f = pb.triton_to_numpy_type
    return {str(i): A(f, i) for i in [-1, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, "TYPE_FP32", 11.0, True, None]}


@probe("helpers")
def helper_triton_string_to_numpy(pb, req):
    f = pb.triton_string_to_numpy
    out = {n: A(f, n) for n in ["TYPE_BOOL", "TYPE_UINT8", "TYPE_UINT16", "TYPE_UINT32", "TYPE_UINT64", "TYPE_INT8", "TYPE_INT16", "TYPE_INT32", "TYPE_INT64", "TYPE_FP16", "TYPE_FP32", "TYPE_FP64", "TYPE_STRING", "TYPE_BF16", "TYPE_BYTES", "FP32", "", "type_fp32"]}
    out["None"] = A(f, None)
    out["is_builtin_bool"] = f("TYPE_BOOL") is bool
    return out




CFG = {"name": "m", "max_batch_size": 4, "input": [{"name": "A", "data_type": "TYPE_FP32", "dims": ["3"]}, {"name": "A", "data_type": "TYPE_INT8", "dims": ["1"]}], "output": [{"name": "Z", "data_type": "TYPE_FP32", "dims": ["3"]}]}




@probe("helpers")
def helper_using_decoupled(pb, req):
    f = pb.using_decoupled_model_transaction_policy
    return {"missing": A(f, {}), "true": A(f, {"model_transaction_policy": {"decoupled": True}}), "false": A(f, {"model_transaction_policy": {"decoupled": False}}), "empty": A(f, {"model_transaction_policy": {}}), "str": A(f, '{"a":1}')}


@probe("helpers")
def helper_get_tensor_by_name_duck(pb, req):
    np = _np()

    class R:
        def inputs(self):
            return [pb.Tensor("a", np.zeros(1, "f4")), pb.Tensor("a", np.ones(1, "f4"))]
        output_tensors = inputs
    return {"first": A(lambda: pb.get_input_tensor_by_name(R(), "a").as_numpy()), "none": A(lambda: pb.get_input_tensor_by_name(R(), "b")), "out": A(lambda: pb.get_output_tensor_by_name(R(), "a").as_numpy()),
            "wrong_kind": A(lambda: pb.get_input_tensor_by_name(pb.InferenceResponse([]), "a")), "wrong_kind2": A(lambda: pb.get_output_tensor_by_name(req, "a")), "none_req": A(lambda: pb.get_input_tensor_by_name(None, "a"))}




# ==================================================================== D. ModelConfig
def _mc(pb, **k):
    c = {"name": "m", "max_batch_size": 0, "input": [], "output": []}
    c.update(k)
    return pb.ModelConfig(json.dumps(c))


IN = {"name": "A", "data_type": "TYPE_FP32", "dims": [3]}


@probe("model_config")
def mc_ctor(pb, req):
    return {"str": A(lambda: _mc(pb).as_dict()), "dict": A(lambda: pb.ModelConfig({})), "bytes": A(lambda: pb.ModelConfig(b'{"a":1}').as_dict()), "bad": A(lambda: pb.ModelConfig("{")), "none": A(lambda: pb.ModelConfig()), "list": A(lambda: pb.ModelConfig("[1]").as_dict())}


@probe("model_config")
def mc_as_dict_is_live(pb, req):
    m = _mc(pb)
    m.as_dict()["max_batch_size"] = 9
    return {"v": m.as_dict()["max_batch_size"], "is": m.as_dict() is m.as_dict(), "priv": m._model_config is m.as_dict()}


@probe("model_config")
def mc_set_max_batch_size(pb, req):
    def f(have, want):
        m = _mc(pb, max_batch_size=have)
        r = m.set_max_batch_size(want)
        return [r, m.as_dict()["max_batch_size"]]
    return {"0->4": A(f, 0, 4), "4->4": A(f, 4, 4), "4->8": A(f, 4, 8), "4->2": A(f, 4, 2), "0->-1": A(f, 0, -1), "str": A(f, 0, "4"), "missing": A(lambda: pb.ModelConfig('{"name":"m"}').set_max_batch_size(1))}


@probe("model_config")
def mc_set_dynamic_batching(pb, req):
    def f(**k):
        m = _mc(pb, **k)
        r = m.set_dynamic_batching()
        return [r, m.as_dict().get("dynamic_batching")]
    return {"plain": A(f), "kept": A(lambda: f(dynamic_batching={"x": 1})), "seq": A(lambda: f(sequence_batching={})), "ens": A(lambda: f(ensemble_scheduling={})), "args": A(lambda: _mc(pb).set_dynamic_batching({}))}


@probe("model_config")
def mc_add_input_errors(pb, req):
    def f(d, **k):
        m = _mc(pb, **k)
        r = m.add_input(d)
        return [r, m.as_dict()["input"]]
    return {"ok": A(f, IN), "optional": A(f, {**IN, "optional": True}), "extra_prop": A(f, {**IN, "reshape": 1}), "extra_no_name": A(f, {"reshape": 1}), "no_name": A(f, {"data_type": "TYPE_FP32", "dims": [1]}), "no_dtype": A(f, {"name": "A", "dims": [1]}), "no_dims": A(f, {"name": "A", "data_type": "TYPE_FP32"}),
            "empty": A(f, {}), "bad_dtype_ok": A(f, {"name": "A", "data_type": "banana", "dims": "x"}), "empty_name_ok": A(f, {"name": "", "data_type": "TYPE_FP32", "dims": []}), "no_input_key": A(lambda: pb.ModelConfig('{"name":"m"}').add_input(IN)), "none": A(f, None), "list": A(f, [1])}


@probe("model_config")
def mc_add_input_merge(pb, req):
    def f(cur, new):
        m = _mc(pb, input=[cur])
        m.add_input(new)
        return m.as_dict()["input"]
    return {"same": A(f, IN, dict(IN)), "dtype": A(f, IN, {**IN, "data_type": "TYPE_INT8"}), "invalid_dtype": A(f, {**IN, "data_type": "TYPE_INVALID"}, IN), "dims": A(f, IN, {**IN, "dims": [4]}), "dims_empty": A(f, {**IN, "dims": []}, IN), "dims_str": A(f, {**IN, "dims": ["3"]}, IN),
            "optional_conflict": A(f, {**IN, "optional": False}, {**IN, "optional": True}), "optional_new": A(f, IN, {**IN, "optional": True}), "keeps_other_keys": A(f, {**IN, "reshape": {"shape": []}}, IN), "no_dtype_in_current": A(f, {"name": "A", "dims": [3]}, IN), "both_wrong": A(f, IN, {**IN, "data_type": "TYPE_INT8", "dims": [9]})}




@probe("model_config")
def mc_add_aliases(pb, req):
    m = _mc(pb)
    d = dict(IN)
    m.add_input(d)
    d["dims"] = [77]
    return m.as_dict()["input"]


@probe("model_config")
def mc_transaction_policy(pb, req):
    def f(d, **k):
        m = _mc(pb, **k)
        r = m.set_model_transaction_policy(d)
        return [r, m.as_dict().get("model_transaction_policy")]
    return {"ok": A(f, {"decoupled": True}), "empty": A(f, {}), "extra": A(f, {"x": 1}), "same": A(lambda: f({"decoupled": True}, model_transaction_policy={"decoupled": True})), "conflict": A(lambda: f({"decoupled": True}, model_transaction_policy={"decoupled": False})), "nonbool": A(f, {"decoupled": "yes"}), "list": A(f, [1]), "none": A(f, None)}


# ==================================================================== E. TritonError / exceptions / enums
@probe("error")
def error_ctor(pb, req):
    E = pb.TritonError

    def f(*a, **k):
        e = E(*a, **k)
        return [e.message(), e.code()]
    return {"default": A(f, "m"), "pos": A(f, "m", E.NOT_FOUND), "kw": A(lambda: f(message="m", code=E.INVALID_ARG)), "none": A(f, None), "int": A(f, 5), "bytes": A(f, b"raw"), "empty": A(f, ""), "noargs": A(f), "code_int": A(f, "m", 3), "code_none": A(f, "m", None), "code_str": A(f, "m", "INTERNAL"), "unicode": A(f, "naïve 名"), "nul": A(f, "a\0b"), "exception": A(f, ValueError("x")), "surrogate": A(f, "\udc80")}


@probe("error")
def error_codes(pb, req):
    E = pb.TritonError
    return {n: A(lambda n=n: [getattr(E, n), str(getattr(E, n)), getattr(E, n).name, getattr(E, n).value]) for n in ["UNKNOWN", "INTERNAL", "NOT_FOUND", "INVALID_ARG", "UNAVAILABLE", "UNSUPPORTED", "ALREADY_EXISTS", "CANCELLED", "OK", "INVALID"]}


@probe("error")
def error_code_semantics(pb, req):
    E = pb.TritonError
    c = E.NOT_FOUND

    def setit():
        E.UNKNOWN = 3
    return {"type": tname(type(c)), "eq_int": c == 2, "eq_int_wrong": c == 3, "ne": c != 2, "hash": hash(c) == hash(2), "int": int(c), "lt": A(lambda: c < E.CANCELLED), "and": A(lambda: c & 1), "index": A(lambda: [10, 20, 30][c]), "from_int": A(lambda: type(c)(2)), "from_bad_int": A(lambda: type(c)(99)), "members": A(lambda: sorted(type(c).__members__)),
            "is": E.NOT_FOUND is E.NOT_FOUND, "instance_attr": A(lambda: E("m").NOT_FOUND), "set": A(setit), "enum_cls_attr": A(lambda: getattr(E, "__ErrorCode")), "in_dict": A(lambda: {E.NOT_FOUND: 1}[E.NOT_FOUND])}


@probe("error")
def error_is_not_exception(pb, req):
    def f():
        raise pb.TritonError("x")
    return {"raise": A(f), "isexc": isinstance(pb.TritonError("x"), BaseException), "str": norm(str(pb.TritonError("x"))), "eq": pb.TritonError("x") == pb.TritonError("x"), "methods": [callable(pb.TritonError("x").code), callable(pb.TritonError("x").message)]}


@probe("error")
def model_exception_type(pb, req):
    T = pb.TritonModelException
    return {"mro": [tname(c) for c in T.__mro__], "str": str(T("m")), "args": A(lambda: T("a", 1).args), "repr": repr(T("m")), "message_attr": hasattr(T("m"), "message"), "noargs": A(lambda: str(T())), "doc": T.__doc__}


# ==================================================================== F. InferenceResponse
@probe("response")
def response_ctor_defaults(pb, req):
    r = pb.InferenceResponse()
    return {"out": r.output_tensors(), "has_error": r.has_error(), "error": r.error(), "repr": norm(repr(r)), "type_out": type(r.output_tensors()).__name__}


@probe("response")
def response_ctor_variants(pb, req):
    np = _np()
    t = pb.Tensor("a", np.zeros(1, "f4"))
    R = pb.InferenceResponse

    def f(*a, **k):
        r = R(*a, **k)
        return [len(r.output_tensors()), r.has_error(), r.error() and r.error().message()]
    return {"list": A(f, [t]), "tuple": A(f, (t,)), "gen": A(f, (x for x in [t])), "set": A(f, {t}), "dict": A(f, {"a": t}), "tensor": A(f, t), "none": A(f, None), "kw": A(lambda: f(output_tensors=[t])), "error_kw": A(lambda: f(error=pb.TritonError("e"))), "error_only_empty": A(lambda: f([], pb.TritonError("e"))), "both": A(lambda: f([t], pb.TritonError("e"))),
            "error_str": A(lambda: f(error="e")), "error_exc": A(lambda: f(error=ValueError("e"))), "error_tme": A(lambda: f(error=pb.TritonModelException("e"))), "error_none": A(lambda: f([t], None)), "with_none": A(f, [None]), "with_array": A(f, [np.zeros(1)]), "mixed": A(f, [t, None]), "dup_names": A(f, [t, t]), "unknown_kw": A(lambda: f(outputs=[t])), "str": A(f, "abc"), "empty_str": A(f, ""), "bytes": A(f, b"")}


@probe("response")
def response_parameters(pb, req):
    "25.02+: parameters=dict, .parameters() -> JSON text"
    R = pb.InferenceResponse
    return {"dict": A(lambda: R([], None, {"a": 1}).parameters()), "kw": A(lambda: R([], parameters={"a": 1, "b": True, "c": "x"}).parameters()), "default": A(lambda: R([]).parameters()), "none": A(lambda: R([], parameters=None).parameters()), "float": A(lambda: R([], parameters={"a": 1.5}).parameters()), "list": A(lambda: R([], parameters=[1]).parameters()), "key": A(lambda: R([], parameters={1: 1}).parameters())}


@probe("response")
def response_output_list_is_copy(pb, req):
    np = _np()
    t = pb.Tensor("a", np.zeros(1, "f4"))
    lst = [t]
    r = pb.InferenceResponse(lst)
    lst.append(t)
    r.output_tensors().append(t)
    return {"len": len(r.output_tensors()), "same_tensor": r.output_tensors()[0] is t, "new_list": r.output_tensors() is not r.output_tensors()}


@probe("response")
def response_error_identity(pb, req):
    e = pb.TritonError("boom", pb.TritonError.INVALID_ARG)
    r = pb.InferenceResponse(error=e)
    return {"is": r.error() is e, "code": r.error().code(), "msg": r.error().message(), "out": r.output_tensors()}




# ==================================================================== G. InferenceRequest (constructed)
def _t(pb, name="INPUT0", n=2):
    np = _np()
    return pb.Tensor(name, np.arange(n, dtype="f4"))


def _rq(pb, **k):
    d = dict(inputs=[_t(pb)], requested_output_names=["OUTPUT0"], model_name="helper_identity")
    d.update(k)
    return pb.InferenceRequest(**d)




@probe("request_ctor")
def req_ctor_missing_args(pb, req):
    R = pb.InferenceRequest
    return {"none": A(lambda: R()), "no_model": A(lambda: R(inputs=[], requested_output_names=[])), "no_inputs": A(lambda: R(requested_output_names=[], model_name="m")), "no_outs": A(lambda: R(inputs=[], model_name="m")), "min": A(lambda: R(inputs=[], requested_output_names=[], model_name="m").inputs()), "unknown_kw": A(lambda: R(inputs=[], requested_output_names=[], model_name="m", priority=1)),
            "positional": A(lambda: R("id", 5, [], ["o"], "m", -1, 0, 0).correlation_id()), "empty_model": A(lambda: R(inputs=[], requested_output_names=[], model_name="").request_id())}


@probe("request_ctor")
def req_no_model_getters(pb, req):
    r = _rq(pb)
    return {n: hasattr(r, n) for n in ["model_name", "model_version", "preferred_memory", "inputs", "requested_output_names", "priority", "sequence_id", "id", "is_cancelled", "get_response_sender", "exec", "async_exec", "set_flags", "set_release_flags", "trace", "parameters", "timeout", "set_parameters", "set_inputs"]}


@probe("request_ctor")
def req_correlation_id_types(pb, req):
    return {k: A(lambda v=v: _rq(pb, correlation_id=v).correlation_id()) for k, v in {"int": 7, "str": "seq", "empty_str": "", "float": 1.5, "none": None, "neg": -1, "big": 2 ** 64 - 1, "too_big": 2 ** 64, "bool": True, "bytes": b"x", "npint": _np().int64(3)}.items()}


@probe("request_ctor")
def req_requested_output_names(pb, req):
    "returns a set; order and duplicates are lost"
    def f(v):
        return _rq(pb, requested_output_names=v).requested_output_names()
    return {"list": A(f, ["b", "a"]), "dup": A(f, ["a", "a"]), "tuple": A(f, ("a",)), "str": A(f, "abc"), "empty": A(f, []), "empty_name": A(f, [""]), "none": A(f, None), "set": A(f, {"a"}), "ints": A(f, [1]), "bytes_elem": A(f, [b"a"]), "gen": A(f, (x for x in ["a"])), "dict": A(f, {"a": 1})}


@probe("request_ctor")
def req_inputs_variants(pb, req):
    t = _t(pb)

    def f(v):
        return [x.name() for x in _rq(pb, inputs=v).inputs()]
    return {"list": A(f, [t]), "tuple": A(f, (t,)), "none": A(f, None), "with_none": A(f, [None]), "gen": A(f, (x for x in [t])), "tensor": A(f, t), "array": A(f, [_np().zeros(1)]), "dup": A(f, [t, t]), "identity": A(lambda: _rq(pb, inputs=[t]).inputs()[0] is t), "none_id": A(lambda: _rq(pb, inputs=[None], request_id="rid", model_name="mm"))}


@probe("request_ctor")
def req_parameters_variants(pb, req):
    def f(v):
        return _rq(pb, parameters=v).parameters()
    return {"dict": A(f, {"i": 1, "s": "x", "b": True}), "none": A(f, None), "empty": A(f, {}), "float": A(f, {"a": 1.5}), "none_val": A(f, {"a": None}), "list_val": A(f, {"a": [1]}), "int_key": A(f, {1: 1}), "list": A(f, [1]), "str": A(f, "x"), "unicode": A(f, {"é": "ü"}), "bytes_val": A(f, {"a": b"x"}), "npint": A(f, {"a": _np().int32(1)}), "big": A(f, {"a": 2 ** 70}), "order": A(f, {"z": 1, "a": 2}), "int": A(f, 5)}


@probe("request_ctor")
def req_int_fields(pb, req):
    return {"flags": A(lambda: _rq(pb, flags=3).flags()), "flags_neg": A(lambda: _rq(pb, flags=-1)), "flags_big": A(lambda: _rq(pb, flags=2 ** 32)), "flags_float": A(lambda: _rq(pb, flags=1.0)), "flags_np": A(lambda: _rq(pb, flags=_np().uint32(1)).flags()), "flags_bool": A(lambda: _rq(pb, flags=True).flags()), "timeout": A(lambda: _rq(pb, timeout=10).timeout()), "timeout_neg": A(lambda: _rq(pb, timeout=-1)), "timeout_float": A(lambda: _rq(pb, timeout=1.5)), "timeout_none": A(lambda: _rq(pb, timeout=None)),
            "version": A(lambda: _rq(pb, model_version=1).flags()), "version_str": A(lambda: _rq(pb, model_version="1")), "id_int": A(lambda: _rq(pb, request_id=5)), "id_none": A(lambda: _rq(pb, request_id=None)), "id_bytes": A(lambda: _rq(pb, request_id=b"x").request_id()), "model_none": A(lambda: _rq(pb, model_name=None))}




@probe("request_ctor")
def req_preferred_memory_arg(pb, req):
    P = pb.PreferredMemory
    return {"ok": A(lambda: _rq(pb, preferred_memory=P(pb.TRITONSERVER_MEMORY_CPU, 0)).flags()), "enum": A(lambda: _rq(pb, preferred_memory=pb.TRITONSERVER_MEMORY_CPU)), "none": A(lambda: _rq(pb, preferred_memory=None)), "trace_none": A(lambda: _rq(pb, trace=None)), "trace_ok": A(lambda: _rq(pb, trace=req.trace()).trace().get_context())}


@probe("request_ctor")
def req_sender_on_constructed(pb, req):
    r = _rq(pb)
    s = r.get_response_sender()
    return {"type": tname(type(s)), "is": r.get_response_sender() is s, "send": A(lambda: s.send(pb.InferenceResponse([]))), "send_final": A(lambda: s.send(flags=1))}


@probe("request_ctor")
def req_python_protocols(pb, req):
    import pickle
    r = _rq(pb)

    def setit():
        r.foo = 1
    return {"eq": r == _rq(pb), "setattr": A(setit), "pickle": A(lambda: pickle.dumps(r)), "inputs_new_list": r.inputs() is not r.inputs(), "inputs_same_elem": r.inputs()[0] is r.inputs()[0]}


# ==================================================================== H. request from a client
@probe("request_recv", request={"inputs": [("X_FP32", "FP32", [3], [1.0, 2.0, 3.0])]})
def recv_default_getters(pb, req):
    return {"id": A(req.request_id), "corr": A(req.correlation_id), "flags": A(req.flags), "timeout": A(req.timeout), "params": A(req.parameters), "outs": A(req.requested_output_names), "cancelled": A(req.is_cancelled), "ctx": A(lambda: req.trace().get_context()), "trace_type": tname(type(req.trace())), "inputs": [t.name() for t in req.inputs()], "type_inputs": type(req.inputs()).__name__, "repr": norm(repr(req)), "cls": tname(type(req))}


@probe("request_recv", request={"inputs": [("X_FP32", "FP32", [3], [1.0, 2.0, 3.0])], "request_id": "my-id", "timeout_us": 123456, "priority": 0, "sequence_id": 42, "sequence_start": True, "sequence_end": True, "parameters": {"i": 7, "s": "str", "b": True, "n": "5"}, "outputs": ["RESULT"]})
def recv_all_fields(pb, req):
    return {"id": A(req.request_id), "corr": A(req.correlation_id), "flags": A(req.flags), "timeout": A(req.timeout), "params": A(req.parameters), "params_type": type(req.parameters()).__name__, "outs": A(req.requested_output_names)}




@probe("request_recv", request={"inputs": [("X_FP16", "FP16", [2], [1.5, -2.0]), ("X_INT8", "INT8", [2], [-1, 2]), ("X_BOOL", "BOOL", [2], [True, False]), ("X_BYTES", "BYTES", [3], ["a", "", "ü"]), ("X_UINT64", "UINT64", [1], [2 ** 63]), ("Y_FP32", "FP32", [1, 2], [1, 2]), ("Y_BYTES", "BYTES", [1, 2], ["x", "y"])]})
def recv_tensor_values(pb, req):
    return {t.name(): {"v": t.as_numpy(), "shape": t.shape(), "w": t.as_numpy().flags.writeable, "own": t.as_numpy().flags.owndata, "c": t.as_numpy().flags.c_contiguous, "cpu": t.is_cpu(), "is2": t.as_numpy() is t.as_numpy(), "dtype_is_native": str(t.as_numpy().dtype)} for t in req.inputs() if t.name() != "PROBE"}


@probe("request_recv", request={"inputs": [("X_FP32", "FP32", [1], [1.0]), ("X_INT8", "INT8", [1], [1]), ("X_BYTES", "BYTES", [1], ["a"])]})
def recv_input_order(pb, req):
    "order of inputs(): client sends X_FP32, X_INT8, X_BYTES, PROBE"
    return [t.name() for t in req.inputs()]


@probe("request_recv", request={"inputs": [("X_FP32", "FP32", [3], [1.0, 2.0, 3.0])]})
def recv_mutation_not_in_tensor(pb, req):
    "as_numpy() of a received tensor is a writable COPY: mutating it changes later as_numpy() calls, not the bytes that DLPack / BLS sees"
    np = _np()
    t = pb.get_input_tensor_by_name(req, "X_FP32")
    a = t.as_numpy()
    a[0] = 99
    r = _bls(pb, inputs=[t], model="helper_echo_x32", outs=["X_FP32"])
    return {"as_numpy_again": t.as_numpy(), "dlpack_view": A(lambda: np.from_dlpack(t)), "bls_saw": A(lambda: pb.get_output_tensor_by_name(r, "X_FP32").as_numpy())}


@probe("request_recv", request={"inputs": [("X_FP32", "FP32", [0], []), ("X_BYTES", "BYTES", [0], [])]})
def recv_empty_tensors(pb, req):
    return {t.name(): A(lambda t=t: [t.as_numpy(), t.shape()]) for t in req.inputs() if t.name() != "PROBE"}


@probe("request_recv", request={"inputs": [("X_BF16", "BF16", [2], [1.0, 2.0])]})
def recv_bf16(pb, req):
    t = pb.get_input_tensor_by_name(req, "X_BF16")
    return {"as_numpy": A(t.as_numpy), "shape": A(t.shape), "dlpack": A(t.to_dlpack), "cpu": A(t.is_cpu), "device": A(t.__dlpack_device__), "triton_dtype": A(t.triton_dtype)}


@probe("request_recv")
def recv_missing_optional(pb, req):
    return {"r": A(lambda: pb.get_input_tensor_by_name(req, "X_FP32")), "n": len(req.inputs())}


@probe("request_recv", request={"inputs": [("X_FP32", "FP32", [1], [1.0])], "parameters": {"f": 1.5}})
def recv_double_parameter(pb, req):
    return A(req.parameters)


@probe("request_recv", request={"inputs": [("X_FP32", "FP32", [1], [1.0])]})
def recv_identity(pb, req):
    np = _np()
    a = pb.get_input_tensor_by_name(req, "X_FP32")
    return {"same": a is pb.get_input_tensor_by_name(req, "X_FP32"), "base": A(lambda: type(a.as_numpy().base).__name__), "as_numpy_type": type(a.as_numpy()).__name__, "np_from_dlpack_shares": A(lambda: bool(np.shares_memory(np.from_dlpack(a), a.as_numpy())))}


@probe("request_recv", request={"inputs": [("X_BYTES", "BYTES", [2], ["a", "b"])]})
def recv_bytes_dlpack(pb, req):
    t = pb.get_input_tensor_by_name(req, "X_BYTES")
    return {"dl": A(t.to_dlpack), "from": A(lambda: pb.Tensor.from_dlpack("x", t)), "triton_dtype": A(t.triton_dtype)}




@probe("request_recv")
def recv_sender_type(pb, req):
    s = req.get_response_sender()
    return {"type": tname(type(s)), "is": s is req.get_response_sender(), "cancelled": A(s.is_cancelled), "no_resp_no_flag": A(lambda: s.send()), "none_0": A(lambda: s.send(None, 0)), "bad_flag": A(lambda: s.send(pb.InferenceResponse([]), 2)), "bad_flag_none": A(lambda: s.send(None, 5)), "final_first": A(lambda: s.send(flags=1)), "wrong_type": A(lambda: s.send("x")), "neg": A(lambda: s.send(None, -1)), "kwargs_unknown": A(lambda: s.send(final=True)), "list": A(lambda: s.send([pb.InferenceResponse([])]))}




@probe("request_recv")
def recv_construct_sender(pb, req):
    return {"sender": A(lambda: type(req.get_response_sender())()), "trace": A(lambda: type(req.trace())()), "logger": A(lambda: pb.Logger())}


# ==================================================================== I. Logger
@probe("logger")
def logger_calls(pb, req):
    L = pb.Logger
    return {"info": A(lambda: L.log_info("probe log_info é\nsecond line")), "warn": A(lambda: L.log_warn("probe log_warn")), "error": A(lambda: L.log_error("probe log_error")), "verbose": A(lambda: L.log_verbose("probe log_verbose")), "log_default": A(lambda: L.log("probe log default")), "log_level": A(lambda: L.log("probe log WARNING", L.WARNING)), "kw": A(lambda: L.log(message="probe kw", level=L.ERROR)), "kw2": A(lambda: L.log_info(message="probe kw2")),
            "int": A(lambda: L.log_info(1)), "none": A(lambda: L.log_info(None)), "bytes": A(lambda: L.log_info(b"probe bytes")), "level_int": A(lambda: L.log("x", 1)), "level_str": A(lambda: L.log("x", "INFO")), "two": A(lambda: L.log_info("a", "b")), "percent": A(lambda: L.log_info("probe %s", "x")), "exception": A(lambda: L.log_error(ValueError("x"))), "empty": A(lambda: L.log_info(""))}


@probe("logger")
def logger_levels(pb, req):
    L = pb.Logger
    return {n: A(lambda n=n: [getattr(L, n), int(getattr(L, n))]) for n in ["INFO", "WARNING", "ERROR", "VERBOSE", "WARN", "DEBUG", "LogLevel"]} | {"eq_int": A(lambda: L.INFO == 0), "type": A(lambda: tname(type(L.INFO)))}


# ==================================================================== J. PreferredMemory
@probe("memory")
def preferred_memory_ctor(pb, req):
    P = pb.PreferredMemory
    C = pb.TRITONSERVER_MEMORY_CPU
    return {"1": A(lambda: P(C)), "2": A(lambda: P(C, 0)), "kw": A(lambda: P(preferred_memory_type=C, preferred_device_id=1)), "none": A(lambda: P()), "int": A(lambda: P(1)), "dev_none": A(lambda: P(C, None)), "dev_str": A(lambda: P(C, "0")), "dev_neg": A(lambda: P(C, -5)), "attrs": sorted(a for a in dir(P(C)) if a not in dir(object)), "gpu": A(lambda: P(pb.TRITONSERVER_MEMORY_GPU, 0))}


@probe("memory")
def memory_type_enum(pb, req):
    C, G = pb.TRITONSERVER_MEMORY_CPU, pb.TRITONSERVER_MEMORY_GPU
    return {"cpu": [C, int(C), str(C)], "gpu": [G, int(G), str(G)], "type": tname(type(C)), "eq": C == G, "eq_int": C == 1, "members": sorted(type(C).__members__)}


# ==================================================================== K. Metrics
@probe("metrics")
def metric_family_ctor(pb, req):
    F = pb.MetricFamily
    return {"kw": A(lambda: F(name="p_ctor_kw", description="d", kind=F.COUNTER)), "pos": A(lambda: F("p_ctor_pos", "d", F.GAUGE)), "missing_desc": A(lambda: F(name="p_x", kind=F.COUNTER)), "missing_kind": A(lambda: F("p_x", "d")), "kind_int": A(lambda: F("p_x", "d", 0)), "kind_str": A(lambda: F("p_x", "d", "COUNTER")), "none": A(lambda: F(None, "d", F.COUNTER)), "empty_desc": A(lambda: F("p_empty_desc", "", F.COUNTER)),
            "attrs": sorted(a for a in dir(F) if a not in dir(object)), "kind_enum": [F.COUNTER, F.GAUGE, getattr(F, "HISTOGRAM", None)]}


@probe("metrics")
def metric_family_duplicate(pb, req):
    F = pb.MetricFamily
    a = F("p_dup", "d", F.COUNTER)
    return {"same": A(lambda: F("p_dup", "d", F.COUNTER)), "other_desc": A(lambda: F("p_dup", "other", F.COUNTER)), "other_kind": A(lambda: F("p_dup", "d", F.GAUGE)), "keep": A(lambda: type(a).__name__)}


@probe("metrics")
def metric_counter(pb, req):
    F = pb.MetricFamily
    f = F("p_counter", "d", F.COUNTER)
    m = f.Metric(labels={"l": "1"})
    return {"type": tname(type(m)), "v0": A(m.value), "inc": A(lambda: m.increment(2)), "incf": A(lambda: m.increment(0.5)), "v1": A(m.value), "neg": A(lambda: m.increment(-1)), "v2": A(m.value), "set": A(lambda: m.set(5)), "observe": A(lambda: m.observe(1.0)), "inc_str": A(lambda: m.increment("1")), "inc_none": A(lambda: m.increment(None)), "inc_noarg": A(lambda: m.increment()), "inc_kw": A(lambda: m.increment(value=1)), "inc_np": A(lambda: m.increment(_np().float32(1))), "inc_bool": A(lambda: m.increment(True)), "v3": A(m.value), "nan": A(lambda: (m.increment(float("nan")), m.value()))}


@probe("metrics")
def metric_gauge(pb, req):
    F = pb.MetricFamily
    f = F("p_gauge", "d", F.GAUGE)
    m = f.Metric(labels={"l": "1"})
    return {"set": A(lambda: m.set(5)), "v": A(m.value), "inc": A(lambda: m.increment(-2)), "v2": A(m.value), "inf": A(lambda: (m.set(float("inf")), m.value())), "observe": A(lambda: m.observe(1)), "type": type(m.value()).__name__}


@probe("metrics")
def metric_histogram(pb, req):
    F = pb.MetricFamily
    f = F("p_hist", "d", F.HISTOGRAM)
    out = {"no_buckets": A(lambda: f.Metric(labels={"l": "0"})), "tuple": A(lambda: f.Metric(labels={"l": "t"}, buckets=(1.0,)))}
    m = f.Metric(labels={"l": "1"}, buckets=[0.1, 1, 10])
    out.update({"observe": A(lambda: m.observe(0.5)), "value": A(m.value), "inc": A(lambda: m.increment(1)), "set": A(lambda: m.set(1)), "str_bucket": A(lambda: f.Metric(labels={"l": "s"}, buckets=["a"])), "empty_buckets": A(lambda: f.Metric(labels={"l": "e"}, buckets=[]))})
    return out




def _lab(pb, name, *a, **k):
    F = pb.MetricFamily
    f = F("p_lab_" + name, "d", F.GAUGE)
    m = f.Metric(*a, **k)
    m.set(1)
    return m.value()






@probe("metrics", danger=True)
def metric_labels_none(pb, req):
    return A(lambda: _lab(pb, "none"))


@probe("metrics", danger=True)
def metric_labels_int_value(pb, req):
    return A(lambda: _lab(pb, "int", labels={"a": 1}))


@probe("metrics", danger=True)
def metric_labels_null_value(pb, req):
    return A(lambda: _lab(pb, "null", labels={"a": None}))


@probe("metrics", danger=True)
def metric_labels_nested_value(pb, req):
    return A(lambda: _lab(pb, "nest", labels={"a": {"b": 1}}))


@probe("metrics", danger=True)
def metric_labels_int_key(pb, req):
    "json.dumps turns the key into a string"
    return A(lambda: _lab(pb, "ik", labels={1: "a"}))


@probe("metrics")
def metric_same_labels_share(pb, req):
    F = pb.MetricFamily
    f = F("p_share", "d", F.COUNTER)
    a = f.Metric(labels={"x": "1"})
    b = f.Metric(labels={"x": "1"})
    a.increment(3)
    b.increment(4)
    return {"a": a.value(), "b": b.value(), "is": a is b}


@probe("metrics")
def metric_family_recreated(pb, req):
    "a family re-created under the same name after deletion starts at 0"
    import gc
    F = pb.MetricFamily
    f = F("p_recreate", "d", F.COUNTER)
    m = f.Metric(labels={"x": "1"})
    m.increment(3)
    del m
    del f
    gc.collect()
    f = F("p_recreate", "d", F.COUNTER)
    return f.Metric(labels={"x": "1"}).value()


@probe("metrics")
def metric_after_family_deleted(pb, req):
    import gc
    F = pb.MetricFamily
    f = F("p_del", "d", F.COUNTER)
    m = f.Metric(labels={"x": "1"})
    del f
    gc.collect()
    return {"inc": A(lambda: m.increment(1)), "value": A(m.value)}


@probe("metrics")
def metric_chained_temporary_family(pb, req):
    "F(...).Metric(...) - the temporary family dies at once"
    F = pb.MetricFamily
    m = F("p_tmp", "d", F.COUNTER).Metric(labels={"x": "1"})
    return {"inc": A(lambda: m.increment(1))}


@probe("metrics", danger=True)
def metric_bad_names(pb, req):
    F = pb.MetricFamily
    return {"space": A(lambda: F("bad name", "d", F.COUNTER)), "empty": A(lambda: F("", "d", F.COUNTER))}


@probe("metrics", danger=True)
def metric_bad_label_names(pb, req):
    F = pb.MetricFamily
    f = F("p_badlab", "d", F.COUNTER)
    return {"space": A(lambda: f.Metric(labels={"bad label": "1"}))}


@probe("metrics", danger=True)
def metric_bad_buckets(pb, req):
    F = pb.MetricFamily
    f = F("p_badbuckets", "d", F.HISTOGRAM)
    return {"descending": A(lambda: f.Metric(labels={"a": "d"}, buckets=[2.0, 1.0])), "dup": A(lambda: f.Metric(labels={"a": "x"}, buckets=[1.0, 1.0]))}


# ==================================================================== L. model control
@probe("model_control")
def control_is_model_ready(pb, req):
    f = pb.is_model_ready
    return {"ready": A(f, "helper_identity"), "v1": A(f, "helper_identity", "1"), "v9": A(f, "helper_identity", "9"), "unknown": A(f, "nope"), "vbad": A(f, "helper_identity", "abc"), "vneg": A(f, "helper_identity", "-3"), "vint": A(f, "helper_identity", 1), "kw": A(lambda: f(model_name="helper_identity", model_version="1")), "none": A(f, None), "empty": A(f, ""), "not_loaded": A(f, "helper_unloaded")}


@probe("model_control")
def control_load_python_errors(pb, req):
    f = pb.load_model
    return {"none": A(f, None), "config_none": A(lambda: f("helper_unloaded", config=None)), "config_dict": A(lambda: f("helper_unloaded", config={})), "files_list": A(lambda: f("helper_unloaded", files=[1])), "files_int": A(lambda: f("helper_unloaded", files={"file:1/model.py": 5})), "files_key_int": A(lambda: f("helper_unloaded", files={1: b"x"})), "kw": A(lambda: f(name="x"))}


@probe("model_control", danger=True)
def control_load_unknown(pb, req):
    return {"unknown": A(pb.load_model, "nope"), "empty": A(pb.load_model, "")}


@probe("model_control", danger=True)
def control_load_bad_config(pb, req):
    return A(lambda: pb.load_model("helper_unloaded", config="{"))


@probe("model_control", danger=True)
def control_load_files_without_config(pb, req):
    return A(lambda: pb.load_model("helper_files", files={"file:1/model.py": b"x"}))


@probe("model_control", danger=True)
def control_load_failing_model(pb, req):
    "a model whose initialize raises: the error text of the load"
    cfg = {"backend": "python", "max_batch_size": 0, "input": [{"name": "INPUT0", "data_type": "TYPE_FP32", "dims": [-1]}], "output": [{"name": "OUTPUT0", "data_type": "TYPE_FP32", "dims": [-1]}]}
    src = b"class TritonPythonModel:\n    def initialize(self, args):\n        raise ValueError('init boom')\n"
    return A(lambda: pb.load_model("helper_failing", config=json.dumps(cfg), files={"file:1/model.py": src}))


@probe("model_control")
def control_load_unload_cycle(pb, req):
    import time
    out = {"before": A(pb.is_model_ready, "helper_unloaded"), "load": A(pb.load_model, "helper_unloaded"), "after": A(pb.is_model_ready, "helper_unloaded"), "unload": A(pb.unload_model, "helper_unloaded")}
    time.sleep(1.0)
    out["after_unload"] = A(pb.is_model_ready, "helper_unloaded")
    return out


@probe("model_control")
def control_unload_errors(pb, req):
    f = pb.unload_model
    return {"unknown": A(f, "nope"), "kw": A(lambda: f(model_name="nope", unload_dependents=True)), "none": A(f, None), "dep_none": A(lambda: f("nope", None)), "dep_int": A(lambda: f("nope", 1))}


@probe("model_control")
def control_load_with_files(pb, req):
    np = _np()
    cfg = {"backend": "python", "max_batch_size": 0, "input": [{"name": "INPUT0", "data_type": "TYPE_FP32", "dims": [-1]}], "output": [{"name": "OUTPUT0", "data_type": "TYPE_FP32", "dims": [-1]}]}
    src = HELPER_IDENTITY_SRC.replace("a = ", "a = 10 * ").encode()
    out = {"load": A(lambda: pb.load_model("helper_files", config=json.dumps(cfg), files={"file:1/model.py": src})), "ready": A(pb.is_model_ready, "helper_files")}
    r = _bls(pb, model="helper_files")
    out["infer"] = A(lambda: _resp(pb, r))
    out["unload"] = A(pb.unload_model, "helper_files")
    return out


# ==================================================================== M. BLS
def _bls(pb, model="helper_identity", inputs=None, outs=("OUTPUT0",), decoupled=None, **k):
    r = pb.InferenceRequest(model_name=model, inputs=inputs if inputs is not None else [_t(pb)], requested_output_names=list(outs), **k)
    return r.exec() if decoupled is None else r.exec(decoupled=decoupled)


def _resp(pb, r):
    if r.has_error():
        return {"error": r.error().message(), "code": enc(r.error().code()), "outs": [t.name() for t in r.output_tensors()]}
    return {t.name(): enc(t.as_numpy()) for t in r.output_tensors()}


@probe("bls")
def bls_success(pb, req):
    r = _bls(pb)
    t = r.output_tensors()[0]
    a = t.as_numpy()
    return {"cls": tname(type(r)), "has_error": r.has_error(), "error": r.error(), "v": a, "w": a.flags.writeable, "own": a.flags.owndata, "shape": t.shape(), "cpu": t.is_cpu(), "is2": t.as_numpy() is a}


@probe("bls")
def bls_missing_model(pb, req):
    return {"exec": A(lambda: _resp(pb, _bls(pb, model="nope"))), "version": A(lambda: _resp(pb, _bls(pb, model_version=99))), "empty": A(lambda: _resp(pb, _bls(pb, model=""))), "neg_version": A(lambda: _resp(pb, _bls(pb, model_version=-2)))}


@probe("bls")
def bls_not_loaded_model(pb, req):
    return A(lambda: _resp(pb, _bls(pb, model="helper_unloaded")))


@probe("bls")
def bls_wrong_input(pb, req):
    np = _np()
    T = pb.Tensor
    return {"wrong_name": A(lambda: _resp(pb, _bls(pb, inputs=[_t(pb, "WRONG")]))), "missing": A(lambda: _resp(pb, _bls(pb, inputs=[]))), "extra": A(lambda: _resp(pb, _bls(pb, inputs=[_t(pb), _t(pb, "MORE")]))), "dup": A(lambda: _resp(pb, _bls(pb, inputs=[_t(pb), _t(pb)]))), "dtype": A(lambda: _resp(pb, _bls(pb, inputs=[T("INPUT0", np.zeros(2, "f8"))]))), "rank": A(lambda: _resp(pb, _bls(pb, inputs=[T("INPUT0", np.zeros((2, 2), "f4"))]))), "zero_dim": A(lambda: _resp(pb, _bls(pb, inputs=[T("INPUT0", np.array(1, "f4"))])))}


@probe("bls")
def bls_batched_target_shape(pb, req):
    np = _np()
    T = pb.Tensor
    f = lambda a: _resp(pb, _bls(pb, model="helper_batched", inputs=[T("INPUT0", a)]))
    return {"ok": A(f, np.zeros((2, 3), "f4")), "no_batch_dim": A(f, np.zeros(3, "f4")), "too_big_batch": A(f, np.zeros((9, 3), "f4")), "fixed_dim": A(f, np.zeros((1, 4), "f4")), "batch0": A(f, np.zeros((0, 3), "f4"))}


@probe("bls")
def bls_output_names(pb, req):
    return {"unknown": A(lambda: _resp(pb, _bls(pb, outs=["NOPE"]))), "none": A(lambda: _resp(pb, _bls(pb, outs=[]))), "two_one_requested": A(lambda: _resp(pb, _bls(pb, model="helper_two_out", outs=["OUTPUT1"]))), "two_all": A(lambda: list(_resp(pb, _bls(pb, model="helper_two_out", outs=["OUTPUT1", "OUTPUT0"])))), "two_empty_request": A(lambda: list(_resp(pb, _bls(pb, model="helper_two_out", outs=[]))))}


@probe("bls")
def bls_model_errors(pb, req):
    "error() of a BLS response: the code is lost (always INTERNAL), outputs are dropped"
    np = _np()
    f = lambda mode: _resp(pb, _bls(pb, model="helper_error", inputs=[pb.Tensor("MODE", np.array([mode], dtype=object))]))
    return {m: A(f, m) for m in ["raise", "tme", "error_default", "error_invalid_arg", "error_not_found", "error_unavailable", "error_cancelled", "error_with_outputs", "error_empty_message", "wrong_len"]}


@probe("bls")
def bls_request_echo(pb, req):
    "what the target sees: id, correlation id, flags, timeout, parameters"
    r = _bls(pb, model="helper_echo_meta", outs=["META"], request_id="rid", correlation_id=9, flags=1, timeout=1000000, parameters={"a": 1, "b": "x", "c": True})
    r2 = _bls(pb, model="helper_echo_meta", outs=["META"], correlation_id="s")
    f = lambda r: json.loads(pb.get_output_tensor_by_name(r, "META").as_numpy()[0])
    return {"full": A(f, r), "str_corr": A(f, r2), "default": A(lambda: f(_bls(pb, model="helper_echo_meta", outs=["META"])))}








@probe("bls")
def bls_bytes_mutation(pb, req):
    "object arrays are serialised when the Tensor is built"
    np = _np()
    a = np.array([b"old"], dtype=object)
    t = pb.Tensor("INPUT0", a)
    a[0] = b"new"
    return {"sent": A(lambda: _resp(pb, _bls(pb, model="helper_bytes", inputs=[t]))), "as_numpy": t.as_numpy()}




@probe("bls")
def bls_noncontiguous(pb, req):
    np = _np()
    b = np.arange(8, dtype="f4")
    return {"stride": A(lambda: _resp(pb, _bls(pb, inputs=[pb.Tensor("INPUT0", b[::2])]))), "dlpack_stride": A(lambda: _resp(pb, _bls(pb, inputs=[pb.Tensor.from_dlpack("INPUT0", Cap(b[::2]))]))), "fortran": A(lambda: _resp(pb, _bls(pb, model="helper_batched", inputs=[pb.Tensor("INPUT0", np.asfortranarray(np.arange(6, dtype="f4").reshape(2, 3)))])))}


@probe("bls")
def bls_exec_twice_same_request(pb, req):
    r = pb.InferenceRequest(model_name="helper_identity", inputs=[_t(pb)], requested_output_names=["OUTPUT0"])
    return [A(lambda: _resp(pb, r.exec())), A(lambda: _resp(pb, r.exec()))]


@probe("bls")
def bls_forward_received_tensor(pb, req):
    "a tensor received in a BLS response can be passed on (its name is fixed)"
    np = _np()
    t = _bls(pb).output_tensors()[0]
    return {"renamed_copy": A(lambda: _resp(pb, _bls(pb, inputs=[pb.Tensor("INPUT0", t.as_numpy())]))), "dlpack": A(lambda: _resp(pb, _bls(pb, inputs=[pb.Tensor.from_dlpack("INPUT0", t.to_dlpack())])))}








@probe("bls")
def bls_async_in_loop(pb, req):
    import asyncio

    async def f():
        r = pb.InferenceRequest(model_name="helper_identity", inputs=[_t(pb)], requested_output_names=["OUTPUT0"])
        fut = r.async_exec()
        rs = await asyncio.gather(fut, r.async_exec())
        return [type(fut).__name__, asyncio.isfuture(fut), asyncio.iscoroutine(fut), [_resp(pb, x) for x in rs]]
    return A(lambda: asyncio.run(f()))


@probe("bls")
def bls_async_error(pb, req):
    import asyncio

    async def f():
        r = pb.InferenceRequest(model_name="nope", inputs=[_t(pb)], requested_output_names=["OUTPUT0"])
        return _resp(pb, await r.async_exec())
    return A(lambda: asyncio.run(f()))


@probe("bls")
def bls_exec_args(pb, req):
    r = pb.InferenceRequest(model_name="helper_identity", inputs=[_t(pb)], requested_output_names=["OUTPUT0"])
    return {"pos": A(lambda: _resp(pb, r.exec(False))), "none": A(lambda: r.exec(decoupled=None)), "int": A(lambda: r.exec(decoupled=1)), "kw": A(lambda: r.exec(timeout=1))}


@probe("bls")
def bls_exec_on_received_request(pb, req):
    "calling exec() on the request that came from the client (same model -> would recurse) is not tried; here only hasattr"
    return {"exec": hasattr(req, "exec")}


@probe("bls_decoupled")
def bls_decoupled_target_plain_exec(pb, req):
    np = _np()
    return A(lambda: _resp(pb, _bls(pb, model="helper_decoupled", inputs=[pb.Tensor("N", np.array([2], "i4"))])))


@probe("bls_decoupled")
def bls_decoupled_iterate(pb, req):
    np = _np()

    def f(n):
        it = _bls(pb, model="helper_decoupled", inputs=[pb.Tensor("N", np.array([n], "i4"))], decoupled=True)
        first = [_resp(pb, r) for r in it]
        again = [_resp(pb, r) for r in it]
        return {"type": tname(type(it)), "iter_is_self": iter(it) is it, "first": first, "again": again}
    return {"2": A(f, 2), "0": A(f, 0)}


@probe("bls_decoupled")
def bls_decoupled_next_and_len(pb, req):
    np = _np()
    it = _bls(pb, model="helper_decoupled", inputs=[pb.Tensor("N", np.array([1], "i4"))], decoupled=True)
    return {"next": A(lambda: _resp(pb, next(it))), "next2": A(lambda: _resp(pb, next(it))), "next3": A(lambda: next(it)), "len": A(lambda: len(it)), "attrs": sorted(a for a in dir(it) if a not in dir(object)), "index": A(lambda: it[0])}




def _dec(pb, model, n):
    it = _bls(pb, model=model, inputs=[pb.Tensor("N", _np().array([n], "i4"))], decoupled=True)
    return [tname(type(it)), [_resp(pb, r) for r in it]]


@probe("bls_decoupled")
def bls_decoupled_final_with_response(pb, req):
    return A(lambda: _dec(pb, "helper_decoupled", -3))




@probe("bls_decoupled", danger=True)
def bls_decoupled_target_raises(pb, req):
    return A(lambda: _dec(pb, "helper_decoupled", -1))


@probe("bls_decoupled", danger=True)
def bls_decoupled_error_response(pb, req):
    return A(lambda: _dec(pb, "helper_decoupled", -2))


@probe("bls_decoupled")
def bls_decoupled_async(pb, req):
    np = _np()
    import asyncio

    async def f():
        r = pb.InferenceRequest(model_name="helper_decoupled", inputs=[pb.Tensor("N", np.array([2], "i4"))], requested_output_names=["OUTPUT0"])
        it = await r.async_exec(decoupled=True)
        return [tname(type(it)), hasattr(it, "__aiter__"), [_resp(pb, x) for x in it]]
    return A(lambda: asyncio.run(f()))




@probe("bls_ensemble")
def bls_ensemble_errors(pb, req):
    np = _np()
    return {"raise_in_step": A(lambda: _resp(pb, _bls(pb, model="helper_ensemble_bad", inputs=[pb.Tensor("IN", np.array(["raise"], object))], outs=["OUT"]))), "error_in_step": A(lambda: _resp(pb, _bls(pb, model="helper_ensemble_bad", inputs=[pb.Tensor("IN", np.array(["error_invalid_arg"], object))], outs=["OUT"]))), "wrong_input": A(lambda: _resp(pb, _bls(pb, model="helper_ensemble", inputs=[pb.Tensor("NOPE", np.arange(3, dtype="f4"))], outs=["OUT"]))), "wrong_output": A(lambda: _resp(pb, _bls(pb, model="helper_ensemble", inputs=[pb.Tensor("IN", np.arange(3, dtype="f4"))], outs=["NOPE"]))), "step_without_output": A(lambda: _resp(pb, _bls(pb, model="helper_ensemble_bad", inputs=[pb.Tensor("IN", np.array(["no_output"], object))], outs=["OUT"])))}


@probe("bls_preferred")
def bls_preferred_memory(pb, req):
    f = lambda p: (lambda r: [_resp(pb, r), r.output_tensors()[0].is_cpu() if r.output_tensors() else None])(_bls(pb, preferred_memory=p))
    return {"cpu": A(lambda: f(pb.PreferredMemory(pb.TRITONSERVER_MEMORY_CPU, 0))), "gpu_on_cpu_box": A(lambda: f(pb.PreferredMemory(pb.TRITONSERVER_MEMORY_GPU, 0)))}


# ------------------------------------------------------------------ helper models (BLS targets)
HELPER_IDENTITY_SRC = '''
import numpy as np
import triton_python_backend_utils as pb_utils
class TritonPythonModel:
    def execute(self, requests):
        out = []
        for r in requests:
            a = r.inputs()[0].as_numpy()
            out.append(pb_utils.InferenceResponse([pb_utils.Tensor("OUTPUT0", a)]))
        return out
'''
HELPER_ERROR_SRC = '''
import numpy as np
import triton_python_backend_utils as pb_utils
class TritonPythonModel:
    def execute(self, requests):
        E = pb_utils.TritonError   # NOT at module level: the C++ names do not exist yet while model.py is imported
        out = []
        for r in requests:
            mode = r.inputs()[0].as_numpy().ravel()[0].decode()
            t = pb_utils.Tensor("OUTPUT0", np.zeros(1, "f4"))
            if mode == "raise": raise ValueError("boom")
            if mode == "tme": raise pb_utils.TritonModelException("boom tme")
            if mode == "wrong_len": return []
            if mode == "no_output": out.append(pb_utils.InferenceResponse([])); continue
            if mode == "error_default": e = E("msg default")
            elif mode == "error_with_outputs": out.append(pb_utils.InferenceResponse([t], E("with outputs"))); continue
            elif mode == "error_empty_message": e = E("")
            else: e = E("msg " + mode, getattr(E, mode[len("error_"):].upper()))
            out.append(pb_utils.InferenceResponse(error=e))
        return out
'''
FP32_1D = dict(inputs=[("INPUT0", "TYPE_FP32", [-1])], outputs=[("OUTPUT0", "TYPE_FP32", [-1])])
HELPERS = {
    "helper_identity": (HELPER_IDENTITY_SRC, dict(FP32_1D)),
    "helper_unloaded": (HELPER_IDENTITY_SRC, dict(FP32_1D)),
    "helper_batched": (HELPER_IDENTITY_SRC, dict(max_batch_size=8, inputs=[("INPUT0", "TYPE_FP32", [3])], outputs=[("OUTPUT0", "TYPE_FP32", [3])])),
    "helper_bytes": (HELPER_IDENTITY_SRC, dict(inputs=[("INPUT0", "TYPE_STRING", [-1])], outputs=[("OUTPUT0", "TYPE_STRING", [-1])])),
    "helper_bf16": ('''
import triton_python_backend_utils as pb_utils
class TritonPythonModel:
    def execute(self, requests):
        return [pb_utils.InferenceResponse([pb_utils.Tensor.from_dlpack("OUTPUT0", r.inputs()[0].to_dlpack())]) for r in requests]
''', dict(inputs=[("INPUT0", "TYPE_BF16", [-1])], outputs=[("OUTPUT0", "TYPE_BF16", [-1])])),
    "helper_echo_x32": ('''
import triton_python_backend_utils as pb_utils
class TritonPythonModel:
    def execute(self, requests):
        return [pb_utils.InferenceResponse([pb_utils.Tensor("X_FP32", r.inputs()[0].as_numpy())]) for r in requests]
''', dict(inputs=[("X_FP32", "TYPE_FP32", [-1])], outputs=[("X_FP32", "TYPE_FP32", [-1])])),
    "helper_two_out": ('''
import triton_python_backend_utils as pb_utils
class TritonPythonModel:
    def execute(self, requests):
        return [pb_utils.InferenceResponse([pb_utils.Tensor("OUTPUT0", r.inputs()[0].as_numpy()), pb_utils.Tensor("OUTPUT1", r.inputs()[0].as_numpy() + 1)]) for r in requests]
''', dict(inputs=[("INPUT0", "TYPE_FP32", [-1])], outputs=[("OUTPUT0", "TYPE_FP32", [-1]), ("OUTPUT1", "TYPE_FP32", [-1])])),
    "helper_error": (HELPER_ERROR_SRC, dict(inputs=[("MODE", "TYPE_STRING", [1])], outputs=[("OUTPUT0", "TYPE_FP32", [-1])])),
    "helper_echo_meta": ('''
import json
import numpy as np
import triton_python_backend_utils as pb_utils
class TritonPythonModel:
    def execute(self, requests):
        out = []
        for r in requests:
            m = {"id": r.request_id(), "corr": r.correlation_id(), "flags": r.flags(), "timeout": r.timeout(), "params": r.parameters(), "outs": sorted(r.requested_output_names())}
            out.append(pb_utils.InferenceResponse([pb_utils.Tensor("META", np.array([json.dumps(m)], dtype=object))]))
        return out
''', dict(inputs=[("INPUT0", "TYPE_FP32", [-1])], outputs=[("META", "TYPE_STRING", [1])])),
    "helper_decoupled": ('''
import numpy as np
import triton_python_backend_utils as pb_utils
class TritonPythonModel:
    def execute(self, requests):
        for r in requests:
            n = int(r.inputs()[0].as_numpy().ravel()[0])
            s = r.get_response_sender()
            if n == -1:
                raise ValueError("decoupled boom")
            if n == -2:
                s.send(pb_utils.InferenceResponse(error=pb_utils.TritonError("dec err", pb_utils.TritonError.NOT_FOUND)))
                s.send(flags=pb_utils.TRITONSERVER_RESPONSE_COMPLETE_FINAL)
                continue
            if n == -3:
                s.send(pb_utils.InferenceResponse([pb_utils.Tensor("OUTPUT0", np.array([7], "f4"))]), pb_utils.TRITONSERVER_RESPONSE_COMPLETE_FINAL)
                continue
            for i in range(n):
                s.send(pb_utils.InferenceResponse([pb_utils.Tensor("OUTPUT0", np.array([i], "f4"))]))
            s.send(flags=pb_utils.TRITONSERVER_RESPONSE_COMPLETE_FINAL)
        return None
''', dict(decoupled=True, inputs=[("N", "TYPE_INT32", [1])], outputs=[("OUTPUT0", "TYPE_FP32", [-1])])),
    "helper_wrong_dtype": ('''
import numpy as np
import triton_python_backend_utils as pb_utils
class TritonPythonModel:
    def execute(self, requests):
        out = []
        for r in requests:
            v = int(r.inputs()[0].as_numpy()[0])
            a = {1: np.zeros(1, "f8"), 2: np.zeros((2, 2), "f4"), 3: np.zeros(1, "f4")}[v]
            out.append(pb_utils.InferenceResponse([pb_utils.Tensor("OUTPUT0", a)]))
        return out
''', dict(FP32_1D)),
    "helper_ensemble": (None, dict(platform="ensemble", inputs=[("IN", "TYPE_FP32", [-1])], outputs=[("OUT", "TYPE_FP32", [-1])], extra='''
ensemble_scheduling { step [
 { model_name: "helper_identity" model_version: -1 input_map { key: "INPUT0" value: "IN" } output_map { key: "OUTPUT0" value: "mid" } },
 { model_name: "helper_identity" model_version: -1 input_map { key: "INPUT0" value: "mid" } output_map { key: "OUTPUT0" value: "OUT" } } ] }
''')),
    "helper_ensemble_bad": (None, dict(platform="ensemble", inputs=[("IN", "TYPE_STRING", [1])], outputs=[("OUT", "TYPE_FP32", [-1])], extra='''
ensemble_scheduling { step [
 { model_name: "helper_error" model_version: -1 input_map { key: "MODE" value: "IN" } output_map { key: "OUTPUT0" value: "mid" } },
 { model_name: "helper_identity" model_version: -1 input_map { key: "INPUT0" value: "mid" } output_map { key: "OUTPUT0" value: "OUT" } } ] }
''')),
}


def to_pbtxt(name, cfg):
    s = [f'name: "{name}"']
    s.append(f'platform: "{cfg["platform"]}"' if cfg.get("platform") else 'backend: "python"')
    s.append(f'max_batch_size: {cfg.get("max_batch_size", 0)}')
    for key in ("inputs", "outputs"):
        for it in cfg.get(key, []):
            opt = " optional: true" if len(it) > 3 and it[3] else ""
            s.append(f'{key[:-1]} [ {{ name: "{it[0]}" data_type: {it[1]} dims: {json.dumps(it[2])}{opt} }} ]')
    if cfg.get("decoupled") is not None:
        s.append(f'model_transaction_policy {{ decoupled: {str(cfg["decoupled"]).lower()} }}')
    if cfg.get("platform") != "ensemble":
        s.append(f'instance_group [ {{ count: {cfg.get("instances", 1)} kind: KIND_CPU }} ]')
    s.append(cfg.get("extra", ""))
    return "\n".join(s) + "\n"


# ====================================================================================================
#                                   MODEL PROBES (client-observed)
# ====================================================================================================
MODEL_PROBES = {}
HDR = '''import json, os, sys, time
import numpy as np
import triton_python_backend_utils as pb_utils
def mark(**k):
    with open(os.path.join(os.environ["PROBE_OUT"], __file__.split(os.sep)[-3] + ".json"), "a") as f:
        f.write(json.dumps(k, default=repr) + "\\n")
'''
C1 = {"inputs": [("INPUT0", "FP32", [2], [1, 2])]}
CB = {"inputs": [("INPUT0", "FP32", [1, 2], [1, 2])]}
BATCH = dict(max_batch_size=4, inputs=[("INPUT0", "TYPE_FP32", [2])], outputs=[("OUTPUT0", "TYPE_FP32", [2])],
             extra="dynamic_batching { preferred_batch_size: [2] max_queue_delay_microseconds: 3000000 }")


def ind(s, n):
    return "\n".join(" " * n + l if l.strip() else l for l in s.strip("\n").split("\n"))


def mp(name, body=None, cfg=None, calls=None, source=None, log=None, danger=False, note="", stagger=0.05, pre=""):
    """body = the body of execute(self, requests)"""
    if source is None:
        source = HDR + pre + "class TritonPythonModel:\n    def execute(self, requests):\n" + ind(body, 8) + "\n"
    else:
        source = HDR + source
    assert name not in MODEL_PROBES
    MODEL_PROBES[name] = dict(source=source, config=cfg if cfg is not None else dict(FP32_1D), calls=calls if calls is not None else [dict(C1)], log=log, danger=danger, note=note, stagger=stagger)


OKRESP = 'pb_utils.InferenceResponse([pb_utils.Tensor("OUTPUT0", r.inputs()[0].as_numpy())])'

# --- exceptions in execute
mp("mp_exec_raise_value_error", 'raise ValueError("boom")', log="boom|Failed to process")
mp("mp_exec_raise_tme", 'raise pb_utils.TritonModelException("tme boom")')
mp("mp_exec_raise_nested", '''
def inner():
    raise KeyError("k")
try:
    inner()
except KeyError as e:
    raise RuntimeError("outer é 名\\nline2") from e''', note="chained + unicode + newline")
mp("mp_exec_raise_no_message", "raise ValueError()")
mp("mp_exec_raise_deep", '''
def a(n):
    if n == 0: raise ValueError("deep")
    a(n - 1)
a(3)''')
mp("mp_exec_raise_custom_class", '''
class MyErr(Exception):
    def __str__(self): return "custom str"
raise MyErr(1, 2)''')
mp("mp_exec_raise_system_exit", 'raise SystemExit("bye")')
mp("mp_exec_raise_sys_exit_0_then_ok", '''
if float(requests[0].inputs()[0].as_numpy()[0]) == 1: sys.exit(0)
return [%s for r in requests]''' % OKRESP, calls=[dict(C1), {"inputs": [("INPUT0", "FP32", [1], [5])]}])
mp("mp_exec_raise_keyboard_interrupt", 'raise KeyboardInterrupt("ki")')
mp("mp_exec_assert", "assert 1 == 2, 'assertion text'")
mp("mp_exec_pb_error_in_execute", 'pb_utils.Tensor("", np.zeros(1, "f4"))', note="an exception thrown by the C++ side itself")
mp("mp_exec_pb_typeerror", 'pb_utils.Tensor("x", [1])')
mp("mp_exec_error_then_recover", '''
if float(requests[0].inputs()[0].as_numpy()[0]) == 1: raise ValueError("first")
return [%s for r in requests]''' % OKRESP, calls=[dict(C1), {"inputs": [("INPUT0", "FP32", [1], [5])]}])

# --- return values
mp("mp_ret_too_many", "return [pb_utils.InferenceResponse([])] * 2")
mp("mp_ret_tuple", "return tuple(%s for r in requests)" % OKRESP)
mp("mp_ret_generator", "return (%s for r in requests)" % OKRESP)
mp("mp_ret_yield", '''
for r in requests:
    yield %s''' % OKRESP, note="execute is a generator function")
mp("mp_ret_dict", "return {}")
mp("mp_ret_response_itself", "r = requests[0]\nreturn %s" % OKRESP)
mp("mp_ret_str", "return 'x'")
mp("mp_ret_list_of_none", "return [None]", calls=[dict(C1, timeout=4)])
mp("mp_ret_list_of_str", "return ['x']")
mp("mp_ret_list_of_tensor", 'return [pb_utils.Tensor("OUTPUT0", np.zeros(1, "f4"))]')
mp("mp_ret_true", "return True")
mp("mp_ret_empty_response", "return [pb_utils.InferenceResponse([])]")
mp("mp_ret_empty_response_requested", "return [pb_utils.InferenceResponse([])]", calls=[dict(C1, outputs=["OUTPUT0"])])
mp("mp_ret_swapped_order", '''
return list(reversed([%s for r in requests]))''' % OKRESP, cfg=BATCH, calls=[[dict(CB, timeout=8), {"inputs": [("INPUT0", "FP32", [1, 2], [7, 8])], "timeout": 8}]], stagger=0.4, note="responses are matched by position")
mp("mp_ret_wrong_len_batch", '''
return [%s for r in requests][:1] if len(requests) > 1 else []''' % OKRESP, cfg=BATCH, calls=[[dict(CB, timeout=8), dict(CB, timeout=8)]])

# --- error responses
for code in ["UNKNOWN", "INTERNAL", "NOT_FOUND", "INVALID_ARG", "UNAVAILABLE", "UNSUPPORTED", "ALREADY_EXISTS", "CANCELLED"]:
    mp("mp_err_code_" + code.lower(), 'return [pb_utils.InferenceResponse(error=pb_utils.TritonError("msg", pb_utils.TritonError.%s))]' % code, calls=[dict(C1), dict(C1, protocol="grpc")])
mp("mp_err_with_outputs", 'r = requests[0]\nreturn [pb_utils.InferenceResponse([pb_utils.Tensor("OUTPUT0", r.inputs()[0].as_numpy())], pb_utils.TritonError("both"))]')
mp("mp_err_empty_message", 'return [pb_utils.InferenceResponse(error=pb_utils.TritonError(""))]')
mp("mp_err_multiline", 'return [pb_utils.InferenceResponse(error=pb_utils.TritonError("a\\nb\\tç \\"q\\""))]')
mp("mp_err_nul", 'return [pb_utils.InferenceResponse(error=pb_utils.TritonError("a\\0b"))]')

# --- output tensors
OUT = lambda expr, name="OUTPUT0": 'return [pb_utils.InferenceResponse([pb_utils.Tensor("%s", %s)])]' % (name, expr)
mp("mp_out_undeclared_name", OUT('np.zeros(1, "f4")', "NOPE"), note="silently pruned")
mp("mp_out_duplicate", 'return [pb_utils.InferenceResponse([pb_utils.Tensor("OUTPUT0", np.zeros(1, "f4")), pb_utils.Tensor("OUTPUT0", np.ones(2, "f4"))])]')
mp("mp_out_wrong_dtype", OUT('np.array([1.5], "f8")'), note="declared FP32, returned FP64")
mp("mp_out_wrong_dtype_int_for_string", OUT("np.array([1], 'i4')"), cfg=dict(inputs=[("INPUT0", "TYPE_FP32", [-1])], outputs=[("OUTPUT0", "TYPE_STRING", [1])]))
mp("mp_out_wrong_shape", OUT('np.zeros((2, 2), "f4")'), cfg=dict(inputs=[("INPUT0", "TYPE_FP32", [-1])], outputs=[("OUTPUT0", "TYPE_FP32", [3])]))
mp("mp_out_missing_batch_dim", OUT('np.zeros(3, "f4")'), cfg=dict(max_batch_size=4, inputs=[("INPUT0", "TYPE_FP32", [2])], outputs=[("OUTPUT0", "TYPE_FP32", [3])]), calls=[dict(CB)])
mp("mp_out_zero_dim", OUT('np.array(2.5, "f4")'))
mp("mp_out_empty", OUT('np.zeros((0,), "f4")'))
mp("mp_out_strings", OUT('np.array(["a", b"b\\xff", 3, None, "ü", ""], dtype=object)'), cfg=dict(inputs=[("INPUT0", "TYPE_FP32", [-1])], outputs=[("OUTPUT0", "TYPE_STRING", [-1])]))
mp("mp_out_S", OUT('np.array([b"ab\\0", b"c"], dtype="S4")'), cfg=dict(inputs=[("INPUT0", "TYPE_FP32", [-1])], outputs=[("OUTPUT0", "TYPE_STRING", [-1])]))
mp("mp_out_empty_strings", OUT('np.array([], dtype=object)'), cfg=dict(inputs=[("INPUT0", "TYPE_FP32", [-1])], outputs=[("OUTPUT0", "TYPE_STRING", [-1])]))
mp("mp_out_noncontiguous", OUT('np.arange(12, dtype="f4").reshape(3, 4).T'), cfg=dict(inputs=[("INPUT0", "TYPE_FP32", [-1])], outputs=[("OUTPUT0", "TYPE_FP32", [-1, -1])]))
mp("mp_out_fp16_bool", 'return [pb_utils.InferenceResponse([pb_utils.Tensor("H", np.array([1.5], "f2")), pb_utils.Tensor("B", np.array([True, False]))])]', cfg=dict(inputs=[("INPUT0", "TYPE_FP32", [-1])], outputs=[("H", "TYPE_FP16", [-1]), ("B", "TYPE_BOOL", [-1])]))
mp("mp_out_requested_subset", '''
r = requests[0]
mark(outs=sorted(r.requested_output_names()))
return [pb_utils.InferenceResponse([pb_utils.Tensor("A", np.zeros(1, "f4")), pb_utils.Tensor("B", np.ones(1, "f4"))])]''', cfg=dict(inputs=[("INPUT0", "TYPE_FP32", [-1])], outputs=[("A", "TYPE_FP32", [-1]), ("B", "TYPE_FP32", [-1])]), calls=[dict(C1), dict(C1, outputs=["B"]), dict(C1, outputs=["NOPE"])])
mp("mp_out_prune_mutates_response", '''
r = requests[0]
x = pb_utils.InferenceResponse([pb_utils.Tensor("OUTPUT0", np.zeros(1, "f4")), pb_utils.Tensor("NOPE", np.zeros(1, "f4"))])
if not hasattr(self, "kept"): self.kept = x
mark(n=len(self.kept.output_tensors()))
return [x]''', calls=[dict(C1), dict(C1)], note="after return the response object itself lost the pruned tensors")
mp("mp_out_input_tensor_passthrough", '''
return [pb_utils.InferenceResponse([r.inputs()[0]]) for r in requests]''', cfg=dict(inputs=[("X", "TYPE_FP32", [-1])], outputs=[("X", "TYPE_FP32", [-1])]), calls=[{"inputs": [("X", "FP32", [2], [1, 2])]}], note="same tensor object back")
mp("mp_out_input_tensor_mutated_passthrough", '''
for r in requests: r.inputs()[0].as_numpy()[0] = 99
return [pb_utils.InferenceResponse([r.inputs()[0]]) for r in requests]''', cfg=dict(inputs=[("X", "TYPE_FP32", [-1])], outputs=[("X", "TYPE_FP32", [-1])]), calls=[{"inputs": [("X", "FP32", [2], [1, 2])]}], note="mutation of the numpy copy is lost")
mp("mp_out_mutated_after_response_built", '''
a = np.zeros(2, "f4")
x = pb_utils.InferenceResponse([pb_utils.Tensor("OUTPUT0", a)])
a[:] = 5
return [x]''')
mp("mp_out_no_outputs_config", "return [pb_utils.InferenceResponse([])]", cfg=dict(inputs=[("INPUT0", "TYPE_FP32", [-1])], outputs=[]))

# --- class / lifecycle
INIT_OK = "class TritonPythonModel:\n    def execute(self, requests):\n        return [%s for r in requests]\n" % OKRESP
mp("mp_life_no_execute", source="class TritonPythonModel:\n    pass\n")
mp("mp_life_no_initialize", source=INIT_OK)
mp("mp_life_no_class", source="x = 1\n")
mp("mp_life_import_error", source="import no_such_module_xyz\n" + INIT_OK)
mp("mp_life_module_level_annotation", source="class TritonPythonModel:\n    def execute(self, requests) -> list[pb_utils.InferenceResponse]:\n        return [%s for r in requests]\n" % OKRESP)
mp("mp_life_module_level_names", source="mark(names=sorted(n for n in dir(pb_utils) if not n.startswith('__')), model_dir=hasattr(pb_utils, 'get_model_dir'))\n" + INIT_OK, note="marker: what pb_utils has at import time (1st line auto-complete process, 2nd the instance)")
mp("mp_life_from_import", source="from triton_python_backend_utils import Tensor\n" + INIT_OK)
mp("mp_life_module_names", source="mark(name=__name__, file=__file__.split(os.sep)[-3:], package=__package__, path=[p.split(os.sep)[-1] for p in sys.path[-3:]])\n" + INIT_OK)
mp("mp_life_init_raises", source='class TritonPythonModel:\n    def initialize(self, args):\n        raise RuntimeError("init boom")\n    def execute(self, requests): return []\n')
mp("mp_life_init_raises_tme", source='class TritonPythonModel:\n    def initialize(self, args):\n        raise pb_utils.TritonModelException("init tme")\n    def execute(self, requests): return []\n')
mp("mp_life_init_no_args", source="class TritonPythonModel:\n    def initialize(self):\n        pass\n    def execute(self, requests): return []\n")
mp("mp_life_ctor_args", source="class TritonPythonModel:\n    def __init__(self, x):\n        pass\n    def execute(self, requests): return []\n")
mp("mp_life_init_args", source='''class TritonPythonModel:
    def initialize(self, args):
        c = json.loads(args["model_config"])
        mark(keys=sorted(args), types={k: type(v).__name__ for k, v in args.items()}, vals={k: (v if k not in ("model_config", "model_repository") else None) for k, v in args.items()}, repo_tail=args["model_repository"].split(os.sep)[-2:], config=c, config_keys=sorted(c), version_type=type(args["model_version"]).__name__, argtype=type(args).__name__)
''' + INIT_OK.split("\n", 1)[1], cfg=dict(max_batch_size=2, inputs=[("INPUT0", "TYPE_FP32", [2, -1])], outputs=[("OUTPUT0", "TYPE_FP32", [-1, -1])], extra='parameters { key: "p" value: { string_value: "v" } }'), calls=[{"inputs": [("INPUT0", "FP32", [1, 2, 1], [1, 2])]}])
mp("mp_life_two_instances", source='''class TritonPythonModel:
    def initialize(self, args):
        mark(name=args["model_instance_name"], kind=args["model_instance_kind"], dev=args["model_instance_device_id"])
''' + INIT_OK.split("\n", 1)[1], cfg=dict(FP32_1D, instances=2))
mp("mp_life_finalize", source='''class TritonPythonModel:
    def finalize(self):
        mark(finalized=True)
''' + INIT_OK.split("\n", 1)[1])
mp("mp_life_finalize_raises", source='''class TritonPythonModel:
    def finalize(self):
        mark(finalized=True)
        raise ValueError("fin boom")
''' + INIT_OK.split("\n", 1)[1], log="fin boom|Finalize|finalize")
mp("mp_life_execute_static", source="class TritonPythonModel:\n    @staticmethod\n    def execute(requests):\n        return [%s for r in requests]\n" % OKRESP)
mp("mp_life_factory_function", source="class M:\n    def execute(self, requests):\n        return [%s for r in requests]\ndef TritonPythonModel():\n    return M()\n" % OKRESP)
mp("mp_life_bls_in_initialize", source='''class TritonPythonModel:
    def initialize(self, args):
        r = pb_utils.InferenceRequest(model_name="helper_identity", inputs=[pb_utils.Tensor("INPUT0", np.zeros(1, "f4"))], requested_output_names=["OUTPUT0"])
        try:
            x = r.exec()
            mark(err=x.has_error() and x.error().message())
        except Exception as e:
            mark(raised=[type(e).__name__, str(e)])
''' + INIT_OK.split("\n", 1)[1])
mp("mp_life_pb_in_initialize", source='''class TritonPythonModel:
    def initialize(self, args):
        mark(dir=pb_utils.get_model_dir() == os.path.dirname(os.path.abspath(__file__)), ready=pb_utils.is_model_ready("helper_identity"), fam=type(pb_utils.MetricFamily("in_init", "d", pb_utils.MetricFamily.COUNTER)).__name__)
        pb_utils.Logger.log_info("hello from init")
''' + INIT_OK.split("\n", 1)[1], log="hello from init")
mp("mp_life_bls_in_finalize", source='''class TritonPythonModel:
    def finalize(self):
        r = pb_utils.InferenceRequest(model_name="helper_identity", inputs=[pb_utils.Tensor("INPUT0", np.zeros(1, "f4"))], requested_output_names=["OUTPUT0"])
        try:
            r.exec()
            mark(ok=True)
        except Exception as e:
            mark(raised=[type(e).__name__, str(e)])
''' + INIT_OK.split("\n", 1)[1])
mp("mp_life_print", '''
print("stdout line"); print("stderr line", file=sys.stderr)
return [%s for r in requests]''' % OKRESP, log="stdout line|stderr line")
mp("mp_life_is_ready_false", source="class TritonPythonModel:\n    def is_ready(self):\n        return False\n" + INIT_OK.split("\n", 1)[1], calls=[{"protocol": "ready"}, dict(C1)], note="26.03+ feature: ignored on 24.10")

# --- auto complete
AC_CFG = "backend: \"python\"\n"
AC_BODY = '''class TritonPythonModel:
    @staticmethod
    def auto_complete_config(c):
%s
    def execute(self, requests):
        return [pb_utils.InferenceResponse([pb_utils.Tensor("OUTPUT0", r.inputs()[0].as_numpy())]) for r in requests]
'''
AC_GOOD = '''        c.add_input({"name": "INPUT0", "data_type": "TYPE_FP32", "dims": [-1]})
        c.add_output({"name": "OUTPUT0", "data_type": "TYPE_FP32", "dims": [-1]})
        c.set_max_batch_size(0)'''
mp("mp_ac_returns_dict", source=AC_BODY % (AC_GOOD + "\n        return c.as_dict()"), cfg=AC_CFG)
mp("mp_ac_raises", source=AC_BODY % '        raise ValueError("ac boom")', cfg=AC_CFG)
mp("mp_ac_conflict", source=AC_BODY % '        c.add_input({"name": "INPUT0", "data_type": "TYPE_INT8", "dims": [-1]})\n        return c')
mp("mp_ac_not_static", source=(AC_BODY % (AC_GOOD + "\n        return c")).replace("    @staticmethod\n", "").replace("(c)", "(self, c)"), cfg=AC_CFG, note="a plain method: called on the class with one arg")
mp("mp_ac_instance_style_one_arg", source=(AC_BODY % (AC_GOOD + "\n        return c")).replace("    @staticmethod\n", ""), cfg=AC_CFG)
mp("mp_ac_missing", source=INIT_OK, cfg=AC_CFG, note="empty config, no auto_complete_config")
mp("mp_ac_batch", source=AC_BODY % (AC_GOOD.replace("size(0)", "size(4)") + "\n        c.set_dynamic_batching()\n        c.set_model_transaction_policy({'decoupled': False})\n        return c"), cfg=AC_CFG, calls=[{"protocol": "config"}])
mp("mp_ac_edits_other_fields", source=AC_BODY % (AC_GOOD + "\n        c.as_dict()['parameters'] = {'k': {'string_value': 'v'}}\n        c.as_dict()['instance_group'] = [{'count': 2, 'kind': 'KIND_CPU'}]\n        return c"), cfg=AC_CFG, calls=[{"protocol": "config"}], note="fields other than in/out/mbs/scheduler are ignored?")

# --- async
mp("mp_async_ok", source="import asyncio\nclass TritonPythonModel:\n    async def execute(self, requests):\n        await asyncio.sleep(0)\n        return [%s for r in requests]\n" % OKRESP)
mp("mp_async_raise", source="class TritonPythonModel:\n    async def execute(self, requests):\n        raise ValueError('async boom')\n")
mp("mp_async_none", source="class TritonPythonModel:\n    async def execute(self, requests):\n        return None\n", calls=[dict(C1, timeout=4)])
mp("mp_async_thread", source='''import asyncio, threading
class TritonPythonModel:
    async def execute(self, requests):
        t = threading.current_thread()
        mark(thread_is_main=t is threading.main_thread(), loop=type(asyncio.get_running_loop()).__name__, daemon=t.daemon)
        r = pb_utils.InferenceRequest(model_name="helper_identity", inputs=[pb_utils.Tensor("INPUT0", np.ones(2, "f4"))], requested_output_names=["OUTPUT0"])
        x = await r.async_exec()
        return [pb_utils.InferenceResponse([pb_utils.Tensor("OUTPUT0", x.output_tensors()[0].as_numpy())]) for r in requests]
''')
mp("mp_async_returns_coroutine_from_sync", source='''class TritonPythonModel:
    def execute(self, requests):
        async def f():
            return [%s for r in requests]
        return f()
''' % OKRESP)

# --- response sender, non-decoupled
SND = "s = requests[0].get_response_sender()\nr = requests[0]\nok = lambda v=3: pb_utils.InferenceResponse([pb_utils.Tensor('OUTPUT0', np.array([v], 'f4'))])\n"
LOGT = '''
def att(f):
    try:
        f(); return "ok"
    except BaseException as e:
        return [type(e).__name__, str(e)]
'''
mp("mp_snd_final_with_response", SND + "s.send(ok(), flags=1)\nreturn None")
mp("mp_snd_then_final", SND + "s.send(ok())\ns.send(flags=1)\nreturn None")
mp("mp_snd_no_final", SND + "s.send(ok())\nreturn None", calls=[dict(C1, timeout=4)])
mp("mp_snd_twice", LOGT + SND + "mark(a=att(lambda: s.send(ok())), b=att(lambda: s.send(ok(), flags=1)), c=att(lambda: s.send(flags=1)), d=att(lambda: s.send(flags=1)))\nreturn None")
mp("mp_snd_final_first", LOGT + SND + "mark(a=att(lambda: s.send(flags=1)), b=att(lambda: s.send(ok(), 1)))\nreturn None")
mp("mp_snd_and_return_response", SND + "s.send(ok(1), flags=1)\nreturn [ok(2)]", log="Unable to send|Failed to process")
mp("mp_snd_then_raise", SND + "s.send(ok(1), flags=1)\nraise ValueError('late')", log="late")
mp("mp_snd_raise_then_use_sender", LOGT + '''
import threading
s = requests[0].get_response_sender()
def later():
    time.sleep(0.4)
    mark(a=att(lambda: s.send(pb_utils.InferenceResponse([]), 1)))
threading.Thread(target=later).start()
raise ValueError("now")''', calls=[dict(C1), dict(C1)], note="execute raised: the sender is closed")
mp("mp_snd_error_response", SND + "s.send(pb_utils.InferenceResponse(error=pb_utils.TritonError('snd err', pb_utils.TritonError.NOT_FOUND)), flags=1)\nreturn None")
mp("mp_snd_undeclared_output", SND + "s.send(pb_utils.InferenceResponse([pb_utils.Tensor('NOPE', np.zeros(1,'f4')), pb_utils.Tensor('OUTPUT0', np.zeros(1,'f4'))]), flags=1)\nreturn None")

# --- decoupled
DEC = dict(decoupled=True, inputs=[("INPUT0", "TYPE_FP32", [-1])], outputs=[("OUTPUT0", "TYPE_FP32", [-1])])
CS = dict(C1, protocol="stream", timeout=4)
mp("mp_dec_http_infer", SND + "s.send(ok(), flags=1)\nreturn None", cfg=DEC, calls=[dict(C1, timeout=5), dict(C1, protocol="grpc", timeout=5)])
mp("mp_dec_two_then_final", SND + "s.send(ok(1)); s.send(ok(2)); s.send(flags=1)\nreturn None", cfg=DEC, calls=[dict(CS)])
mp("mp_dec_final_only", SND + "s.send(flags=1)\nreturn None", cfg=DEC, calls=[dict(CS)])
mp("mp_dec_no_final", SND + "s.send(ok(1))\nreturn None", cfg=DEC, calls=[dict(CS)], note="sender garbage-collected without the final flag")
mp("mp_dec_returns_list", SND + "s.send(ok(1), flags=1)\nreturn [ok(2)]", cfg=DEC, calls=[dict(CS)], log="decoupled mode")
mp("mp_dec_returns_empty_list", SND + "s.send(ok(1)); s.send(flags=1)\nreturn []", cfg=DEC, calls=[dict(CS)], log="decoupled mode")
mp("mp_dec_returns_list_before_send", "return []", cfg=DEC, calls=[dict(CS)])
mp("mp_dec_raise", "raise ValueError('dec boom')", cfg=DEC, calls=[dict(CS)])
mp("mp_dec_raise_after_final", SND + "s.send(ok(1), 1)\nraise ValueError('dec after final')", cfg=DEC, calls=[dict(CS)], log="dec after final")
mp("mp_dec_send_after_final", LOGT + SND + "s.send(ok(1), 1)\nmark(a=att(lambda: s.send(ok(2))), b=att(lambda: s.send(flags=1)), c=att(lambda: s.send(ok(2), 1)))\nreturn None", cfg=DEC, calls=[dict(CS)])
mp("mp_dec_args", LOGT + SND + "mark(none0=att(lambda: s.send(None, 0)), noargs=att(lambda: s.send()), flag2=att(lambda: s.send(ok(), 2)), flag3=att(lambda: s.send(ok(), 3)), strarg=att(lambda: s.send('x')), cancelled=s.is_cancelled(), rcancel=r.is_cancelled())\ns.send(response=ok(1), flags=pb_utils.TRITONSERVER_RESPONSE_COMPLETE_FINAL)\nreturn None", cfg=DEC, calls=[dict(CS)])
mp("mp_dec_error_response_continue", SND + "s.send(pb_utils.InferenceResponse(error=pb_utils.TritonError('e1', pb_utils.TritonError.UNAVAILABLE)))\ns.send(ok(2))\ns.send(flags=1)\nreturn None", cfg=DEC, calls=[dict(CS, after_error=True)], note="responses after an error response still arrive")
mp("mp_dec_thread", '''
import threading
def work(s):
    time.sleep(0.2)
    s.send(pb_utils.InferenceResponse([pb_utils.Tensor("OUTPUT0", np.array([9], "f4"))]))
    s.send(flags=1)
for r in requests:
    threading.Thread(target=work, args=(r.get_response_sender(),)).start()
return None''', cfg=DEC, calls=[dict(CS)])
mp("mp_dec_async", source='''import asyncio
class TritonPythonModel:
    async def execute(self, requests):
        for r in requests:
            s = r.get_response_sender()
            await asyncio.sleep(0.05)
            s.send(pb_utils.InferenceResponse([pb_utils.Tensor("OUTPUT0", np.array([4], "f4"))]))
            s.send(flags=1)
''', cfg=DEC, calls=[dict(CS)])
mp("mp_dec_async_raise", source='''import asyncio
class TritonPythonModel:
    async def execute(self, requests):
        raise ValueError("async dec boom")
''', cfg=DEC, calls=[dict(CS)], log="async dec boom|Traceback", note="exception only logged; the client gets ...?")
mp("mp_dec_same_response_object_twice", SND + "x = ok(1)\ns.send(x); s.send(x); s.send(flags=1)\nreturn None", cfg=DEC, calls=[dict(CS)])
mp("mp_dec_cancel_seen", '''
import threading
r = requests[0]
s = r.get_response_sender()
def work():
    t0 = time.time()
    s.send(pb_utils.InferenceResponse([pb_utils.Tensor("OUTPUT0", np.array([1], "f4"))]))
    while time.time() - t0 < 6 and not s.is_cancelled():
        time.sleep(0.1)
    mark(cancelled=s.is_cancelled(), again=r.is_cancelled())
    try:
        s.send(pb_utils.InferenceResponse(error=pb_utils.TritonError("c", pb_utils.TritonError.CANCELLED)), 1)
        mark(send="ok")
    except Exception as e:
        mark(send=str(e))
threading.Thread(target=work).start()
return None''', cfg=DEC, calls=[dict(CS, timeout=2)], note="client cancels the stream after 2 s")

# --- ensemble as seen by a client, metrics, rescheduling
mp("mp_ens_raise", source="", cfg='name: "mp_ens_raise"\nplatform: "ensemble"\nmax_batch_size: 0\ninput [{name: "IN" data_type: TYPE_STRING dims: [1]}]\noutput [{name: "OUT" data_type: TYPE_FP32 dims: [-1]}]' + HELPERS["helper_ensemble_bad"][1]["extra"], calls=[{"inputs": [("IN", "BYTES", [1], [m])]} for m in ("raise", "error_invalid_arg", "no_output", "wrong_len")])
mp("mp_reschedule", '''
r = requests[0]
self.n = getattr(self, "n", 0) + 1
if self.n < 3:
    r.set_release_flags(pb_utils.TRITONSERVER_REQUEST_RELEASE_RESCHEDULE)
    return [None]
mark(n=self.n, flags=r.flags())
return [pb_utils.InferenceResponse([pb_utils.Tensor("OUTPUT0", np.array([[self.n]], "f4"))])]''', cfg=dict(max_batch_size=4, inputs=[("INPUT0", "TYPE_FP32", [2])], outputs=[("OUTPUT0", "TYPE_FP32", [-1])], extra="sequence_batching { iterative_sequence: true }"), calls=[dict(CB, timeout=6, sequence_id=7, sequence_start=True, sequence_end=True), dict(CB, timeout=6)])
mp("mp_reschedule_with_response", '''
r = requests[0]
r.set_release_flags(pb_utils.TRITONSERVER_REQUEST_RELEASE_RESCHEDULE)
return [%s]''' % OKRESP, cfg=dict(max_batch_size=4, inputs=[("INPUT0", "TYPE_FP32", [2])], outputs=[("OUTPUT0", "TYPE_FP32", [-1])], extra="sequence_batching { iterative_sequence: true }"), calls=[dict(CB, timeout=6, sequence_id=7, sequence_start=True, sequence_end=True), dict(CB, timeout=6)])
mp("mp_reschedule_plain_model", '''
r = requests[0]
self.n = getattr(self, "n", 0) + 1
if self.n < 2:
    r.set_release_flags(pb_utils.TRITONSERVER_REQUEST_RELEASE_RESCHEDULE)
    return [None]
return [%s]''' % OKRESP, calls=[dict(C1, timeout=4)], log="eschedul")
# --- input validation by the server before execute
mp("mp_in_bad_dtype", "return [%s for r in requests]" % OKRESP, calls=[{"inputs": [("INPUT0", "FP64", [2], [1, 2])]}, {"inputs": [("WRONG", "FP32", [2], [1, 2])]}, {"inputs": []}, {"inputs": [("INPUT0", "FP32", [1, 2], [1, 2])]}, dict(C1, outputs=["NOPE"])], note="server-side validation errors; execute is never called")
# --- dangerous
mp("mp_exec_os_exit", '''
if float(requests[0].inputs()[0].as_numpy()[0]) == 1: os._exit(3)
return [%s for r in requests]''' % OKRESP, calls=[dict(C1, timeout=20), {"inputs": [("INPUT0", "FP32", [1], [5])]}], danger=True, log="not healthy|restart|Non-graceful")
mp("mp_exec_segfault", '''
if float(requests[0].inputs()[0].as_numpy()[0]) == 1:
    import ctypes; ctypes.string_at(0)
return [%s for r in requests]''' % OKRESP, calls=[dict(C1, timeout=20), {"inputs": [("INPUT0", "FP32", [1], [5])]}], danger=True)
mp("mp_constructed_request_is_cancelled", '''
q = pb_utils.InferenceRequest(model_name="helper_identity", inputs=[], requested_output_names=[])
c = q.is_cancelled()
return [%s for r in requests]''' % OKRESP, calls=[dict(C1, timeout=8)], danger=True, note="source: the parent throws in its monitor thread -> server abort expected")


mp("mp_metric_page", source='''class TritonPythonModel:
    def initialize(self, args):
        F = pb_utils.MetricFamily
        self.c = F("mpm_counter", "some help", F.COUNTER); self.cm = self.c.Metric(labels={"b": "2", "a": "1"}); self.cm.increment(2.5)
        self.g = F("mpm_gauge", "", F.GAUGE); self.gm = self.g.Metric(); self.gm.set(-1)
        self.h = F("mpm_hist", "h", F.HISTOGRAM); self.hm = self.h.Metric(labels={"l": "x"}, buckets=[0.5, 1]); self.hm.observe(0.7)
        self.e = F("mpm_nometric", "family without metric", F.COUNTER)
''' + INIT_OK.split("\n", 1)[1], calls=[dict(C1), {"protocol": "metrics", "grep": "mpm_"}], note="the /metrics page")
INST_SRC = '''class TritonPythonModel:
    def initialize(self, args):
        mark(name=args["model_instance_name"], kind=args["model_instance_kind"], dev=args["model_instance_device_id"], groups=[[g["name"], g["kind"], g["count"]] for g in json.loads(args["model_config"])["instance_group"]])
    def execute(self, requests):
        raise ValueError("x")
'''
RAW_IO = 'backend: "python"\ninput [{name: "INPUT0" data_type: TYPE_FP32 dims: [-1]}]\noutput [{name: "OUTPUT0" data_type: TYPE_FP32 dims: [-1]}]\n'
mp("mp_instance_names_default", source=INST_SRC, cfg=RAW_IO, note="no instance_group in the config: instance is NAME_0, otherwise NAME_<group>_<i>")
mp("mp_instance_names_auto_kind", source=INST_SRC, cfg=RAW_IO + "instance_group [{count: 1}]")
mp("mp_instance_names_named", source=INST_SRC, cfg=RAW_IO + 'instance_group [{name: "grp" count: 1 kind: KIND_CPU}]')
mp("mp_instance_names_two_groups", source=INST_SRC, cfg=RAW_IO + "instance_group [{count: 1 kind: KIND_CPU}, {count: 1 kind: KIND_CPU}]")
mp("mp_dec_set_of_batch", '''
for r in requests:
    r.get_response_sender().send(pb_utils.InferenceResponse([pb_utils.Tensor("OUTPUT0", np.array([r.request_id() == "x"], "f4"))]), 1)
return None''', cfg=DEC, calls=[dict(CS, request_id="x")])


if __name__ == "__main__":
    print(len(PROBES), "probes", len(MODEL_PROBES), "model probes")
