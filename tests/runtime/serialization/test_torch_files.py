"""PyTorch's own files, read without torch: values, sharing, and code that must not run."""

import io
import os
import pickle
import zipfile
from collections import OrderedDict

import numpy as np
import pytest

import ingot
import torch_pickles as tp
from ingot import nn, serialization
from ingot.ir.errors import FileError


def loaded(data: bytes, **options):
    return ingot.load(io.BytesIO(data), **options)


torch_formats = pytest.mark.parametrize("write", [tp.archive, tp.legacy], ids=["zip", "legacy"])


@torch_formats
def test_torch_files_without_torch(write):
    x = loaded(write(*tp.example()))
    assert x["w"].requires_grad and x["w"].tolist() == np.arange(12.0).reshape(3, 4).tolist()
    assert x["wt"].tolist() == np.arange(12.0).reshape(3, 4).T.tolist()
    assert x["bf"].dtype is ingot.bfloat16 and x["bf"].tolist() == [1.0, 2.0]
    assert (x["n"], x["x"], x["set"]) == (3, [1.5, None, True, "s"], {1, 2})
    assert type(x["od"]) is OrderedDict and x["od"]._metadata == {"version": 1}
    assert x["dtype"] is ingot.float16 and x["size"] == (2, 3) and str(x["device"]) == "cuda:0"
    with ingot.no_grad():
        x["row"].zero_()
    assert x["w"][1].tolist() == [0.0] * 4      # one storage, as in the file


@torch_formats
def test_elements_that_pytorch_had_not_conjugated_or_negated_yet(write):
    pairs = tp.Stored("0", "ComplexFloat", np.array([1 + 2j, 3 - 1j], np.complex64))
    numbers = tp.Stored("1", "Float", np.array([2.0, -1.0], np.float32))
    made = [tp.Call("torch._utils._rebuild_tensor_v2", *stored, False, tp.Call("collections.OrderedDict"), metadata)
            for stored, metadata in (((pairs, 0, (2,), (1,)), {"conj": True}), ((numbers, 0, (2,), (1,)), {"neg": True}))]
    conjugated, negated = loaded(write(made, [pairs, numbers]))
    assert conjugated.tolist() == [1 - 2j, 3 + 1j] and negated.tolist() == [-2.0, 1.0]


@torch_formats
@pytest.mark.parametrize("layout", ["coo", "csr", "csc"])
def test_sparse_tensors_of_torch_files(write, layout):
    starts, columns, values = np.array([0, 1, 3]), np.array([1, 0, 1]), np.array([5.0, 6.0, 7.0], np.float32)
    dense = [[0, 5], [6, 7]]
    if layout == "coo":
        parts = [tp.Stored("0", "Long", np.concatenate([np.repeat([0, 1], [1, 2]), columns])), tp.Stored("1", "Float", values)]
        data = (tp.tensor(parts[0], 0, (2, 3), (3, 1)), tp.tensor(parts[1], 0, (3,), (1,)), (2, 2), True)
    else:
        parts = [tp.Stored("0", "Long", starts), tp.Stored("1", "Long", columns), tp.Stored("2", "Float", values)]
        data = (*[tp.tensor(part, 0, (3,), (1,)) for part in parts], (2, 2))
        dense = dense if layout == "csr" else [[0, 6], [5, 7]]
    named = tp.Call("torch.serialization._get_layout", f"torch.sparse_{layout}")
    made = tp.Call("torch._utils._rebuild_sparse_tensor", named, data)
    x = loaded(write(tp.Call("torch._utils._rebuild_parameter", made, False, tp.Call("collections.OrderedDict")), parts))
    assert x.layout == getattr(ingot, f"sparse_{layout}") and x.to_dense().tolist() == dense


@torch_formats
@pytest.mark.parametrize("requires_grad", [False, True])
def test_tensors_of_torch_files_that_have_no_shape(write, requires_grad):
    x = loaded(write([tp.Call("torch.nn.parameter.UninitializedParameter", requires_grad),
                      tp.Call("torch.nn.parameter.UninitializedBuffer", False)], []))
    assert [type(t) for t in x] == [nn.UninitializedParameter, nn.UninitializedBuffer]
    assert [t.requires_grad for t in x] == [requires_grad, False]


def test_parameters_of_torch_files():
    s = tp.Stored("0", "Float", np.ones(2, np.float32))
    obj = tp.Call("torch._utils._rebuild_parameter", tp.tensor(s, 0, (2,), (1,)), True, tp.Call("collections.OrderedDict"))
    x = loaded(tp.archive(obj, [s]))
    assert type(x) is nn.Parameter and x.requires_grad


@torch_formats
@pytest.mark.parametrize("offset, size, stride", [(0, (13,), (1,)), (11, (2,), (1,)), (-1, (2,), (1,)), (0, (2, 2), (12, 1)),
                                                  (0, (1 << 61,), (0,)), (0, (2,), (1, 1)), (0, (-1,), (1,)),
                                                  (0.0, (1,), (1,))])
def test_tensors_larger_than_their_storage_are_refused(write, offset, size, stride):
    s = tp.Stored("0", "Float", np.arange(12, dtype=np.float32))
    with pytest.raises(FileError):
        loaded(write(tp.tensor(s, offset, size, stride), [s]))


class Touch:
    """Pickle that would run a command."""

    def __init__(self, path):
        self.path = path

    def __reduce__(self):
        return (os.mkdir, (str(self.path),))


def test_code_in_pickles_does_not_run(tmp_path):
    target = tmp_path / "ran"
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w") as z:
        z.writestr("archive/data.pkl", pickle.dumps(Touch(target), 2))
    with pytest.raises(FileError, match=r"mkdir.*add_safe_globals"):
        loaded(out.getvalue())
    assert not target.exists()


WRONG_PICKLES = {
    "a number for a storage": (b"K\x07Q", "unknown kind of external object"),
    "no fields of a storage": (b"X\x07\x00\x00\x00storage\x85Q", "unknown kind of external object"),
    "a state for nothing": (b"b", "empty stack"), "an item for nothing": (b"a", "empty stack"),
    "nothing to remember": (b"q\x00", "looks at an empty stack"), "a list that was not begun": (b"e", "pickle"),
    "nothing": (b"", "empty stack"),
}


@pytest.mark.parametrize("name", WRONG_PICKLES)
def test_pickles_that_are_wrong_say_so(name):
    code, message = WRONG_PICKLES[name]
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w") as z:
        z.writestr("archive/data.pkl", b"\x80\x02" + code + b".")
    with pytest.raises(FileError, match=message):
        loaded(out.getvalue())


@pytest.mark.parametrize("protocol", [2, 4])
def test_names_in_files_are_told_without_running_anything(tmp_path, protocol):
    """Names are found, too, if a pickle spells them in two texts, from its memory the second time."""
    target, out = tmp_path / "ran", io.BytesIO()
    with zipfile.ZipFile(out, "w") as z:
        content = [Touch(target), Touch(target), Config(1), OrderedDict(a=1), {1}]
        z.writestr("archive/data.pkl", pickle.dumps(content, protocol))
    unsafe = ingot.serialization.get_unsafe_globals_in_checkpoint
    mine, mkdir = f"{Config.__module__}.Config", f"{os.mkdir.__module__}.mkdir"
    assert unsafe(io.BytesIO(out.getvalue())) == sorted([mkdir, mine]) and not target.exists()
    with ingot.serialization.safe_globals([Config, (os.mkdir, mkdir)]):
        assert unsafe(io.BytesIO(out.getvalue())) == []
    with pytest.raises(FileError, match="no file of"):
        unsafe(io.BytesIO(b"text"))


@pytest.mark.parametrize("write", [tp.archive, tp.legacy])
def test_names_of_plain_data_are_safe(write, tmp_path):
    s = tp.Stored("0", "Float", np.arange(12, dtype=np.float32))
    path = tmp_path / "t.pt"
    path.write_bytes(write(tp.tensor(s, 0, (3, 4), (4, 1)), [s]))
    assert ingot.serialization.get_unsafe_globals_in_checkpoint(path) == []
    path.write_bytes(write([tp.tensor(s, 0, (3, 4), (4, 1)), tp.Call("os.system", "true")], [s]))
    assert ingot.serialization.get_unsafe_globals_in_checkpoint(path) == ["os.system"]


def test_storage_ids_with_a_view_field_are_read():
    """Files before 1.6 name a storage with a sixth field, which is None, as storages have no views."""
    s = tp.Stored("0", "Float", np.arange(12, dtype=np.float32))
    text = tp.legacy(tp.tensor(s, 0, (3, 4), (4, 1)), [s])
    told = b"\x8a\x01\x0ct"         # number of elements, and the end of the tuple
    assert text.count(told) == 1
    assert loaded(text.replace(told, told[:-1] + b"Nt")).tolist() == s.array.reshape(3, 4).tolist()


@pytest.mark.parametrize("system", [{"little_endian": False}, {"little_endian": 1}, {"protocol_version": 1001}, [],
                                    "little_endian"], ids=repr)
def test_legacy_files_of_other_systems_are_refused(system):
    with pytest.raises(FileError, match="big-endian"):
        loaded(tp.legacy([1, 2], [], system))
    assert loaded(tp.legacy([1, 2], [])) == [1, 2]


@pytest.mark.parametrize("obj", [
    tp.Call("builtins.eval", "1"), tp.Call("builtins.getattr", 1, "real"), tp.Call("os.system", "true"),
    tp.Call("torch._utils._rebuild_tensor", 1, 2, 3, 4), tp.Call("torch.float32"), tp.Call("torch.FloatStorage"),
    tp.Call("collections.defaultdict", tp.Global("torch.Size")), tp.Call("_codecs.encode", "x", "rot13"),
    tp.Call("__builtin__.bytearray", 5),
    tp.Call("torch._tensor._rebuild_from_type_v2", tp.Global("builtins.list"), 1, (), None),
    tp.Call("builtins.list", [1], state={"a": 1}), tp.Call("builtins.bytearray", 1 << 60, state=1),
])
def test_calls_that_are_not_data_are_refused(obj):
    with pytest.raises(FileError):
        loaded(tp.archive(obj, []))


class Config:
    def __init__(self, a):
        self.a = a


def test_safe_globals():
    name = f"{Config.__module__}.{Config.__qualname__}"
    data = tp.archive(tp.Call(name, 5), [])
    with pytest.raises(FileError, match="Config"):
        loaded(data)
    with serialization.safe_globals([Config]):
        assert loaded(data).a == 5
        assert serialization.get_safe_globals() == [Config]
    with serialization.safe_globals([(Config, "old.place.Config")]):
        assert loaded(tp.archive(tp.Call("old.place.Config", 6), [])).a == 6
    with pytest.raises(FileError):
        loaded(data)


def test_programs_and_foreign_archives_are_named():
    with pytest.raises(FileError, match="TorchScript"):
        loaded(tp.archive({}, [], **{"constants.pkl": b""}))
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w") as z:
        z.writestr("readme.txt", "hello")
    with pytest.raises(FileError, match="neither"):
        loaded(out.getvalue())
    for data in (b"", b"hello world, this is text", b"\x93NUMPY" + b"\0" * 50, pickle.dumps({"a": 1})):
        with pytest.raises(FileError):
            loaded(data)


# Against PyTorch itself.


@pytest.mark.peer
@pytest.mark.parametrize("legacy", [False, True])
def test_torch_saves_ingot_loads(tmp_path, legacy):
    torch = pytest.importorskip("torch")
    torch.manual_seed(0)
    model = torch.nn.Sequential(torch.nn.Linear(3, 4), torch.nn.BatchNorm1d(4))
    optimizer = torch.optim.Adam(model.parameters())
    model(torch.ones(2, 3)).sum().backward()
    optimizer.step()
    state = {"model": model.state_dict(), "optimizer": optimizer.state_dict(), "epoch": 3, "bf": torch.ones(2).bfloat16()}
    torch.save(state, tmp_path / "x.pt", _use_new_zipfile_serialization=not legacy)
    x = ingot.load(tmp_path / "x.pt", map_location="cpu")
    assert list(x["model"]) == list(model.state_dict()) and x["model"]._metadata.keys() == model.state_dict()._metadata.keys()
    for k, v in model.state_dict().items():
        assert x["model"][k].tolist() == v.tolist()
    assert x["optimizer"]["state"][0]["exp_avg"].tolist() == state["optimizer"]["state"][0]["exp_avg"].tolist()
    assert x["epoch"] == 3 and x["bf"].dtype is ingot.bfloat16


KINDS = {"Float": np.float32, "Double": np.float64, "Short": np.int16, "Int": np.int32, "Long": np.int64, "Byte": np.uint8,
         "Bool": np.bool_, "Half": np.float16, "ComplexFloat": np.complex64, "ComplexDouble": np.complex128}


@pytest.mark.parametrize("byteorder", ["little", "big"])
@pytest.mark.parametrize("kind", KINDS)
def test_files_of_each_byte_order_hold_the_same_numbers(kind, byteorder):
    values = (np.arange(6) * (1 + 1j if kind.startswith("Complex") else 1)).astype(KINDS[kind])
    stored = tp.Stored("0", kind, values.astype(values.dtype.newbyteorder("<" if byteorder == "little" else ">")))
    found = ingot.load(io.BytesIO(tp.archive({"x": tp.tensor(stored, 1, (2, 2), (2, 1))}, [stored], byteorder)))["x"]
    np.testing.assert_array_equal(found.numpy(), values[1:5].reshape(2, 2))
    assert found.numpy().dtype == values.dtype


def test_views_of_one_legacy_storage_share_it():
    """Files before PyTorch 0.4 tell which part of a storage another one is."""
    def part(key, first, count):
        return tp.tensor(tp.Stored("0", "Float", values, (key, first, count)), 0, (count,), (1,))

    values = np.arange(8, dtype=np.float32)
    whole = tp.Stored("0", "Float", values)
    loaded = ingot.load(io.BytesIO(tp.legacy({"w": tp.tensor(whole, 0, (8,), (1,)), "a": part("1", 2, 4), "b": part("2", 4, 3)},
                                             [whole])))
    assert loaded["a"].tolist() == [2, 3, 4, 5] and loaded["b"].tolist() == [4, 5, 6]
    version = loaded["b"]._version
    loaded["a"][2] = 40.0
    assert loaded["b"]._version > version           # so a backward that saved it is told
    assert loaded["b"][0] == 40 and loaded["w"][4] == 40
    loaded["w"][6] = -1.0
    assert loaded["b"].tolist() == [40, 5, -1]
