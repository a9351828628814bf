"""Storages, typed and untyped: sharing of memory, reads and writes, slices, files, and older names."""

import sys

import numpy as np
import pytest

import ingot
import mock_cuda
from ingot import jit


def test_storages_compare_equal_if_they_share_memory():
    x = ingot.arange(12.0).reshape(3, 4)
    part, other = x[1:, 2], x.clone()
    assert x.untyped_storage() == part.untyped_storage() != other.untyped_storage()
    assert x.untyped_storage().data_ptr() == x.data_ptr() == part.untyped_storage().data_ptr()
    assert x.untyped_storage().nbytes() == len(x.untyped_storage()) == 48 and x.storage().size() == 12
    assert part.storage().tolist() == list(map(float, range(12))) and part.storage().dtype is ingot.float32
    assert isinstance(x.storage(), ingot.TypedStorage) and x.storage().untyped() == x.untyped_storage()
    assert ingot.empty(0).untyped_storage().data_ptr() == 0
    with pytest.raises(ingot.IngotError, match="resized"):
        x.untyped_storage().resize_(0)
    assert ingot.UntypedStorage(12).nbytes() == 12
    with pytest.raises(jit.TraceError, match="address"):
        jit.trace(lambda t: t * t.untyped_storage().nbytes())(x)


KINDS = {"FloatStorage": ingot.float32, "DoubleStorage": ingot.float64, "LongStorage": ingot.int64, "ByteStorage": ingot.uint8,
         "HalfStorage": ingot.float16, "BoolStorage": ingot.bool, "ComplexFloatStorage": ingot.complex64}


@pytest.mark.parametrize("name", KINDS)
def test_storages_by_their_old_names(name):
    kind = getattr(ingot, name)
    made, x = kind(3), ingot.ones(2, 2, dtype=KINDS[name])
    assert made.tolist() == [0, 0, 0] and made.dtype is KINDS[name] and len(made) == 3
    for storage in (made, kind([1, 0]), x.storage(), kind.from_buffer(x.contiguous().untyped_storage().tolist())):
        assert isinstance(storage, kind) and isinstance(storage, ingot.TypedStorage) and ingot.is_storage(storage)
    assert not isinstance(ingot.ones(1, dtype=ingot.int16).storage(), kind) and not ingot.is_storage(x)


def test_storages_are_read_and_written():
    x = ingot.arange(6.0).reshape(2, 3)
    typed, raw = x[1].storage(), x.untyped_storage()
    typed[1] = 9
    assert x[0].tolist() == [0, 9, 2] and list(typed) == [0, 9, 2, 3, 4, 5] and typed[5] == 5.0
    apart = typed.clone().fill_(7)
    assert typed[0] == 0 and apart.tolist() == [7] * 6
    assert typed.copy_(apart)[2] == 7 and x.eq(7).all()
    assert raw.fill_(0)[23] == 0 and x.eq(0).all() and raw.cpu() is raw and not raw.is_cuda
    bits = ingot.UntypedStorage(4).fill_(1)
    assert ingot.TypedStorage(wrap_storage=bits, dtype=ingot.int16).tolist() == [257, 257]
    shared = ingot.ByteTensor(ingot.ByteStorage.from_buffer(b"\1\2"))
    assert shared.tolist() == [1, 2] and shared.dtype is ingot.uint8
    with pytest.raises(ingot.IngotError, match="order"):
        ingot.FloatStorage.from_buffer(bytes(4), "big" if sys.byteorder == "little" else "little")


def test_parts_of_a_storage_are_tensors_of_any_dtype():
    x = ingot.arange(6.0)
    raw = x.untyped_storage()
    part = raw[4:12]
    assert part.nbytes() == 8 and part.data_ptr() == raw.data_ptr() + 4 and raw[-4:].nbytes() == 4 and raw.untyped() is raw
    over = ingot.asarray(part, dtype=ingot.float32)
    assert over.tolist() == [1, 2] and ingot.as_tensor(part[4:], dtype=ingot.int32).tolist() == [0x40000000]
    over.zero_()
    part[0:4].fill_(255)
    assert x.isnan().tolist() == [False, True, *[False] * 4] and x[2] == 0
    for wrong in (lambda: raw[::2], lambda: x.storage()[1:2]):
        with pytest.raises(RuntimeError):
            wrong()


def test_storages_of_files(tmp_path):
    path = tmp_path / "numbers"
    np.arange(4, dtype=np.float32).tofile(path)
    own = ingot.UntypedStorage.from_file(str(path), False, 16)
    ingot.asarray(own[4:8], dtype=ingot.float32)[0] = 7
    assert ingot.asarray(own, dtype=ingot.float32).tolist() == [0, 7, 2, 3] and np.fromfile(path, np.float32)[1] == 1
    ingot.asarray(ingot.UntypedStorage.from_file(path, shared=True, nbytes=16)[8:], dtype=ingot.float32)[0] = 9
    assert ingot.FloatStorage.from_file(path, False, 4).tolist() == [0, 1, 9, 3] and own.cpu() is own
    with pytest.raises(RuntimeError, match="16 bytes"):
        ingot.UntypedStorage.from_file(path, nbytes=17)


def test_writes_through_a_storage_count_as_versions():
    w = ingot.ones(2, requires_grad=True)
    x = w * 2
    y = x.exp()
    y.detach().storage()[0] = 5.0
    with pytest.raises(ingot.IngotError, match="overwritten"):
        y.sum().backward()


def test_tensors_of_storages_have_their_dtype():
    t = ingot.tensor([1, 2, 300], dtype=ingot.int16)
    for make in (ingot.tensor, ingot.as_tensor):
        for dtype in (None, ingot.int16):
            found = make(t.storage(), dtype=dtype)
            assert found.dtype is ingot.int16 and found.tolist() == [1, 2, 300]
        with pytest.raises(RuntimeError, match=r"storage of int16"):
            make(t.storage(), dtype=ingot.float32)
        assert make(t.untyped_storage(), dtype=ingot.int16).tolist() == [1, 2, 300]
        assert make(t.untyped_storage()).tolist() == [1, 0, 2, 0, 44, 1] and make(t.untyped_storage()).dtype is ingot.uint8
    ingot.tensor(t.storage()).fill_(0)
    assert t.tolist() == [1, 2, 300]
    ingot.as_tensor(t.storage()).fill_(0)
    assert t.tolist() == [0, 0, 0]


def test_storages_of_meta_tensors_have_a_size():
    t = ingot.empty(4, 2, dtype=ingot.float64, device="meta")
    assert t.untyped_storage().nbytes() == 64 and t.storage().size() == 8 and t.untyped_storage().data_ptr() == 0
    with pytest.raises(ingot.IngotError, match="device"):
        t.storage().tolist()


def test_memory_of_a_device_comes_to_the_host_as_a_whole():
    with mock_cuda.installed():
        x = ingot.arange(6.0).cuda()
        own = x.untyped_storage().cpu()
        assert not own.is_cuda and own.nbytes() == 24
        assert ingot.empty(0).set_(own, 0, (6,)).tolist() == [0, 1, 2, 3, 4, 5]
        with pytest.raises(RuntimeError, match="part of its memory"):
            x[2:4].untyped_storage().cpu()


def test_windows_into_memory_of_a_device():
    with mock_cuda.installed():
        for place in ("cpu", "cuda"):
            x = ingot.arange(6.0, device=place)
            assert x.is_set_to(x[:]) and x[1:4].is_set_to(x[1:4])
            assert not x.is_set_to(x[1:]) and not x[:3].is_set_to(x[::2]) and not x.is_set_to(x.clone())


# Memory that numpy may not write. The owner of a view, or of what is broadcast, may be an array that it may write.


def read_only(a):
    a.flags.writeable = False
    return a


def mapped(path):
    np.arange(12.0).tofile(path / "numbers")
    return np.memmap(path / "numbers", np.float64, "r")


READ_ONLY = {
    "array": lambda _: read_only(np.arange(6.0)), "bytes": lambda _: np.frombuffer(bytes(48)),
    "view": lambda _: read_only(np.arange(12.0)[3:9]), "steps": lambda _: read_only(np.arange(12.0)[::2]),
    "view of read-only": lambda _: read_only(np.arange(12.0))[3:9], "transposed": lambda _: read_only(np.ones((2, 3)).T),
    "broadcast": lambda _: np.broadcast_to(np.arange(3.0), (2, 3)), "file": mapped, "part of a file": lambda p: mapped(p)[3:9],
}


def set_to(storage, *window):
    return ingot.empty(0, dtype=ingot.float64).set_(storage, *window)


WRITES = {
    "fill_": lambda t: t.untyped_storage().fill_(7), "[0] =": lambda t: t.untyped_storage().__setitem__(0, 7),
    "[:8] =": lambda t: t.untyped_storage().__setitem__(slice(8), 7), "[:8].fill_": lambda t: t.untyped_storage()[:8].fill_(7),
    "copy_": lambda t: t.untyped_storage().copy_(ingot.ones(t.untyped_storage().nbytes(), dtype=ingot.uint8).untyped_storage()),
    "elements fill_": lambda t: t.storage().fill_(7.0), "elements [0] =": lambda t: t.storage().__setitem__(0, 7.0),
    "set_": lambda t: set_to(t.untyped_storage()).fill_(7),
    "set_ a part": lambda t: set_to(t.untyped_storage(), 1, (2,)).fill_(7),
    "set_ elements": lambda t: set_to(t.storage()).fill_(7), "set_ a tensor": lambda t: set_to(t).fill_(7),
    "set_ bytes": lambda t: ingot.empty(0, dtype=ingot.uint8).set_(t.untyped_storage()).fill_(7),
    "of a view": lambda t: t[1:].untyped_storage().fill_(7),
    "of a detached one": lambda t: t.detach().untyped_storage().fill_(7),
    "of another dtype": lambda t: t.view(ingot.int64).untyped_storage().fill_(7),
    "of a parameter": lambda t: set_to(ingot.nn.Parameter(t, requires_grad=False).untyped_storage()).fill_(7),
    "write in place": lambda t: t.add_(1), "as_strided": lambda t: t.as_strided((1,), (1,)).fill_(7),
    "numpy": lambda t: t.numpy().__setitem__(0, 7.0), "DLPack": lambda t: ingot.from_dlpack(t).fill_(7),
}


@pytest.mark.parametrize("write", WRITES)
@pytest.mark.parametrize("source", READ_ONLY)
def test_memory_that_numpy_may_not_write_stays_as_it_is(source, write, tmp_path):
    a = READ_ONLY[source](tmp_path)
    before, t = a.copy(), ingot.from_numpy(a)
    if write == "of a parameter":               # a parameter of read-only memory has a copy
        WRITES[write](t)
    else:
        with pytest.raises((ValueError, RuntimeError)):
            WRITES[write](t)
    assert np.array_equal(a, before)


def test_memory_of_the_library_is_written_through_storages():
    for t in (ingot.zeros(3).expand(2, 3), ingot.zeros(3).expand(2, 3).detach(), ingot.zeros(3)[1:],
              ingot.zeros(2, 3).mT.detach(), ingot.from_numpy(np.zeros(6))[::2]):
        t.untyped_storage().fill_(0x40)
        assert t.flatten().tolist() == [ingot.full((4,), 0x40, dtype=ingot.uint8).view(ingot.float32).item()
                                        if t.dtype is ingot.float32 else t.flatten()[0].item()] * t.numel()
        assert t.flatten()[0].item()
