"""Interoperation with NumPy, DLPack, buffers, copying and pickling: shared or new memory, as promised."""

import copy
import ctypes
import io
import pickle
import sys

import ml_dtypes
import numpy as np
import pytest

import ingot
from ingot import nn
from ingot.runtime.interop import dlpack

DTYPES = [ingot.bool, ingot.uint8, ingot.int8, ingot.int16, ingot.int32, ingot.int64, ingot.uint16, ingot.float16,
          ingot.bfloat16, ingot.float32, ingot.float64, ingot.complex64]


def sample(dtype, shape=(3, 4)):
    a = np.arange(int(np.prod(shape))).reshape(shape) % 5
    return ingot.tensor(a).to(dtype)


def address(t):
    return t.detach().numpy().__array_interface__["data"][0]


class Foreign:
    """Object of another library that exports DLPack through NumPy."""

    def __init__(self, a, versions=True):
        self.a, self.versions = a, versions

    def __dlpack__(self, **kwargs):
        if not self.versions and kwargs:
            raise TypeError("an old library")
        return self.a.__dlpack__(**kwargs)

    def __dlpack_device__(self):
        return self.a.__dlpack_device__()


# numpy.


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
def test_numpy_shares_memory_both_ways(dtype):
    t = sample(dtype)
    a = t.numpy()
    assert a.dtype == dtype.np and address(t) == a.__array_interface__["data"][0]
    a[0, 0] = 1
    assert t[0, 0].item() == 1
    back = ingot.from_numpy(a)
    back.zero_()
    assert not a.any()


def test_array_interface():
    t = sample(ingot.float32)
    assert t.__array_interface__["typestr"] == "<f4"
    assert np.shares_memory(np.asarray(t), t.numpy())
    assert np.asarray(sample(ingot.bfloat16)).dtype == ml_dtypes.bfloat16
    with pytest.raises(RuntimeError, match="requires grad"):
        np.asarray(t.requires_grad_())


@pytest.mark.skipif(sys.version_info < (3, 12), reason="Python classes have __buffer__ since 3.12")
def test_buffer_protocol():
    t = sample(ingot.int32)
    view = memoryview(t)
    assert view.shape == (3, 4) and view.tolist() == t.tolist()
    with pytest.raises(BufferError):
        memoryview(sample(ingot.bfloat16))


def test_buffer_method_gives_the_memory():
    t = sample(ingot.int32)
    assert np.shares_memory(np.asarray(t.__buffer__(0)), t.numpy())
    with pytest.raises(BufferError, match="read-only"):
        ingot.from_numpy(np.broadcast_to(np.zeros(1), (3,))).__buffer__(1)


# DLPack.


@pytest.mark.parametrize("versions", [True, False], ids=["versioned", "old"])
@pytest.mark.parametrize("dtype", [d for d in DTYPES if d is not ingot.bfloat16], ids=str)
def test_dlpack_import_shares_writable_memory(dtype, versions):
    a = sample(dtype).numpy()
    t = ingot.from_dlpack(Foreign(a, versions))
    assert t.dtype is dtype and address(t) == a.__array_interface__["data"][0]
    t.zero_()
    assert not a.any()


@pytest.mark.parametrize("dtype", [d for d in DTYPES if d is not ingot.bfloat16], ids=str)
def test_dlpack_export_shares_memory(dtype):
    t = sample(dtype).t()
    a = np.from_dlpack(t)
    assert a.dtype == dtype.np and a.strides == t.numpy().strides
    assert a.__array_interface__["data"][0] == address(t)


@pytest.mark.parametrize("shape", [(3, 4), (), (0, 2)])
@pytest.mark.parametrize("version", [None, (1, 0)])
def test_dlpack_bfloat16_travels_through_capsules(shape, version):
    t = sample(ingot.bfloat16, shape)
    back = ingot.from_dlpack(t.__dlpack__(max_version=version))
    assert back.dtype is ingot.bfloat16 and back.tolist() == t.tolist()
    if t.numel():
        assert address(back) == address(t)


def test_dlpack_memory_outlives_its_tensor():
    t = ingot.from_dlpack(Foreign(np.arange(5.0)))
    assert t.tolist() == [0, 1, 2, 3, 4]
    capsule = ingot.arange(5).__dlpack__()
    assert ingot.from_dlpack(capsule).tolist() == [0, 1, 2, 3, 4]


def test_dlpack_device_and_copy():
    t = sample(ingot.float32)
    assert t.__dlpack_device__() == (1, 0)
    assert address(ingot.from_dlpack(t)) == address(t)
    assert address(ingot.from_dlpack(t, copy=True)) != address(t)
    assert address(ingot.from_dlpack(Foreign(t.numpy()), copy=True)) != address(t)


def without_shape(t):
    t.shape = None


def with_a_negative_size(t):
    t.shape[1] = -1


def with_negative_dims(t):
    t.ndim = -1


def with_too_many_dims(t):
    t.ndim = 65


def without_memory(t):
    t.data = None


@pytest.mark.parametrize("version", [None, (1, 0)], ids=["old", "versioned"])
@pytest.mark.parametrize("dtype", [ingot.float32, ingot.bfloat16], ids=str)
@pytest.mark.parametrize("damage", [without_shape, with_a_negative_size, with_negative_dims, with_too_many_dims,
                                    without_memory])
def test_a_capsule_that_describes_no_array_is_refused(damage, dtype, version):
    capsule = ingot.ones(2, 3, dtype=dtype).__dlpack__(max_version=version)
    header = dlpack.header_of(capsule)
    before = header.ndim, ctypes.cast(header.shape, ctypes.c_void_p).value, header.data, header.shape[1]
    damage(header)
    with pytest.raises(ValueError, match="describes no array"):
        ingot.from_dlpack(capsule)
    header.ndim, header.data = before[0], before[2]
    header.shape = ctypes.cast(before[1], type(header.shape))
    header.shape[1] = before[3]
    assert ingot.from_dlpack(capsule).tolist() == [[1.0] * 3] * 2


def test_dlpack_refusals():
    t = sample(ingot.float32)
    with pytest.raises(BufferError, match="requires grad"):
        t.detach().clone().requires_grad_().__dlpack__()
    with pytest.raises(BufferError, match="device"):
        t.__dlpack__(dl_device=(2, 0))
    with pytest.raises(TypeError, match="__dlpack__"):
        ingot.from_dlpack([1, 2])
    capsule = t.__dlpack__()
    ingot.from_dlpack(capsule)
    with pytest.raises(TypeError, match="consumed"):
        ingot.from_dlpack(capsule)

    class OnGpu(Foreign):
        def __dlpack_device__(self):
            return (2, 0)

    with pytest.raises(RuntimeError, match="move it to the CPU"):
        ingot.from_dlpack(OnGpu(np.zeros(3)))


@pytest.mark.peer
@pytest.mark.parametrize("dtype", DTYPES, ids=str)
def test_torch_shares_memory_both_ways(dtype):
    torch = pytest.importorskip("torch")
    t = sample(dtype)
    peer = torch.from_dlpack(t)
    assert peer.data_ptr() == address(t) and str(peer.dtype) == f"torch.{dtype.name}"
    back = ingot.from_dlpack(peer)
    assert back.dtype is dtype and address(back) == address(t)
    back.zero_()
    assert not peer.any()
    old = ingot.from_dlpack(torch.utils.dlpack.to_dlpack(peer))
    assert address(old) == address(t)


# Copying and pickling.

COPIERS = {"pickle2": lambda x: pickle.loads(pickle.dumps(x, 2)), "pickle5": lambda x: pickle.loads(pickle.dumps(x, 5)),
           "deepcopy": copy.deepcopy}
copiers = pytest.mark.parametrize("copier", COPIERS.values(), ids=COPIERS)


@copiers
@pytest.mark.parametrize("make", [
    lambda t: t, lambda t: t.t(), lambda t: t[1], lambda t: t[:, ::2], lambda t: t[2:1], lambda t: t[0, 0],
    lambda t: t[:, :1].expand(3, 7), lambda t: ingot.from_numpy(np.asfortranarray(t.numpy())),
    lambda t: ingot.from_numpy(t.numpy()[::-1]),
], ids=["whole", "transposed", "row", "step", "empty", "scalar", "expanded", "fortran", "reversed"])
@pytest.mark.parametrize("dtype", [ingot.float32, ingot.bfloat16, ingot.bool], ids=str)
def test_copies_have_values_and_layout_but_not_memory(copier, make, dtype):
    t = make(sample(dtype))
    c = copier(t)
    assert c.dtype is t.dtype and c.shape == t.shape
    assert c.tolist() == t.tolist()
    assert not np.shares_memory(c.numpy(), t.numpy())


@copiers
def test_sharing_survives(copier):
    base = sample(ingot.float32)
    data = {"base": base, "row": base[1], "again": base, "t": base.t()}
    c = copier(data)
    assert c["base"] is c["again"]
    before = c["base"]._version
    c["row"].fill_(9)
    assert c["base"][1].tolist() == [9.0] * 4 and c["t"][:, 1].tolist() == [9.0] * 4
    assert c["base"]._version == before + 1      # one version counter, as before
    assert base[1].tolist() != [9.0] * 4


def test_arrays_of_tensors_that_require_grad_are_for_code_that_differentiates_nothing():
    w = ingot.ones(2, requires_grad=True)
    y = w * 2
    for off in (ingot.no_grad, ingot.inference_mode):
        with off():
            assert np.asarray(w).tolist() == w.numpy().tolist() == [1, 1] and y.numpy().tolist() == [2, 2]
    with ingot.no_grad():
        w.numpy()[0] = 5
    assert w.tolist() == [5, 1]
    for read in (w.numpy, y.numpy, lambda: np.asarray(w)):
        with pytest.raises(RuntimeError, match="detach"):
            read()



@copiers
def test_requires_grad_class_and_attributes(copier):
    t = ingot.ones(2).requires_grad_()
    t.note = ["kept"]
    c = copier(t)
    assert c.requires_grad and c.is_leaf and c.note == ["kept"] and c.note is not t.note
    p = copier(nn.Parameter(ingot.ones(2)))
    assert type(p) is nn.Parameter and p.requires_grad


def test_deepcopy_copies_the_gradient_and_refuses_computed_tensors():
    t = ingot.ones(2).requires_grad_()
    (t * 3).sum().backward()
    c = copy.deepcopy(t)
    assert c.grad.tolist() == [3.0, 3.0] and c.grad is not t.grad
    with pytest.raises(RuntimeError, match="leaf"):
        copy.deepcopy(t * 2)


def test_pickling_a_computed_tensor_gives_a_leaf():
    c = pickle.loads(pickle.dumps(ingot.ones(2).requires_grad_() * 2))
    assert c.is_leaf and c.requires_grad and c.tolist() == [2.0, 2.0]


def test_shallow_copy_shares_memory():
    t = sample(ingot.float32)
    c = copy.copy(t)
    assert c is not t and address(c) == address(t)
    c.zero_()
    assert t._version == c._version == 1


def test_dtypes_sizes_and_devices_copy():
    for x in (ingot.float32, ingot.Size([1, 2]), ingot.device("cuda", 1)):
        for copier in COPIERS.values():
            assert copier(x) == x
    assert copy.deepcopy(ingot.bfloat16) is ingot.bfloat16


@pytest.mark.parametrize("take", [lambda t: t.numpy(), lambda t: t.numpy()[1:],
                                  lambda t: memoryview(t.numpy()), lambda t: t.view(2, 2).numpy().T],
                         ids=["whole", "part", "buffer", "view"])
def test_exported_memory_is_lent_while_it_is_referenced(take):
    t = ingot.arange(4.0)
    held = take(t)
    storage = t._storage
    assert storage.lent == 1
    again = held[:1]
    del held
    assert storage.lent == 1, "a part of it is still there"
    del again
    assert (storage.lent, storage.returned) == (0, 1)


@pytest.mark.parametrize("use", [pickle.dumps, copy.deepcopy, lambda t: ingot.save(t, io.BytesIO()), lambda t: t.clone()])
def test_copies_borrow_nothing(use):
    t = ingot.arange(4.0)
    use(t)
    assert (t._storage.lent, t._storage.returned) == (0, 0)


@pytest.mark.peer
def test_functions_of_torch_take_our_tensors():
    torch = pytest.importorskip("torch")
    x, y = ingot.rand(4, 6, requires_grad=True), ingot.rand(4, 6)
    classes = ingot.tensor([0, 2, 1, 5])
    F = nn.functional
    pairs = [
        (torch.nn.PairwiseDistance()(x, y), ingot.pairwise_distance(x, y)), (torch.add(x, y, alpha=2), x + 2 * y),
        (torch.special.expit(y), ingot.special.expit(y)), (torch.linalg.vector_norm(x), ingot.linalg.vector_norm(x)),
        (torch.nn.CrossEntropyLoss()(x, classes), F.cross_entropy(x, classes)),
        (torch.stack([x, y], 1), ingot.stack([x, y], 1)),
        (torch.nn.functional.gelu(x), F.gelu(x)), (torch.nn.functional.pad(x, (1, 2)), F.pad(x, (1, 2))),
    ]
    for theirs, ours in pairs:
        assert type(theirs) is ingot.Tensor and ingot.equal(theirs, ours)
    torch.nn.MSELoss()(x, y).backward()
    assert ingot.allclose(x.grad, 2 * (x.detach() - y) / 24)
    with pytest.raises(TypeError, match="hash_tensor"):
        torch.hash_tensor(x)


class OfAnotherLibrary:
    """Tensor of another library, with a dtype and a layout of its own."""

    __module__ = "others.tensors"
    dtype, layout, shape, ndim, size = object(), object(), (2, 3), 2, 6


@pytest.mark.parametrize("call", [
    lambda x, t: ingot.matmul(t, x), lambda x, t: x @ t, lambda x, t: ingot.mv(x, t), lambda x, t: ingot.cat([t, x]),
    lambda x, t: nn.Linear(3, 2)(x), lambda x, t: nn.Embedding(3, 2)(x), lambda x, t: nn.Conv2d(1, 1, 1)(x),
    lambda x, t: nn.MaxPool2d(2)(x), lambda x, t: nn.LayerNorm(3)(x), lambda x, t: nn.Softmax(1)(x),
    lambda x, t: nn.functional.conv2d(t, x), lambda x, t: ingot.optim.SGD([x], lr=0.1),
    lambda x, t: nn.Linear(3, 2).load_state_dict({"weight": x, "bias": x})])
def test_a_tensor_of_another_library_is_named_with_it(call):
    with pytest.raises((TypeError, RuntimeError), match=r"others\.OfAnotherLibrary|'OfAnotherLibrary'"):
        call(OfAnotherLibrary(), ingot.ones(3, 2))


# einops, which learns of tensors as the README says.


@pytest.fixture
def einops():
    """Return einops, with ingot's backend during the test."""
    library = pytest.importorskip("einops")
    known = dict(library._backends._loaded_backends)

    class Backend(library._backends.TorchBackend):
        framework_name = "ingot"

        def __init__(self):
            self.torch = ingot

    yield library
    library._backends._loaded_backends.clear()
    library._backends._loaded_backends.update(known)
    library._backends._type2backend.clear()


EINOPS = {
    "rearrange": lambda e, x: e.rearrange(x, "b (h w) c -> b c h w", h=2),
    "repeat": lambda e, x: e.repeat(x, "b n c -> b n (r c)", r=3),
    "reduce": lambda e, x: e.reduce(x, "b n c -> b c", "mean"),
    "reduce to the largest": lambda e, x: e.reduce(x, "b n c -> n", "max"),
    "einsum": lambda e, x: e.einsum(x, x, "b n c, b m c -> b n m"),
    "pack": lambda e, x: e.pack([x, x[:, 0]], "b * c")[0],
}


@pytest.mark.parametrize("case", EINOPS)
def test_einops_in_traces(case, einops):
    """Results agree with NumPy arrays, eager and traced, with the gradient, and for new sizes."""
    function = EINOPS[case]
    traced = ingot.jit.trace(lambda x: function(einops, x))
    for batch in (2, 2, 5, 2):
        a = np.random.default_rng(batch).standard_normal((batch, 6, 4)).astype("f")
        want = function(einops, a)
        x, y = (ingot.tensor(a, requires_grad=True) for _ in range(2))
        eager, replayed = function(einops, x), traced(y)
        np.testing.assert_allclose(eager.detach().numpy(), want, rtol=1e-5, atol=1e-5)
        np.testing.assert_array_equal(replayed.detach().numpy(), eager.detach().numpy())
        eager.sum().backward()
        replayed.sum().backward()
        np.testing.assert_allclose(y.grad.numpy(), x.grad.numpy(), rtol=1e-5, atol=1e-6)


def test_copies_of_parameters_begin_without_a_gradient():
    """As in PyTorch, whose users train copies of networks; copies of other tensors keep their gradients."""
    layer = nn.Linear(2, 2)
    layer(ingot.ones(2)).sum().backward()
    copied = copy.deepcopy(layer)
    assert copied.weight.grad is None and layer.weight.grad is not None and copied.weight.requires_grad
    x = ingot.ones(2, requires_grad=True)
    x.sum().backward()
    assert copy.deepcopy(x).grad.tolist() == [1, 1]


@pytest.mark.parametrize("make, shape", [
    (lambda: ingot.Tensor(ingot.ones(2, 3).size()), (2, 3)), (lambda: ingot.Tensor(ingot.Size([])), ()),
    (lambda: ingot.Tensor(np.int64(3)), (3,)), (lambda: ingot.Tensor(), (0,)), (lambda: ingot.Tensor((2, 3)), (2,)),
    (lambda: ingot.Tensor(ingot.ones(2, 3).untyped_storage()), (6,)), (lambda: ingot.Tensor(np.ones((2, 2))), (2, 2)),
], ids=["size", "size of nothing", "a numpy int", "nothing", "numbers", "storage", "array"])
def test_the_constructor_takes_sizes_and_numbers(make, shape):
    t = make()
    assert t.shape == shape and t.dtype is ingot.float32


class Plain(ingot.Tensor):
    pass


class Made(ingot.Tensor):
    def __new__(cls, source, note):
        made = super().__new__(cls, source)
        made.note = note
        return made


class Told(ingot.Tensor):
    def __init__(self, source, note):
        super().__init__(source)
        self.note = note


@pytest.mark.parametrize("make, kind", [
    (ingot.Tensor, ingot.Tensor), (Plain, Plain), (lambda x: ingot.Tensor.__new__(Plain, x), Plain),
    (lambda x: Made(x, 1), Made), (lambda x: Told(x, 1), Told),
], ids=["Tensor", "heir", "by __new__", "own __new__", "own __init__"])
def test_the_constructor_gives_a_view_of_a_tensor(make, kind):
    for x in (ingot.tensor([1, 2]), ingot.tensor([True]), ingot.ones(2, 3, dtype=ingot.float64).mT, ingot.tensor(3)):
        t = make(x)
        assert type(t) is kind and t is not x and (t.dtype, t.shape, t.stride()) == (x.dtype, x.shape, x.stride())
        t.zero_()
        assert not x.any() and t.data_ptr() == x.data_ptr()
    leaf = ingot.ones(2, requires_grad=True)
    made = make(leaf * 3)
    (made * made).sum().backward()
    assert leaf.grad.tolist() == [18, 18] and make(leaf).requires_grad and not make(leaf.detach()).requires_grad


@pytest.mark.parametrize("data", [(5.0,), (None,), (True,), ("ab",), ([1], [2])], ids=str)
def test_the_constructor_refuses_single_numbers(data):
    with pytest.raises(TypeError, match="takes sizes or one sequence"):
        ingot.Tensor(*data)


def test_tensors_look_at_storages():
    x = ingot.arange(12.0)
    y = ingot.Tensor().set_(x.storage(), 1, (2, 3), (1, 4))
    assert y.tolist() == [[1, 5, 9], [2, 6, 10]]
    y[0, 0] = 7
    assert x[1] == 7 and ingot.Tensor().set_(x.untyped_storage(), 10, 2).tolist() == [10, 11]
    with pytest.raises(TypeError, match="must agree"):
        ingot.Tensor().set_(x.double().storage())


def test_numbers_of_complex_tensors_without_imaginary_parts():
    assert float(ingot.tensor(1.5 + 0j)) == 1.5 and int(ingot.tensor([2 + 0j])) == 2
    with pytest.raises(TypeError, match="imaginary part"):
        float(ingot.tensor(1 + 1j))


@pytest.mark.parametrize("cls", [ingot.Tensor, ingot.Size])
def test_classes_are_known_by_their_public_names(cls):
    assert cls.__module__ == "ingot" and repr(cls) == f"<class 'ingot.{cls.__name__}'>"
    assert pickle.loads(pickle.dumps(cls)) is cls is getattr(ingot, cls.__name__)


def _of_file(tmp_path):
    a = np.memmap(tmp_path / "numbers", dtype="float32", mode="w+", shape=(4, 3))
    a[:] = np.arange(12).reshape(4, 3)
    return a


class OfAnother(np.ndarray):
    """Array subclass as in libraries, for example with units."""


ARRAYS = {"memmap": _of_file, "another": lambda _: np.arange(12, dtype="float32").reshape(4, 3).view(OfAnother),
          "masked": lambda _: np.ma.array(np.arange(12, dtype="float32").reshape(4, 3), mask=np.eye(4, 3))}
USES = {"view": lambda x: x[1:, 0], "turned": lambda x: x.T.reshape(-1), "bits": lambda x: x.view(ingot.int32),
        "sum": lambda x: x.sum(0),
        "product": lambda x: x @ x.T, "split": lambda x: ingot.cat(x.split(2)), "traced": ingot.jit.trace(lambda x: x[1:] * 2)}


@pytest.mark.parametrize("make", [ingot.from_numpy, ingot.as_tensor, ingot.asarray])
@pytest.mark.parametrize("kind", ARRAYS)
def test_arrays_of_classes_of_their_own_are_memory(kind, make, tmp_path):
    a = ARRAYS[kind](tmp_path)
    x = make(a)
    plain = ingot.arange(12.0).reshape(4, 3)
    for name, use in USES.items():
        assert ingot.equal(use(x), use(plain)), name
    assert ingot.equal(plain + x, plain * 2) and type(x.numpy()) is np.ndarray
    x[0, 1] = 50
    assert np.asarray(a)[0, 1] == 50
