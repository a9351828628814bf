"""Small files that stand for much: each costs its reader far more than its size, unless the reader has a budget."""

import io
import json
import struct
import zipfile
from collections.abc import Callable

import numpy as np

from torch_pickles import Call, Global, Stored, archive, legacy, pickled, spell, tensor

LARGE = 1 << 40
HASH_MODULUS = (1 << 61) - 1        # ints that differ by it have equal hashes


def shared(levels=60, leaf=b"N", join=b"\x86") -> bytes:
    """Opcodes of a tuple that has the one before it twice, and so on: 2 ** levels paths. Memory takes places from 100 on."""
    code = leaf + b"q\x64"
    for i in range(levels):
        code += b"0" + 2 * (b"h" + bytes([100 + i])) + join + b"q" + bytes([101 + i])
    return code


def deep(levels: int) -> bytes:
    return b"N" + b"\x85" * levels


def packed(code: bytes, storages=()) -> bytes:
    """A zip file of torch.save with these opcodes as its pickle."""
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w") as z:
        z.writestr("archive/data.pkl", b"\x80\x02" + code + b".")
        for s in storages:
            z.writestr(f"archive/data/{s.key}", s.array.tobytes())
    return out.getvalue()


def called(name: str, args: bytes) -> bytes:
    """Opcodes that call a global with arguments, themselves opcodes of a tuple."""
    return spell(Global(name)) + args + b"R"


_STORED = Stored("0", "Float", np.arange(4, dtype=np.float32))
_WIDE = ((LARGE,), (0,))
_FLOATS = spell("storage") + spell(Global("torch.FloatStorage"))
_REBUILD = spell(Global("torch._utils._rebuild_tensor")) + b"(" + spell(_STORED) + b"K\x00"


def lazily(size=1 << 28, **metadata) -> bytes:
    """A tensor of one element and any size, that is to be negated or conjugated."""
    data = Call("torch._utils._rebuild_tensor_v2", _STORED, 0, (size,), (0,), False, Call("collections.OrderedDict"), metadata)
    return archive(data, [_STORED])


def _window(offset=0, size=_WIDE[0], stride=_WIDE[1]) -> bytes:
    return spell(tensor(_STORED, offset, size, stride))


def _array(shape: bytes, data=b"") -> bytes:
    """Opcodes of an array of NumPy's; `shape` is opcodes as well."""
    made = called("numpy.core.multiarray._reconstruct", spell((Global("numpy.ndarray"), (0,), "b")))
    content = called("_codecs.encode", spell((data.decode("latin1"), "latin1")))
    return made + b"(K\x01" + shape + called("numpy.dtype", spell(("f4",))) + b"\x89" + content + b"tb"


_EMPTY_ROWS = _array(spell((LARGE, 0)))


def _equal_hashes(count: int) -> bytes:
    return b"}(" + b"".join(spell(i * HASH_MODULUS + (1 << 62)) + b"N" for i in range(count)) + b"u"


def _repeated(members: dict, name: str, count: int) -> bytes:
    """A zip file with members, the last of which is there under more names."""
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w") as z:
        for known, data in members.items():
            z.writestr(known, data)
        entry = z.infolist()[-1]
        for i in range(1, count):
            copy = zipfile.ZipInfo(name.format(i))
            copy.header_offset, copy.CRC = entry.header_offset, entry.CRC
            copy.file_size = copy.compress_size = entry.file_size
            z.filelist.append(copy)
            z.NameToInfo[copy.filename] = copy
    return out.getvalue()


def _overlapping(count=500, size=100_000) -> bytes:
    """Entries that are one and the same bytes."""
    storages = [Stored(str(i), "Byte", np.zeros(size, np.uint8)) for i in range(count)]
    code = pickled([tensor(s, 0, (size,), (1,)) for s in storages])
    return _repeated({"archive/data.pkl": code, "archive/data/0": storages[0].array.tobytes()}, "archive/data/{}", count)


def _many_copies(count=2000, items=4000) -> bytes:
    """One long list, copied again and again."""
    each = spell(Global("builtins.list")) + b"h\x01\x85R"
    return packed(b"](" + b"](" + b"N" * items + b"eq\x01" + each * count + b"e")


def _arrays_of_one_text(count=4000, size=100_000) -> bytes:
    """Arrays that each copy the same bytes."""
    dtype, data = called("numpy.dtype", spell(("u1",))), called("_codecs.encode", spell(("x" * size, "latin1")))
    made = called("numpy.core.multiarray._reconstruct", spell((Global("numpy.ndarray"), (0,), "b")))
    state = b"(K\x01" + spell((size,)) + b"h\x01\x89h\x02tb"
    return packed(b"](" + dtype + b"q\x01" + data + b"q\x02" + (made + state) * count + b"e")


def tensor_file(tree, tensors=(), blocks=()) -> bytes:
    """A file of `ingot.save` with this index."""
    index = {"format": 1, "byteorder": "little", "tree": tree, "tensors": list(tensors), "blocks": [len(b) for b in blocks]}
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w") as z:
        z.writestr("ingot.json", json.dumps(index))
        for i, b in enumerate(blocks):
            z.writestr(f"data/{i}", b)
    return out.getvalue()


def _described(shape, strides, offset=0, dtype="float32") -> dict:
    return {"class": "Tensor", "dtype": dtype, "shape": shape, "strides": strides, "offset": offset, "block": 0,
            "requires_grad": False}


def _odd_windows(count=1000, size=100_000) -> bytes:
    """Windows of one block at odd addresses."""
    return tensor_file([{"tensor": i} for i in range(count)],
                       [_described([size // 4 - 1], [4], offset=1) for _ in range(count)], [bytes(size)])


def _sparse_tree() -> bytes:
    tensors = [_described([1, LARGE], [0, 0], dtype="int64"), _described([LARGE], [0])]
    parts = ["Tensor", {"layout": "torch.sparse_coo"}, {"size": [4]}, False, {"tensor": 0}, {"tensor": 1}]
    return tensor_file({"sparse": parts}, tensors, [bytes(16)])


def safetensors(header: dict, data=b"") -> bytes:
    text = json.dumps(header).encode()
    return struct.pack("<Q", len(text)) + text + data


def _sparse_torch(layout="sparse_coo") -> bytes:
    index = Stored("1", "Long", np.zeros(4, np.int64))
    parts = (tensor(index, 0, (1, 1 << 33), (0, 0)), tensor(_STORED, 0, (1 << 33,), (0,)), (4,))
    made = Call("torch._utils._rebuild_sparse_tensor", Call("torch.serialization._get_layout", f"torch.{layout}"), parts)
    return archive(made, [_STORED, index])


def _saved(array) -> bytes:
    out = io.BytesIO()
    np.save(out, array)
    return out.getvalue()


def wide_array() -> bytes:
    return _saved(np.zeros((1, 10_000_000), np.uint8)[:, :0]).replace(b"(1, 0)", b"(1, 99999999)")


def deflated_zeros(size=300 << 20) -> bytes:
    """A megabyte of zeros for each kilobyte."""
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as z:
        z.writestr("x.npy", _saved(np.zeros(size, np.uint8)))
    return out.getvalue()


def one_array_often() -> bytes:
    """Members that are one and the same bytes."""
    return _repeated({"x.npy": _saved(np.zeros(100_000, np.uint8))}, "y{}.npy", 500)


_KEY = b"}" + shared() + b"Ns"

# By name: a function that returns the bytes.
FILES: dict[str, Callable[[], bytes]] = {
    "tuples that share parts as a key": lambda: packed(_KEY),
    "tuples that share parts in a set": lambda: packed(called("builtins.set", b"](" + shared() + b"e\x85")),
    "tuples that share parts in a frozenset": lambda: packed(b"\x80\x04(" + shared() + b"\x91"),
    "tuples that share parts in an OrderedDict":
        lambda: packed(called("collections.OrderedDict", b"](" + shared() + b"K\x01\x86e\x85")),
    "tuples that share parts counted": lambda: packed(called("collections.Counter", b"](" + shared() + b"e\x85")),
    "tuples that share parts as text": lambda: packed(called("builtins.str", shared() + b"\x85")),
    "tuples that share parts as a device": lambda: packed(called("torch.device", shared() + b"\x85")),
    "tuples that share parts as a layout": lambda: packed(called("torch.serialization._get_layout", shared() + b"\x85")),
    "tuples that share parts as a storage": lambda: packed(shared() + b"Q"),
    "tuples that share parts as the name of a storage":
        lambda: packed(b"(" + _FLOATS + shared() + spell("cpu") + b"K\x04tQ", [_STORED]),
    "tuples that share parts as a place":
        lambda: packed(b"(" + _FLOATS + spell("0") + shared() + b"K\x04tQ", [_STORED]),
    "tuples that share parts called": lambda: packed(shared() + b")R"),
    "tuples that share parts made": lambda: packed(shared() + b")\x81"),
    "tuples that share parts as a dtype": lambda: packed(called("numpy.dtype", shared() + b"\x85")),
    "tuples that share parts as a class of arrays":
        lambda: packed(called("numpy.core.multiarray._reconstruct", shared() + b"\x85")),
    "tuples that share parts as a size":
        lambda: packed(_REBUILD + shared() + b")tR", [_STORED]),
    "sets that share parts": lambda: packed(b"\x80\x04}" + shared(60, b"(\x91", b"\x86\x85\x85") + b"Ns"),
    "deep tuples as a key": lambda: packed(b"}" + deep(100_000) + b"Ns"),
    "deep lists": lambda: packed(b"]" * 20_000 + b"a" * 19_999),
    "negative elements": lambda: lazily(neg=True),
    "conjugate elements": lambda: lazily(conj=True),
    "a list of rows": lambda: packed(called("builtins.list", _window() + b"\x85"), [_STORED]),
    "a set of rows": lambda: packed(called("builtins.set", _window() + b"\x85"), [_STORED]),
    "pairs of rows": lambda: packed(called("collections.OrderedDict", b"](" + _window() + b"e\x85"), [_STORED]),
    "a size of rows": lambda: packed(called("torch.Size", _window() + b"\x85"), [_STORED]),
    "sizes that are rows": lambda: packed(_REBUILD + _window() + b")tR", [_STORED]),
    "the text of a tensor": lambda: packed(called("builtins.str", _window() + b"\x85"), [_STORED]),
    "a list of empty rows": lambda: packed(called("builtins.list", _EMPTY_ROWS + b"\x85")),
    "sizes that are empty rows": lambda: packed(called("torch._utils._rebuild_meta_tensor_no_storage",
                                                       b"(" + spell(Global("torch.float32")) + _EMPTY_ROWS + b")\x89t")),
    "sparse indices": _sparse_torch,
    "sparse indices in a tree": _sparse_tree,
    "windows at odd addresses": _odd_windows,
    "a wide window at an odd address": lambda: tensor_file({"tensor": 0}, [_described([1 << 28], [0], offset=1)], [bytes(16)]),
    "arrays at odd addresses":
        lambda: tensor_file([{"array": 0}] * 3000, [_described([24_999], [4], offset=1)], [bytes(100_000)]),
    "entries that overlap": _overlapping,
    "a list copied often": _many_copies,
    "a text copied often": _arrays_of_one_text,
    "keys of equal hash": lambda: packed(_equal_hashes(10_000)),
    "keys of equal hash in a tree":
        lambda: tensor_file({"dict": [[i * HASH_MODULUS + (1 << 62), None] for i in range(10_000)]}),
    "elements of equal hash in a tree": lambda: tensor_file({"set": [i * HASH_MODULUS + (1 << 62) for i in range(10_000)]}),
    "shapes of many large sizes": lambda: packed(_array(b"(" + spell((1 << 62) - 1) + b"q\x01" + b"h\x01" * 100_000 + b"t")),
    "a header with long shapes": lambda: safetensors(
        {"a": {"dtype": "F32", "shape": [(1 << 62) - 1] * 50_000, "data_offsets": [0, 0]}}),
    "a legacy file whose text lies about its size":
        lambda: legacy([1], []).replace(pickled([1]), b"\x80\x04\x8e" + struct.pack("<Q", 1 << 35) + b"x."),
    "a legacy file with tuples that share parts": lambda: legacy([1], []).replace(pickled([1]), b"\x80\x02" + _KEY + b"."),
    "a file of objects with tuples that share parts": lambda: _objects(_KEY),
}


def _objects(code) -> bytes:
    out = io.BytesIO(tensor_file([]))
    with zipfile.ZipFile(out, "a") as z:
        z.writestr("objects.pkl", b"\x80\x04" + code + b".")
    return out.getvalue()


def many_names(count=3000, size=60_000) -> bytes:
    """Names of globals that are made of one long text."""
    names = b"".join(b"h\x01X\x04\x00\x00\x00" + f"{i:04}".encode() + b"\x93" for i in range(count))
    return packed(b"X" + struct.pack("<I", size) + b"x" * size + b"q\x01" + names)
