"""Files beside plain tensor data: attributes, memory, meta tensors; and their errors."""

import datetime
import io
import pathlib
import pickle
import warnings
from collections import deque
from types import SimpleNamespace

import numpy as np
import pytest

import ingot
import torch_pickles as tp
from ingot import nn
from ingot.ir.errors import FileError
from ingot.runtime.distributed.collectives import object_collectives
from ingot.runtime.serialization import python_objects
from ingot.runtime.serialization.read_budget import ReadBudget
from ingot.runtime.serialization.safe_unpickler import PLAIN_GLOBALS, PickleMachine

torch_formats = pytest.mark.parametrize("write", [tp.archive, tp.legacy], ids=["zip", "legacy"])


def through_file(x):
    memory = io.BytesIO()
    ingot.save(x, memory)
    memory.seek(0)
    return ingot.load(memory)


KINDS = {
    "tensor": lambda: ingot.ones(3), "view": lambda: ingot.ones(5)[1:4], "parameter": lambda: nn.Parameter(ingot.ones(3)),
    "parameter over a part": lambda: nn.Parameter(ingot.ones(5)[1:4]), "buffer": lambda: nn.Buffer(ingot.ones(3)),
}


@pytest.mark.parametrize("make", KINDS.values(), ids=KINDS)
def test_attributes_of_tensors_are_saved(make):
    x = make()
    x.note, x.parts, x.itself = "a", {"b": [1, ingot.zeros(2)]}, x
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        y, plain = through_file([x, make()])
    assert type(y) is type(x) and y.note == "a" and y.itself is y and y.parts["b"][1].tolist() == [0, 0]
    assert not hasattr(plain, "note") and y.tolist() == [1, 1, 1]


def test_attributes_of_module_tensors_are_saved():
    model = nn.Linear(2, 2)
    model.weight.note = "w"
    model.register_buffer("steps", nn.Buffer(ingot.zeros(1), persistent=False))
    back = through_file(model)
    assert back.weight.note == "w" and back.steps.persistent is False
    assert through_file(model.state_dict(keep_vars=True))["weight"].note == "w"


def test_attributes_that_files_do_not_hold_are_left_out_aloud():
    x = ingot.ones(2)
    x.loader, x.deep, x.note = print, [1, {"f": print}], "a"
    with pytest.warns(UserWarning, match="left out") as told:
        y, after = through_file({"x": [x, 3]})["x"]
    assert {str(w.message).split("'")[1] for w in told} == {"loader", "deep"}
    assert y.note == "a" and not hasattr(y, "loader") and not hasattr(y, "deep") and after == 3


def test_names_of_the_librarys_own_are_not_taken_from_files():
    x = ingot.ones(2)
    assert through_file(x).__dict__ == {}
    s = tp.Stored("0", "Float", np.ones(2, np.float32))
    made = tp.Call("torch._tensor._rebuild_from_type_v2", tp.Global("torch._utils._rebuild_tensor_v2"),
                   tp.Global("torch.Tensor"), (s, 0, (2,), (1,), False, tp.Call("collections.OrderedDict")),
                   {"note": "a", "_base": 1, "_path": 2, 3: 4})
    y = ingot.load(io.BytesIO(tp.archive(made, [s])))
    assert y.__dict__ == {"note": "a"} and (y + 1).tolist() == [2, 2]


@pytest.mark.parametrize("kind", [tuple, list])
def test_arguments_of_rebuilt_tensors_are_tuples(kind):
    """PyTorch writes tuples; other arguments are not from its files."""
    s = tp.Stored("0", "Float", np.ones(2, np.float32))
    made = tp.Call("torch._tensor._rebuild_from_type_v2", tp.Global("torch._utils._rebuild_tensor_v2"),
                   tp.Global("torch.Tensor"), kind((s, 0, (2,), (1,), False, tp.Call("collections.OrderedDict"))), {})
    file = io.BytesIO(tp.archive(made, [s]))
    if kind is tuple:
        assert ingot.load(file).tolist() == [1, 1]
    else:
        with pytest.raises(FileError):
            ingot.load(file)


@pytest.mark.parametrize("activation", ["relu", "gelu", "silu", "tanh"])
def test_activations_that_layers_hold_come_back(activation):
    layer = nn.TransformerEncoderLayer(8, 2, 16, activation=getattr(nn.functional, activation)).eval()
    x = ingot.randn(3, 2, 8)
    found = through_file(layer)
    assert found.activation is layer.activation and found(x).equal(layer(x))


@pytest.mark.parametrize("name", ["linear", "dropout", "conv2d", "interpolate"])
def test_files_name_no_other_functions(name):
    with pytest.raises(FileError):
        through_file({"held": getattr(nn.functional, name)})


@pytest.mark.parametrize("state", [{"note": "a"}, ({"note": "a"}, {"slot": 1})], ids=["attributes", "slots, too"])
def test_attributes_of_parameters_of_torch_files(state):
    s = tp.Stored("0", "Float", np.ones(2, np.float32))
    made = tp.Call("torch._utils._rebuild_parameter_with_state", tp.tensor(s, 0, (2,), (1,)), True,
                   tp.Call("collections.OrderedDict"), state)
    y = ingot.load(io.BytesIO(tp.archive(made, [s])))
    assert type(y) is nn.Parameter and y.__dict__ == {"note": "a"}


DTYPES = (ingot.float32, ingot.bfloat16, ingot.int64, ingot.complex64)


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
def test_shared_storages_stay_shared(dtype):
    x = ingot.arange(6).to(dtype).reshape(2, 3)
    row, typed, untyped = through_file((x[1], x.storage(), x.T.untyped_storage()))
    assert type(typed) is ingot.TypedStorage and typed.dtype is dtype and typed.tolist() == x.storage().tolist()
    assert type(untyped) is ingot.UntypedStorage and untyped.tolist() == x.untyped_storage().tolist()
    assert row.untyped_storage() == untyped == typed.untyped()
    row.zero_()
    assert typed.tolist()[3:] == [0, 0, 0]


def test_storages_of_nothing_and_old_types():
    empty, old = through_file([ingot.empty(0).untyped_storage(), ingot.FloatStorage(3)])
    assert len(empty) == 0 and len(old) == 3 and isinstance(old, ingot.FloatStorage)


@torch_formats
def test_storages_of_torch_files(write):
    s = tp.Stored("0", "Float", np.arange(4, dtype=np.float32))
    alone, pair, t = ingot.load(io.BytesIO(write([s, (1, {"s": s}), tp.tensor(s, 1, (2,), (1,))], [s])))
    assert type(alone) is type(pair[1]["s"]) is ingot.TypedStorage and alone.tolist() == [0, 1, 2, 3] and pair[0] == 1
    t.zero_()
    assert alone.tolist() == pair[1]["s"].tolist() == [0, 0, 0, 3]


@pytest.mark.parametrize("requires_grad", [False, True])
def test_empty_tensors_are_saved(requires_grad):
    x = ingot.empty(3, 2, device="meta", dtype=ingot.float16).T.requires_grad_(requires_grad)
    y, p = through_file([x, nn.Parameter(ingot.empty(10 ** 6, 10 ** 6, device="meta"))])
    assert y.is_meta and y.shape == (2, 3) and y.stride() == (1, 2) and y.dtype is ingot.float16
    assert y.requires_grad is requires_grad and type(p) is nn.Parameter and p.is_meta and p.shape == (10 ** 6, 10 ** 6)
    made = tp.Call("torch._utils._rebuild_meta_tensor_no_storage", tp.Global("torch.float16"), (2, 3), (1, 2), requires_grad)
    z = ingot.load(io.BytesIO(tp.archive(made, [])))
    assert z.is_meta and (z.shape, z.stride(), z.dtype) == (y.shape, y.stride(), y.dtype) and z.requires_grad is requires_grad


class Own:
    """Object of a class that nobody allowed."""


def test_unpicklable_objects_are_refused_like_pickle():
    memory = io.BytesIO()
    ingot.save(Own(), memory)
    for data in (memory.getvalue(), b"something else", memory.getvalue()[:40]):
        with pytest.raises(pickle.UnpicklingError) as refused:
            ingot.load(io.BytesIO(data))
        assert isinstance(refused.value, FileError) and not isinstance(refused.value, EOFError)
    with pytest.raises(EOFError, match="empty") as refused:
        ingot.load(io.BytesIO())
    assert isinstance(refused.value, FileError)


def test_arrays_and_numbers_of_numpy_stand_beside_modules():
    memory = io.BytesIO()
    state = {"net": nn.Linear(2, 1), "losses": np.arange(6.).reshape(2, 3).T, "best": np.float32(0.5), "step": np.int64(3)}
    ingot.save(state, memory)
    back = ingot.load(io.BytesIO(memory.getvalue()))
    assert type(back["net"]) is nn.Linear and type(back["best"]) is np.float32 and back["best"] == 0.5 and back["step"] == 3
    assert back["losses"].dtype == np.float64 and (back["losses"] == state["losses"]).all()
    ingot.save({"a": np.array(["x"]), "net": nn.Linear(1, 1)}, memory := io.BytesIO())
    with pytest.raises(FileError):
        ingot.load(io.BytesIO(memory.getvalue()))


class OwnTensor(ingot.Tensor):
    """Tensor subclass that keeps PyTorch's constructor."""


class OwnParameter(nn.Parameter):
    """Parameter subclass."""


def own(*sizes):
    return ingot.ones(*sizes).as_subclass(OwnTensor)


OWN = {"tensor": lambda: own(4)[1:3], "parameter": lambda: nn.Parameter(own(2)), "buffer": lambda: nn.Buffer(own(2)),
       "kind of parameter": lambda: OwnParameter(ingot.ones(2))}


@pytest.mark.parametrize("make", OWN.values(), ids=OWN)
def test_tensors_of_classes_that_are_allowed(make):
    x = make()
    x.note = "a"
    memory = io.BytesIO()
    ingot.save({"x": x, "same": x}, memory)
    data = memory.getvalue()
    with pytest.raises(FileError, match="Own"):
        ingot.load(io.BytesIO(data))
    with ingot.serialization.safe_globals([OwnTensor, OwnParameter]):
        back = ingot.load(io.BytesIO(data))
    y = back["x"]
    assert type(y) is type(x) and y.tolist() == [1, 1] and y.requires_grad == x.requires_grad and back["same"] is y
    assert y.note == "a" and type(y + 1) is type(x + 1)


@pytest.mark.parametrize("args", [(ingot.ones(1), Own, False), (ingot.ones(1), "Own", False), (3, ingot.Tensor, False)])
def test_only_classes_of_tensors_are_made_of_tensors(args):
    with pytest.raises(FileError, match="class"):
        python_objects.of_class(*args)


# Values of the standard library.

UTC = datetime.UTC
STANDARD = [datetime.date(2026, 1, 2), datetime.datetime(2026, 1, 2, 3, 4, 5, 6), datetime.datetime(2026, 1, 2, tzinfo=UTC),
            datetime.datetime(2026, 1, 2, fold=1), datetime.time(1, 2), datetime.timedelta(1, 2, 3),
            datetime.timezone(datetime.timedelta(hours=2), "here"), range(2, 30, 7), deque([1, "a", ingot.float32]),
            deque([1, 2, 3], 2), deque(), pathlib.Path("/a/b"), pathlib.PurePosixPath("c"), pathlib.PureWindowsPath("c:/d"),
            {range(3): [deque([pathlib.Path("a")])]}]


@pytest.mark.parametrize("value", STANDARD, ids=repr)
def test_values_of_the_standard_library_travel(value):
    sent = SimpleNamespace(data=object_collectives._packed(value).data)
    for found in (through_file(value), object_collectives._unpacked(sent)):
        assert found == value and type(found) is type(value) and getattr(found, "maxlen", 0) == getattr(value, "maxlen", 0)


@pytest.mark.parametrize("protocol", range(2, 6))
@pytest.mark.parametrize("value", STANDARD[:8], ids=repr)
def test_they_are_read_in_each_protocol(value, protocol):
    assert PickleMachine(PLAIN_GLOBALS, None, ReadBudget("it", 1000)).run(io.BytesIO(pickle.dumps(value, protocol))) == value


@pytest.mark.parametrize("call", [("builtins.list", range(10 ** 9)), ("collections.deque", range(10 ** 9)),
                                  ("collections.deque", "ab", "c"), ("pathlib.PurePosixPath", 3),
                                  ("datetime.datetime", "no date"), ("datetime.timezone", 5), ("builtins.range", 1.5)],
                         ids=repr)
def test_they_are_made_of_nothing_else(call):
    name, *args = call
    args = [tp.Call("builtins.range", a.stop) if type(a) is range else a for a in args]
    with pytest.raises(FileError):
        ingot.load(io.BytesIO(tp.archive({"a": tp.Call(name, *args)}, [])))
