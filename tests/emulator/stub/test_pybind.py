"""The object model of the C++ classes."""

from __future__ import annotations

import copy
import pickle
import weakref
from typing import Any

import numpy as np
import pytest

from tests.emulator.stub.kit import pb_utils
from triton_pyb.emulator.stub.errors import EmulatorError


@pytest.fixture
def pb() -> Any:
    return pb_utils()


def test_class_and_metaclass_carry_the_names_of_pybind11(pb: Any) -> None:
    assert repr(pb.Tensor) == "<class 'c_python_backend_utils.Tensor'>"
    assert pb.Tensor.__name__ == "Tensor"
    assert (type(pb.Tensor).__module__, type(pb.Tensor).__qualname__) == ("pybind11_builtins", "pybind11_type")
    assert [base.__name__ for base in pb.Tensor.__mro__] == ["Tensor", "pybind11_object", "object"]


def test_instances_have_no_dict_but_weak_references(pb: Any) -> None:
    tensor = pb.Tensor("a", np.zeros(1))
    with pytest.raises(AttributeError, match="'c_python_backend_utils.Tensor' object has no attribute 'foo'"):
        tensor.foo = 1
    assert weakref.ref(tensor)() is tensor
    assert tensor != pb.Tensor("a", np.zeros(1))


@pytest.mark.parametrize("duplicate", [copy.copy, copy.deepcopy, pickle.dumps])
def test_instances_cannot_be_copied(pb: Any, duplicate: Any) -> None:
    with pytest.raises(TypeError, match="cannot pickle 'c_python_backend_utils.Tensor' object"):
        duplicate(pb.Tensor("a", np.zeros(1)))


def test_nothing_of_ours_shows_in_dir(pb: Any) -> None:
    shown = set(dir(pb.TritonError("m"))) - set(dir(object))
    assert shown == {"__module__", "__ErrorCode", "code", "message", *type(pb.TritonError.UNKNOWN).__members__}


def test_a_subclass_must_call_init(pb: Any) -> None:
    class Forgets(pb.InferenceResponse):  # type: ignore[misc]
        def __init__(self) -> None:
            pass

    with pytest.raises(TypeError, match=r"InferenceResponse.__init__\(\) must be called when overriding __init__"):
        Forgets()


def test_a_subclass_works_and_has_a_dict(pb: Any) -> None:
    class Own(pb.Tensor):  # type: ignore[misc]
        def __init__(self, name: str) -> None:
            super().__init__(name, np.zeros(2))
            self.note = "kept"

    own = Own("a")
    assert isinstance(own, pb.Tensor)
    assert (own.name(), own.note) == ("a", "kept")
    assert pb.InferenceResponse([own]).output_tensors()[0] is own


@pytest.mark.parametrize("name", ["Logger", "InferenceTrace", "InferenceResponseSender", "Metric"])
def test_classes_without_a_constructor_say_so(pb: Any, name: str) -> None:
    with pytest.raises(TypeError, match=f"c_python_backend_utils.{name}: No constructor defined!"):
        getattr(pb, name)()


def test_codes_of_triton_error_are_read_only_and_new_at_each_access(pb: Any) -> None:
    assert pb.TritonError.NOT_FOUND == pb.TritonError.NOT_FOUND
    assert pb.TritonError.NOT_FOUND is not pb.TritonError.NOT_FOUND
    with pytest.raises(AttributeError):
        pb.TritonError.NOT_FOUND = 1


@pytest.mark.parametrize("protocol", [0, 1])
def test_pickling_by_an_old_protocol_kills_the_stub(pb: Any, protocol: int) -> None:
    with pytest.raises(EmulatorError, match=f"TPB514 pickling a TritonError by protocol {protocol} kills the stub"):
        pickle.dumps(pb.TritonError("m"), protocol)
    assert pb.stub.fault.code == "TPB514"


def test_a_second_init_changes_nothing(pb: Any) -> None:
    tensor, response = pb.Tensor("a", np.zeros(1)), pb.InferenceResponse([pb.Tensor("a", np.zeros(1))])
    tensor.__init__("b", np.ones(2))
    response.__init__([])
    assert (tensor.name(), tensor.shape(), len(response.output_tensors())) == ("a", [1], 1)
    with pytest.raises(TypeError, match="incompatible constructor arguments"):
        tensor.__init__(1)


def test_a_subclass_without_constructor_goes_by_its_own_name(pb: Any) -> None:
    class Own(pb.Logger):  # type: ignore[misc]
        pass

    with pytest.raises(TypeError, match=r"^Own: No constructor defined!"):
        Own()
    with pytest.raises(TypeError, match=r"^c_python_backend_utils.Logger: No constructor defined!"):
        pb.Logger()


def test_small_things(pb: Any) -> None:
    assert pb.module.__doc__ is None
    assert pb.get_model_dir.__module__ == "triton_python_backend_utils"
    assert vars(type(pb.TritonError.INTERNAL))["__entries"]["INTERNAL"] == (pb.TritonError.INTERNAL, None)
