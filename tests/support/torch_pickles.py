"""Writes files in PyTorch's formats by hand, opcode by opcode, so that tests need no PyTorch."""

import io
import struct
import zipfile

import numpy as np


class Global:
    def __init__(self, name):
        self.module, _, self.name = name.rpartition(".")


class Call:
    """fn(*args), with a state for BUILD if given."""

    def __init__(self, fn, *args, state=None):
        self.fn, self.args, self.state = Global(fn), args, state


class Stored:
    """A storage, as a persistent id. A `view` is (its key, first element, number of elements), in the legacy format."""

    def __init__(self, key, kind, array, view=None):
        self.key, self.kind, self.array, self.view = key, kind, array, view


def spell(x) -> bytes:
    """The protocol 2 pickle of a value, without header and stop."""
    if isinstance(x, Global):
        return f"c{x.module}\n{x.name}\n".encode()
    if isinstance(x, Call):
        built = b"" if x.state is None else spell(x.state) + b"b"
        return spell(x.fn) + spell(tuple(x.args)) + b"R" + built
    if isinstance(x, Stored):
        more = () if x.view is None else (x.view,)
        return spell(("storage", Global(f"torch.{x.kind}Storage"), x.key, "cpu", x.array.size, *more)) + b"Q"
    if x is None or isinstance(x, bool):
        return {None: b"N", True: b"\x88", False: b"\x89"}[x]
    if isinstance(x, int):
        data = x.to_bytes(x.bit_length() // 8 + 1, "little", signed=True)
        return b"\x8a" + bytes([len(data)]) + data
    if isinstance(x, float):
        return b"G" + struct.pack(">d", x)
    if isinstance(x, str):
        return b"X" + struct.pack("<I", len(x.encode())) + x.encode()
    if isinstance(x, tuple):
        return b"(" + b"".join(map(spell, x)) + b"t"
    if isinstance(x, list):
        return b"](" + b"".join(map(spell, x)) + b"e"
    return b"}(" + b"".join(spell(k) + spell(v) for k, v in x.items()) + b"u"


def pickled(x) -> bytes:
    return b"\x80\x02" + spell(x) + b"."


def tensor(stored, offset, size, stride, requires_grad=False):
    return Call("torch._utils._rebuild_tensor_v2", stored, offset, size, stride, requires_grad, Call("collections.OrderedDict"))


def archive(obj, storages, byteorder="little", **entries) -> bytes:
    """A zip file as torch.save writes it, on a machine of a byte order."""
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w") as z:
        z.writestr("archive/data.pkl", pickled(obj))
        z.writestr("archive/byteorder", byteorder)
        for s in storages:
            z.writestr(f"archive/data/{s.key}", s.array.tobytes())
        for name, data in entries.items():
            z.writestr(f"archive/{name}", data)
    return out.getvalue()


def legacy(obj, storages, system=None) -> bytes:
    """The stream that torch.save wrote before 1.6, maybe on another system."""
    system = {"protocol_version": 1001, "little_endian": True} if system is None else system
    head = b"\x80\x02\x8a\nl\xfc\x9cF\xf9 j\xa8P\x19."
    parts = [head, pickled(1001), pickled(system), pickled(obj),
             pickled([s.key for s in storages])]
    for s in storages:
        parts += [struct.pack("<q", s.array.size), s.array.tobytes()]
    return b"".join(parts)


def example():
    """An object with shared, transposed and low-precision tensors, and its storages."""
    w = Stored("0", "Float", np.arange(12, dtype=np.float32))
    half = Stored("1", "BFloat16", np.array([0x3F80, 0x4000], np.uint16))      # 1.0, 2.0
    obj = {"w": tensor(w, 0, (3, 4), (4, 1), True), "wt": tensor(w, 0, (4, 3), (1, 4)), "row": tensor(w, 4, (4,), (1,)),
           "bf": tensor(half, 0, (2,), (1,)), "n": 3, "x": [1.5, None, True, "s"],
           "od": Call("collections.OrderedDict", state={"_metadata": {"version": 1}}), "dtype": Global("torch.float16"),
           "size": Call("torch.Size", (2, 3)), "device": Call("torch.device", "cuda", 0),
           "set": Call("__builtin__.set", [1, 2])}
    return obj, [w, half]


def part(name, **fields):
    """An object of a checkpoint's index."""
    return Call(f"torch.distributed.checkpoint.{'filesystem' if name == '_StorageInfo' else 'metadata'}.{name}", state=fields)


def size(*numbers):
    return Call("torch.Size", tuple(numbers))


def checkpoint(folder, chunks, whole=(4, 3), change=None, more=()):
    """Write a checkpoint like two ranks: a tensor in chunks {start row: rows}, another one, and a list. Offsets have `more`
    numbers than the tensor has dimensions."""
    folder.mkdir()
    w = np.arange(whole[0] * whole[1], dtype=np.float32).reshape(whole)
    files: dict = {"__0_0.distcp": b"", "__1_0.distcp": b""}
    locations = {}

    def put(key, obj, storages, name, **more):
        data = archive(obj, storages)
        locations[part("MetadataIndex", fqn=key, **more)] = part("_StorageInfo", relative_path=name, offset=len(files[name]),
                                                              length=len(data))
        files[name] += data

    for i, (start, rows) in enumerate(chunks.items()):
        stored = Stored("0", "Float", w[start:start + rows])
        put("model.w", tensor(stored, 0, (rows, whole[1]), (whole[1], 1)), [stored], f"__{i % 2}_0.distcp",
            offset=size(start, 0, *more), index=i)
    put("extra", [7, {"name": "x"}], [], "__1_0.distcp")
    properties = part("TensorProperties", dtype=Global("torch.float32"))
    held = [part("ChunkStorageMetadata", offsets=size(start, 0, *more), sizes=size(rows, whole[1]))
            for start, rows in chunks.items()]
    wide = part("TensorStorageMetadata", properties=properties, size=size(*whole), chunks=held)
    index = {"state_dict_metadata": {"model.w": wide, "extra": part("BytesStorageMetadata")},
             "planner_data": {"model.w": ("model", "w"), "extra": ("extra",)}, "storage_data": locations,
             "storage_meta": part("StorageMeta", checkpoint_id=Call("pathlib.PosixPath", "/", "tmp"))}
    (folder / ".metadata").write_bytes(pickled(part("Metadata", **{**index, **(change or {})})))
    for name, data in files.items():
        (folder / name).write_bytes(data)
    return w
