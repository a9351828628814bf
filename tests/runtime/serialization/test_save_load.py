"""Files: what save and load keep and refuse, and damaged or hostile files (one FileError)."""

import copy
import io
import json
import os
import pickle
import struct
import zipfile
from collections import OrderedDict

import numpy as np
import pytest

import ingot
import torch_pickles as tp
from ingot import nn
from ingot.ir.errors import FileError


def example():
    base = ingot.arange(12, dtype=ingot.float32).reshape(3, 4)
    state = OrderedDict(a=1)
    state._metadata = {"version": 2}
    return {
        "base": base, "row": base[1], "t": base.t(), "reversed": ingot.from_numpy(base.numpy()[::-1]), "again": base,
        "list": [1, -2.5, float("inf"), float("nan"), None, True, "text \ud800 ü", b"raw", bytearray(b"more"), 2 ** 100],
        ("tuple", 3): (1, (2, [3])), "sets": [{1, 2}, frozenset([3])], "complex": 1 - 2j, "od": state,
        "bf16": ingot.ones(3, dtype=ingot.bfloat16), "bool": ingot.tensor([True, False]), "empty": ingot.zeros(0, 3),
        "scalar": ingot.tensor(3), "leaf": ingot.ones(2).requires_grad_(), "param": nn.Parameter(ingot.ones(2)),
        "dtype": ingot.float16, "device": ingot.device("cpu"), "size": ingot.Size([1, 2]), "npnum": np.float32(2.5),
        "array": np.arange(6).reshape(2, 3)[:, ::2],
    }


def same(a, b):
    """Return whether two loaded objects are equal, types included."""
    if type(a) is not type(b):
        return False
    if isinstance(a, ingot.Tensor):
        return a.dtype is b.dtype and a.shape == b.shape and a.requires_grad == b.requires_grad and same(a.tolist(), b.tolist())
    if isinstance(a, np.ndarray):
        return a.dtype == b.dtype and np.array_equal(a, b)
    if isinstance(a, dict):
        return list(a) == list(b) and all(same(a[k], b[k]) for k in a)
    if isinstance(a, (list, tuple)):
        return len(a) == len(b) and all(map(same, a, b))
    return a == b or (a != a and b != b)


def saved(obj) -> bytes:
    out = io.BytesIO()
    ingot.save(obj, out)
    return out.getvalue()


def loaded(data: bytes, **options):
    return ingot.load(io.BytesIO(data), **options)


# Content.


@pytest.mark.parametrize("mmap", [False, True])
def test_round_trip_through_a_path(tmp_path, mmap):
    ingot.save(example(), tmp_path / "x.pt")
    assert same(ingot.load(tmp_path / "x.pt", mmap=mmap), example())


def test_round_trip_through_file_objects(tmp_path):
    assert same(loaded(saved(example())), example())
    with open(tmp_path / "x", "wb") as f:
        ingot.save([1, ingot.ones(2)], f)
    with open(tmp_path / "x", "rb") as f:
        assert same(ingot.load(f), [1, ingot.ones(2)])


def test_unseekable_input():
    class Pipe:
        def __init__(self, data):
            self.read = io.BytesIO(data).read

    assert ingot.load(Pipe(saved({"a": 1}))) == {"a": 1}


@pytest.mark.parametrize("data", [None, 1, "x", [], {}, (), 2.5])
def test_plain_values(data):
    assert same(loaded(saved(data)), data)


def test_sharing_and_identity():
    x = loaded(saved(example()))
    assert x["base"] is x["again"]
    x["row"].zero_()
    assert x["base"][1].tolist() == [0.0] * 4 and x["t"][:, 1].tolist() == [0.0] * 4
    assert x["base"]._version == 1
    assert x["od"]._metadata == {"version": 2}


def test_a_small_view_does_not_drag_its_whole_base_along():
    big = ingot.zeros(1_000_000)
    assert len(saved(big[5:10])) < 2000


def test_mapped_tensors_may_be_written_and_leave_the_file_alone(tmp_path):
    path = tmp_path / "x"
    ingot.save({"a": ingot.ones(1000)}, path)
    before = path.read_bytes()
    x = ingot.load(path, mmap=True)["a"]
    assert x.data_ptr() % 64 == 0
    x.zero_()
    assert path.read_bytes() == before and ingot.load(path)["a"].sum().item() == 1000


def test_mapped_files_are_not_read_to_check_them(tmp_path):
    path = tmp_path / "x"
    ingot.save({"a": ingot.arange(1000.0)}, path)
    data = path.read_bytes()
    at = data.index(np.arange(1000, dtype=np.float32).tobytes()) + 4 * 7
    path.write_bytes(data[:at] + np.float32(-1).tobytes() + data[at + 4:])
    with pytest.raises(FileError, match=r"damaged|checksum"):
        ingot.load(path)
    assert ingot.load(path, mmap=True)["a"][7].item() == -1


def test_writing_is_atomic(tmp_path):
    path = tmp_path / "x.pt"
    ingot.save({"a": 1}, path)
    with pytest.raises(TypeError, match=r"\['bad'\] is a .*function"):
        ingot.save({"a": 2, "bad": lambda: 0}, path)
    assert ingot.load(path) == {"a": 1}
    assert os.listdir(tmp_path) == ["x.pt"]


def test_links_and_file_modes_are_preserved(tmp_path):
    real, link = tmp_path / "real", tmp_path / "link"
    ingot.save(1, real)
    real.chmod(0o640)
    link.symlink_to(real)
    ingot.save(2, link)
    assert link.is_symlink() and ingot.load(real) == 2 and real.stat().st_mode & 0o777 == 0o640


def test_errors_name_the_path_of_unsavable_values():
    class Mine(dict):
        pass

    for bad in (lambda: 0, Mine()):
        with pytest.raises(TypeError, match=r"\['k'\]\[1\]"):
            saved({"k": [0, bad]})
    cycle = []
    cycle.append(cycle)
    with pytest.raises(ValueError, match="contains itself"):
        saved(cycle)


class Scaled(nn.Linear):
    """Module that is not ingot's own."""


def test_modules_of_others_must_be_allowed(tmp_path):
    path = tmp_path / "net.pt"
    ingot.save(nn.Sequential(Scaled(3, 2)), path)
    for weights_only in (True, False):
        with pytest.raises(RuntimeError, match=r"Scaled.*add_safe_globals"):
            ingot.load(path, weights_only=weights_only)
    unsafe = ingot.serialization.get_unsafe_globals_in_checkpoint
    assert unsafe(path) == [f"{Scaled.__module__}.Scaled"]
    with ingot.serialization.safe_globals([Scaled]):
        assert type(ingot.load(path)[0]) is Scaled and unsafe(path) == []
    ingot.save({"a": ingot.ones(2)}, path)
    assert unsafe(path) == []


def test_no_code_of_a_file_runs(tmp_path):
    class Evil:
        def __reduce__(self):
            return os.mkdir, (str(tmp_path / "made"),)

    path = tmp_path / "evil.pt"
    ingot.save([Evil()], path)
    for weights_only in (True, False):
        with pytest.raises(RuntimeError, match="mkdir"):
            ingot.load(path, weights_only=weights_only)
    assert not (tmp_path / "made").exists()


def test_modules_with_options(tmp_path):
    options = nn.LinearCrossEntropyOptions(batch_chunk_size=2, acc_dtype=ingot.float32)
    ingot.save(nn.LinearCrossEntropyLoss(3, 4, options=options), tmp_path / "loss.pt")
    assert ingot.load(tmp_path / "loss.pt").options == options


def test_whole_modules(tmp_path):
    net = nn.Sequential(nn.Linear(3, 2), nn.BatchNorm1d(2))
    path = tmp_path / "net.pt"
    ingot.save({"net": net, "epoch": 3}, path)
    back = ingot.load(path)
    x = ingot.randn(5, 3)
    assert back["epoch"] == 3 and isinstance(back["net"][0].weight, nn.Parameter) and back["net"][0].weight.requires_grad
    assert ingot.equal(back["net"](x), net(x)) and back["net"][1].num_batches_tracked == 1


def test_format_is_plain_zip_and_json():
    with zipfile.ZipFile(io.BytesIO(saved({"a": ingot.ones(2)}))) as z:
        assert z.namelist() == ["ingot.json", "data/0"] and z.testzip() is None
        assert json.loads(z.read("ingot.json"))["tree"] == {"dict": [["a", {"tensor": 0}]]}


def test_errors_of_the_system_name_the_file_that_was_asked_for(tmp_path):
    """Errors do not name the temporary file."""
    with pytest.raises(FileNotFoundError) as e:
        ingot.save(1, tmp_path / "missing" / "x.pt")
    assert e.value.filename == str(tmp_path / "missing" / "x.pt")
    if os.path.exists("/dev/full"):
        with pytest.raises(OSError, match="No space left on device: '/dev/full'"):
            ingot.save(1, "/dev/full")


def test_bad_arguments(tmp_path):
    with pytest.raises(FileNotFoundError):
        ingot.load(tmp_path / "missing")
    with pytest.raises(TypeError, match="path"):
        ingot.load(3)
    assert loaded(saved(1), weights_only=False) == 1
    with pytest.raises(RuntimeError, match="not available"):
        loaded(saved(1), map_location="cuda")
    assert loaded(saved(1), map_location="cpu") == 1


# safetensors.


def weights():
    return {"w": ingot.arange(6, dtype=ingot.float32).reshape(2, 3).t(), "b": ingot.ones(2, dtype=ingot.bfloat16),
            "n": ingot.tensor(7), "e": ingot.zeros(0, 4), "m": ingot.tensor([True])}


@pytest.mark.parametrize("mmap", [False, True])
def test_safetensors_round_trip(tmp_path, mmap):
    path = tmp_path / "x.safetensors"
    ingot.save(weights(), path)
    found = ingot.load(path, mmap=mmap)
    assert {k: same(found[k], v) for k, v in weights().items()} == dict.fromkeys(weights(), True)


@pytest.mark.parametrize("mmap", [False, True])
@pytest.mark.parametrize("shift", range(8))
def test_safetensors_with_unaligned_data(tmp_path, mmap, shift):
    path = tmp_path / "x.safetensors"
    ingot.save(weights(), path)
    data = path.read_bytes()
    length = int.from_bytes(data[:8], "little")
    path.write_bytes((length + shift).to_bytes(8, "little") + data[8:8 + length] + b" " * shift + data[8 + length:])
    found = ingot.load(path, mmap=mmap)
    assert {k: same(found[k], v) for k, v in weights().items()} == dict.fromkeys(weights(), True)
    assert all(t._a.flags.aligned and ingot.exp(t).equal(ingot.exp(weights()[k])) for k, t in found.items())


def test_safetensors_holds_only_named_tensors(tmp_path):
    with pytest.raises(TypeError, match="flat dict"):
        ingot.save({"a": {"b": ingot.ones(1)}}, tmp_path / "x.safetensors")


def test_safetensors_library_agrees(tmp_path):
    library = pytest.importorskip("safetensors.numpy")
    path = tmp_path / "x.safetensors"
    ingot.save({"w": ingot.ones(2, 3), "n": ingot.tensor([1, 2])}, path)
    assert library.load_file(path)["w"].tolist() == [[1.0] * 3] * 2
    library.save_file({"a": np.arange(4, dtype=np.int16)}, path, metadata={"format": "np"})
    assert ingot.load(path)["a"].tolist() == [0, 1, 2, 3]


def safetensors_file(header, data=b""):
    text = json.dumps(header).encode() if not isinstance(header, bytes) else header
    return struct.pack("<Q", len(text)) + text + data


@pytest.mark.parametrize("entry, data", [
    ({"dtype": "F32", "shape": [2], "data_offsets": [0, 8]}, b"\0" * 4),
    ({"dtype": "F32", "shape": [2], "data_offsets": [0, 8]}, b"\0" * 12),
    ({"dtype": "F32", "shape": [3], "data_offsets": [0, 8]}, b"\0" * 8),
    ({"dtype": "F32", "shape": [2], "data_offsets": [4, 12]}, b"\0" * 12),
    ({"dtype": "F32", "shape": [-1, -2], "data_offsets": [0, 8]}, b"\0" * 8),
    ({"dtype": "F4", "shape": [2], "data_offsets": [0, 8]}, b"\0" * 8),
    ({"dtype": "F32", "shape": [1 << 62, 1 << 62], "data_offsets": [0, 8]}, b"\0" * 8),
    ({"dtype": "F32", "shape": "2", "data_offsets": [0, 8]}, b"\0" * 8),
    ({"shape": [2]}, b""),
    (3, b""),
])
def test_wrong_safetensors_headers(entry, data):
    with pytest.raises(FileError):
        loaded(safetensors_file({"w": entry}, data))


def test_a_name_twice_is_refused():
    entry = '{"dtype":"U8","shape":[1],"data_offsets":[0,1]}'
    with pytest.raises(FileError, match="twice"):
        loaded(safetensors_file(f'{{"a":{entry},"a":{entry}}}'.encode(), b"\0"))


# Damage.

SUBJECTS = {"ingot": lambda: saved(example()), "safetensors": None, "zip": lambda: tp.archive(*tp.example()),
            "legacy": lambda: tp.legacy(*tp.example())}


def subject(name, tmp_path):
    if name != "safetensors":
        return SUBJECTS[name]()
    ingot.save(weights(), tmp_path / "x.safetensors")
    return (tmp_path / "x.safetensors").read_bytes()


def load_or_error(data, mmap_path=None):
    """Return the loaded object, or "refused" for a FileError. Any other error fails the test."""
    try:
        if mmap_path is not None:
            mmap_path.write_bytes(data)
            return ingot.load(mmap_path, mmap=True)
        return loaded(data)
    except FileError:
        return "refused"


@pytest.mark.parametrize("name", SUBJECTS)
def test_cut_off_files_are_refused(name, tmp_path):
    data = subject(name, tmp_path)
    for n in np.unique(np.linspace(0, len(data) - 1, 120).astype(int)):
        assert load_or_error(data[:n]) == "refused", f"{name} cut at {n} of {len(data)}"


@pytest.mark.parametrize("mmap", [False, True])
@pytest.mark.parametrize("name", SUBJECTS)
def test_random_damage_never_escapes(name, mmap, tmp_path):
    seed = 11
    data = subject(name, tmp_path)
    rng = np.random.default_rng(seed)
    for trial in range(250):
        damaged = bytearray(data)
        for _ in range(rng.integers(1, 4)):
            damaged[rng.integers(len(data))] = rng.integers(256)
        try:
            load_or_error(bytes(damaged), tmp_path / "damaged" if mmap else None)
        except Exception as e:
            pytest.fail(f"{name}, seed {seed}, trial {trial}: {type(e).__name__} escaped: {e}")


def test_every_flipped_data_bit_is_noticed():
    data = saved({"w": ingot.arange(32, dtype=ingot.float32)})
    start = data.rindex(struct.pack("<4f", 28, 29, 30, 31)) - 4 * 28
    for i in range(start, start + 128, 7):
        damaged = bytearray(data)
        damaged[i] ^= 1
        with pytest.raises(FileError, match="checksum"):
            loaded(bytes(damaged))


def rewritten(**changes) -> bytes:
    """Return an ingot file with a changed index and right checksums."""
    out = io.BytesIO()
    with zipfile.ZipFile(io.BytesIO(saved({"w": ingot.ones(4)}))) as z, zipfile.ZipFile(out, "w") as new:
        index = json.loads(z.read("ingot.json"))
        for path, value in changes.items():
            target = index
            *parents, last = path.split("__")
            for p in parents:
                target = target[int(p) if p.isdigit() else p]
            target[last] = value
        new.writestr("ingot.json", json.dumps(index))
        new.writestr("data/0", z.read("data/0"))
    return out.getvalue()


@pytest.mark.parametrize("changes", [
    {"tensors__0__shape": [5]}, {"tensors__0__offset": 4}, {"tensors__0__offset": -4}, {"tensors__0__strides": [-4]},
    {"tensors__0__shape": [1 << 60], "tensors__0__strides": [1]}, {"tensors__0__dtype": "object"}, {"tensors__0__block": 3},
    {"tensors__0__shape": [1] * 65, "tensors__0__strides": [4] * 65}, {"tensors__0__class": "Popen"},
    {"tensors__0__shape": None},
    {"tree": {"tensor": 9}}, {"tree": {"call": []}}, {"tree": {}}, {"blocks": [64]}, {"blocks": [16, 16]}, {"format": 99},
    {"format": "1"}, {"byteorder": "middle"}, {"tree": {"bytes": "!"}}, {"tree": {"dict": [[[], 1]]}}, {"tensors": 5},
], ids=str)
def test_lying_indexes_are_refused(changes):
    assert same(loaded(rewritten()), {"w": ingot.ones(4)})
    with pytest.raises(FileError):
        loaded(rewritten(**changes))


def test_deep_nesting_is_refused():
    deep = []
    for _ in range(500):
        deep = [deep]
    with pytest.raises(ValueError, match="nested"):
        saved(deep)
    with pytest.raises(FileError):
        loaded(rewritten(tree=json.loads("[" * 900 + "]" * 900)))


def test_files_of_the_other_byte_order():
    big = json.loads(zipfile.ZipFile(io.BytesIO(saved({"w": ingot.arange(3, dtype=ingot.int32)}))).read("ingot.json"))
    big["byteorder"] = "big"
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w") as z:
        z.writestr("ingot.json", json.dumps(big))
        z.writestr("data/0", np.arange(3, dtype=">i4").tobytes())
    assert loaded(out.getvalue())["w"].tolist() == [0, 1, 2]


NAMED = [ingot.strided, ingot.jagged, ingot.sparse_coo, ingot.sparse_bsr, ingot.contiguous_format, ingot.preserve_format,
         ingot.channels_last, ingot.channels_last_3d]


@pytest.mark.parametrize("thing", NAMED, ids=repr)
def test_layouts_and_formats_stay_themselves(thing):
    """Also inside a module, which makes the file one of objects."""
    class_ = nn.Linear(1, 1)
    class_.note = thing
    for data in (thing, [thing, {"key": thing}], class_):
        file = io.BytesIO()
        ingot.save(data, file)
        file.seek(0)
        found = ingot.load(file, weights_only=False)
        assert (found.note if data is class_ else found[1]["key"] if data is not thing else found) is thing
    assert copy.deepcopy(thing) is thing is copy.copy(thing) is pickle.loads(pickle.dumps(thing))
    assert type(copy.deepcopy({"a": thing})["a"]) is type(thing)
