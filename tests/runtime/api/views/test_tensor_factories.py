"""Tensor factories: dtypes from data, counted and filled tensors, errors."""

import array

import numpy as np
import pytest

import ingot
from ingot.ir.errors import ArgumentError
from ingot.runtime.api.views import ranges


@pytest.mark.parametrize("data, dtype, shape", [
    (1, "int64", ()), (1.0, "float32", ()), (True, "bool", ()), (1j, "complex64", ()),
    ([1, 2], "int64", (2,)), ([1, 2.5], "float32", (2,)), ([True, False], "bool", (2,)), ([True, 2], "int64", (2,)),
    ([], "float32", (0,)), ([[], []], "float32", (2, 0)), ((1, (2)), "int64", (2,)), (range(3), "int64", (3,)),
    (np.float64(1), "float64", ()), (np.arange(3, dtype=np.int16), "int16", (3,)), ([np.float64(1), 2], "float64", (2,)),
    (np.zeros((2, 0)), "float64", (2, 0)), ([np.ones(2), np.zeros(2)], "float64", (2, 2)),
    ([ingot.tensor(1.0), 1e-7], "float32", (2,)), ([ingot.tensor(1.0, dtype=ingot.float64), 1.0], "float64", (2,)),
    ([ingot.tensor(1.0, dtype=ingot.float16), 1], "float16", (2,)), ([ingot.tensor(3, dtype=ingot.int8), 1.0], "float32", (2,)),
    ([ingot.tensor(3), 1.0], "float32", (2,)), ([ingot.tensor(1.0, dtype=ingot.bfloat16), 2], "bfloat16", (2,)),
    ([ingot.tensor(1.0, dtype=ingot.float16), ingot.tensor(3)], "float16", (2,)), ([1.0, np.float16(1)], "float32", (2,)),
    ([ingot.tensor(1.0), 1j], "complex64", (2,)), ([np.zeros(2, np.float32), [1.0, 2.0]], "float32", (2, 2)),
    ([[ingot.tensor(True), 1.5], (2, 3)], "float32", (2, 2)),
])
def test_dtypes_follow_from_data(data, dtype, shape):
    t = ingot.tensor(data)
    assert (t.dtype, t.shape) == (getattr(ingot, dtype), shape)


@pytest.mark.parametrize("shape, order", [((2, 3, 4, 5), "channels_last"), ((2, 3, 4, 5, 6), "channels_last_3d")])
def test_new_tensors_have_the_strides_of_their_format(shape, order):
    made = ingot.empty(shape, dtype=ingot.float64, memory_format=getattr(ingot, order), requires_grad=True)
    want = ingot.zeros(shape).contiguous(memory_format=getattr(ingot, order))
    assert made.stride() == want.stride() and made.dim_order() == want.dim_order() == (0, *range(2, len(shape)), 1)
    assert made.is_leaf and made.requires_grad and made.dtype is ingot.float64 and made.shape == shape
    assert ingot.empty(shape, memory_format=ingot.contiguous_format).is_contiguous()
    with pytest.raises(TypeError, match=f"{order} is for tensors of {len(shape)} dimensions"):
        ingot.empty(3, memory_format=getattr(ingot, order))
    with pytest.raises(ValueError, match="preserve_format keeps the order"):
        ingot.empty(shape, memory_format=ingot.preserve_format)


def test_dims_in_the_order_of_memory():
    x = ingot.empty(2, 3, 5, 7)
    assert x.dim_order() == (0, 1, 2, 3) and x.transpose(1, 2).dim_order() == (0, 2, 1, 3) and x[0, 0, 0, 0].dim_order() == ()
    assert ingot.empty_strided((2, 3, 2), (1, 2, 2)).dim_order() == (1, 2, 0)
    one = ingot.empty(1, 2, 3, 4)
    assert one.dim_order(ambiguity_check=[ingot.contiguous_format, ingot.channels_last]) == (0, 1, 2, 3)


def test_asarray_keeps_or_drops_history():
    leaf = ingot.ones(2, requires_grad=True)
    found = leaf * 2
    plain = ingot.asarray(found, requires_grad=False)
    assert ingot.asarray(found) is found and not plain.requires_grad and plain.data_ptr() == found.data_ptr()
    assert ingot.asarray([1.0], requires_grad=True).requires_grad and not ingot.asarray(leaf, requires_grad=False).requires_grad


def test_data_is_copied_or_shared():
    a = np.arange(3.0)
    copied, shared = ingot.tensor(a), ingot.from_numpy(a)
    a[0] = 9
    assert copied.tolist() == [0, 1, 2] and shared.tolist() == [9, 1, 2]
    shared[1] = 8
    assert a.tolist() == [9, 8, 2] and ingot.as_tensor(a).data_ptr() == shared.data_ptr()
    assert ingot.as_tensor(shared) is shared and ingot.as_tensor(a, dtype=ingot.float32).tolist() == [9, 8, 2]
    assert ingot.asarray(a, copy=True).data_ptr() != shared.data_ptr()
    with pytest.raises(ValueError, match="without a copy"):
        ingot.asarray([1, 2], copy=False)
    assert ingot.tensor([ingot.tensor(1.0), ingot.tensor(2.0)]).tolist() == [1, 2]
    raw = bytearray(np.arange(4, dtype=np.int16).tobytes())
    view = ingot.frombuffer(raw, dtype=ingot.int16, count=2, offset=2)
    view[0] = 7
    assert view.tolist() == [7, 2] and raw[2] == 7


def between_elements(values, memory):
    """Return an array over memory that begins between two elements."""
    return np.frombuffer(memory(b"x" + values.tobytes()), np.uint8)[1:].view(values.dtype)


SHARING = {"from_numpy": ingot.from_numpy, "frombuffer": lambda a: ingot.frombuffer(a, dtype=ingot.float32),
           "from_dlpack": ingot.from_dlpack}
COPYING = {"as_tensor": ingot.as_tensor, "asarray": ingot.asarray, "tensor": ingot.tensor,
           "operand": lambda a: ingot.zeros(9) + a}


@pytest.mark.parametrize("name", [*SHARING, *COPYING])
@pytest.mark.parametrize("memory", [bytes, bytearray])
def test_memory_that_begins_between_elements(name, memory):
    values = np.arange(9, dtype=np.float32)
    a = between_elements(values, memory)
    if name in SHARING and a.flags.writeable:
        with pytest.raises(ValueError, match=rf"{name}: .*multiples of the size of float32.*copy\(\)"):
            SHARING[name](a)
        return
    taken = (SHARING | COPYING)[name](a)
    assert taken._a.flags.aligned and ingot.exp(taken).equal(ingot.exp(ingot.tensor(values)))


def test_tensor_of_a_tensor_has_no_history():
    x = ingot.ones(2, requires_grad=True)
    assert not ingot.tensor(x * 2).requires_grad and ingot.tensor(x * 2, requires_grad=True).is_leaf


@pytest.mark.parametrize("make, want, dtype", [
    (lambda: ingot.zeros(2, 3), np.zeros((2, 3)), "float32"),
    (lambda: ingot.ones((2,), dtype=ingot.int8), np.ones(2), "int8"),
    (lambda: ingot.full((2, 1), 7), np.full((2, 1), 7), "int64"),
    (lambda: ingot.full((), 2.5), np.full((), 2.5), "float32"),
    (lambda: ingot.full([2], True), np.full(2, True), "bool"),
    (lambda: ingot.eye(2, 3), np.eye(2, 3), "float32"),
    (lambda: ingot.arange(5), np.arange(5), "int64"),
    (lambda: ingot.arange(1, 2, 0.25), np.arange(1, 2, 0.25), "float32"),
    (lambda: ingot.arange(5, 0, -2), np.arange(5, 0, -2), "int64"),
    (lambda: ingot.arange(3, dtype=ingot.float64), np.arange(3.0), "float64"),
    (lambda: ingot.arange(0), np.arange(0), "int64"),
    (lambda: ingot.arange(3.1, dtype=ingot.int32), np.arange(4), "int32"),
    (lambda: ingot.arange(-0.9, 2.1, 2.0, dtype=ingot.int32), np.array([0, 2]), "int32"),
    (lambda: ingot.arange(0, 1, 0.5, dtype=ingot.int32), np.zeros(2), "int32"),
    (lambda: ingot.linspace(0, 1, 5), np.linspace(0, 1, 5), "float32"),
    (lambda: ingot.linspace(3, -3, 4, dtype=ingot.float64), np.linspace(3, -3, 4), "float64"),
    (lambda: ingot.linspace(2, 5, 1), np.array([2]), "float32"),
    (lambda: ingot.linspace(0, 10, 5, dtype=ingot.int64), np.array([0, 2, 5, 7, 10]), "int64"),
    (lambda: ingot.logspace(0, 2, 3), np.array([1, 10, 100]), "float32"),
    (lambda: ingot.tril_indices(3, 3), np.stack(np.tril_indices(3)), "int64"),
    (lambda: ingot.triu_indices(2, 3, 1), np.stack(np.triu_indices(2, 1, 3)), "int64"),
    (lambda: ingot.zeros_like(ingot.ones(2, dtype=ingot.int32)), np.zeros(2), "int32"),
    (lambda: ingot.full_like(ingot.ones(2), 3, dtype=ingot.int64), np.full(2, 3), "int64"),
    (lambda: ingot.ones(2, dtype=ingot.float64).new_zeros(1, 2), np.zeros((1, 2)), "float64"),
    (lambda: ingot.ones(2).new_tensor([1, 2]), np.array([1, 2]), "float32"),
    (lambda: ingot.ones(1).new_full((2,), 4), np.full(2, 4), "float32"),
    (lambda: ingot.scalar_tensor(3), np.array(3), "float32"),
    (lambda: ingot.eye(ingot.tensor(2), ingot.tensor(3)), np.eye(2, 3), "float32"),
    (lambda: ingot.eye(np.int64(2), 1, dtype=ingot.int16), np.eye(2, 1), "int16"),
    (lambda: ingot.FloatTensor(2, 2), np.zeros((2, 2)), "float32"),
    (lambda: ingot.LongTensor([1, 2]), np.array([1, 2]), "int64"),
    (lambda: ingot.ByteTensor(), np.zeros(0), "uint8"),
    (lambda: ingot.one_hot(ingot.tensor([0, 2]), 3), np.array([[1, 0, 0], [0, 0, 1]]), "int64"),
])
def test_values_shapes_and_dtypes_of_new_tensors(make, want, dtype):
    t = make()
    assert t.shape == want.shape and t.dtype is getattr(ingot, dtype)
    np.testing.assert_allclose(t.numpy().astype(np.float64), want, rtol=1e-6)


def test_old_names_are_types():
    assert isinstance(ingot.ones(2), ingot.FloatTensor) and not isinstance(ingot.ones(2), ingot.LongTensor)


def test_default_dtype():
    before = ingot.get_default_dtype()
    try:
        ingot.set_default_dtype(ingot.float64)
        kinds = [ingot.tensor(1.5), ingot.zeros(1), ingot.arange(0, 1, 0.5), ingot.full((1,), 2.5), ingot.eye(2)]
        assert all(t.dtype is ingot.float64 for t in kinds)
    finally:
        ingot.set_default_dtype(before)


@pytest.mark.parametrize("make", [ingot.tensor, ingot.as_tensor])
def test_tensors_in_lists_are_numbers(make):
    one = ingot.ones(1, 1)
    for data, want in (([one, one], [1, 1]), ([one, 2.0], [1, 2]), ([[one, 3], [one[0], 2.0]], [[1, 3], [1, 2]])):
        assert make(data).tolist() == want
    assert make([ingot.ones(1, dtype=ingot.float64), 2]).dtype is ingot.float64
    assert make([np.ones(1), np.ones(1)]).shape == (2, 1)


def test_where_results_go():
    out = ingot.zeros(3, dtype=ingot.float64)
    assert ingot.ones(3, out=out) is out and out.tolist() == [1, 1, 1]
    assert ingot.arange(2, out=out).shape == (2,)
    x = ingot.zeros(2, requires_grad=True)
    assert x.requires_grad and x.is_leaf and not ingot.zeros_like(x * 2).requires_grad


@pytest.mark.parametrize("call, error, words", [
    (lambda: ingot.tensor("text"), TypeError, "elements must be numbers"),
    (lambda: ingot.tensor([[1], [1, 2]]), ValueError, r"expected sequence of length 1 at dim 1 \(got 2\)"),
    (lambda: ingot.tensor([[[1.0], [2.0]], [[3.0], [4.0, 5.0]]]), ValueError, r"length 1 at dim 2 \(got 2\)"),
    (lambda: ingot.tensor([np.ones(2), np.ones(3)]), ValueError, r"expected sequence of length 2 at dim 1 \(got 3\)"),
    (lambda: ingot.tensor([[1, 2], 3]), TypeError, "sequences stand beside numbers at dim 1"),
    (lambda: ingot.tensor([ingot.ones(2), ingot.ones(2)]), ValueError, "^cannot .* one number, got float32.2.; ingot.stack"),
    (lambda: ingot.zeros(-1), RuntimeError, "negative"),
    (lambda: ingot.zeros(2.5), TypeError, "integers"),
    (lambda: ingot.eye(2.0), TypeError, r"sizes of eye\(\) must be an integer"),
    (lambda: ingot.eye(ingot.tensor(2.0)), TypeError, r"sizes of eye\(\) must be an integer"),
    (lambda: ingot.randperm([3]), TypeError, r"length of randperm\(\) must be an integer"),
    (lambda: ingot.arange(0, 5, 0), ValueError, "step must not be 0"),
    (lambda: ingot.arange(0, 5, -1), ValueError, "other way"),
    (lambda: ingot.arange(float("inf")), ValueError, "finite"),
    (lambda: ingot.linspace(0, 1, -1), ValueError, "negative"),
    (lambda: ingot.from_numpy([1]), TypeError, "numpy array"),
    (lambda: ingot.from_numpy(np.array(["a"])), TypeError, "no ingot dtype"),
    (lambda: ingot.zeros(2, dtype=ingot.int64, requires_grad=True), RuntimeError, "floating point"),
    (lambda: ingot.zeros(2, device="cuda"), RuntimeError, "not available"),
    (lambda: ingot.frombuffer(b"abc", dtype=ingot.int32), ValueError, "frombuffer"),
    (lambda: ingot.one_hot(ingot.tensor([3]), 2), IndexError, "out of range"),
])
def test_errors(call, error, words):
    with pytest.raises(error, match=words) as caught:
        call()
    assert isinstance(caught.value, ingot.IngotError)


@pytest.mark.peer
def test_counting_agrees_with_the_peer():
    torch = pytest.importorskip("torch")
    rng = np.random.default_rng(3)
    for _ in range(200):
        start, step, n = rng.uniform(-5, 5), rng.uniform(0.01, 2), int(rng.integers(0, 20))
        for name, args in (("arange", (start, start + step * n + step / 3, step)), ("linspace", (start, start + step, n))):
            want = getattr(torch, name)(*args).numpy()
            got = getattr(ingot, name)(*args).numpy()
            assert got.shape == want.shape, args
            np.testing.assert_allclose(got, want, rtol=2e-6, atol=1e-6, err_msg=f"{name}{args}")


@pytest.mark.parametrize("dtype", ["float32", "float64", "float16", "bfloat16", "int64", "int32", "uint8"])
@pytest.mark.parametrize("n", [2, 511, 512, 1000, 40_001])
def test_long_rows_of_numbers_are_those_of_traced_code(n, dtype):
    d, x = getattr(ingot, dtype), ingot.zeros((), dtype=getattr(ingot, dtype))
    low = -1.7 if d.is_floating_point else 0.3
    makers = [lambda x: ingot.linspace(low, 100.3, n, dtype=d) + x, lambda x: ingot.linspace(103, 3, n, dtype=d) + x]
    if d.is_floating_point:
        makers += [lambda x: ingot.arange(0.0, -n * 0.3, -0.3, dtype=d) + x, lambda x: ingot.arange(1.5, 1.5 + n, dtype=d) + x]
    for make in makers:
        traced = ingot.jit.trace(make)
        traced(x)
        assert ingot.equal(traced(x), make(x)) and make(x).dtype is d
    if dtype in ("float32", "float64"):
        i, gap = np.arange(n), (100.3 - low) / (n - 1)
        want = np.where(i < n // 2, i * gap + low, 100.3 - (n - 1.0 - i) * gap)
        assert ingot.linspace(low, 100.3, n, dtype=d).numpy().tobytes() == want.astype(dtype).tobytes()
        assert ingot.arange(0.0, -n * 0.5, -0.5).numpy().tobytes() == (0.0 + i * -0.5).astype(np.float32).tobytes()


@pytest.mark.parametrize("dtype", [ingot.float32, ingot.float64, ingot.float16, ingot.bfloat16, ingot.int64], ids=str)
def test_short_rows_have_the_bits_of_operators(dtype, monkeypatch):
    """Short rows are made without operators, with the same bits."""
    rng = np.random.default_rng(8)
    ends = [(0, 1), (3, 3), (-5, 2), (1e300, -1e300), (np.inf, 1.0), (0.0, np.nan), *(rng.standard_normal((20, 2)) * 1e3)]
    if not dtype.is_floating_point:
        ends = [(a, b) for a, b in ends if abs(a) + abs(b) < 2.0 ** 31]
    found = []
    for by_kernel in (ranges._is_by_kernel, lambda d: False):
        monkeypatch.setattr(ranges, "_is_by_kernel", by_kernel)
        found.append([ingot.linspace(a, b, n, dtype=dtype) for a, b in ends for n in (2, 3, 10, 37, 700)]
                     + [ingot.arange(a, b, (b - a) / 7.3, dtype=dtype) for a, b in ends[-20:]])
    for a, b in zip(*found):
        np.testing.assert_array_equal(a.double(), b.double())
        assert a.dtype == b.dtype


FILL = {"arange": lambda out: ingot.arange(0, 4, out=out), "range": lambda out: ingot.range(0, 3, out=out),
        "linspace": lambda out: ingot.linspace(0, 3, 4, out=out), "backwards": lambda out: ingot.arange(3, -1, -1, out=out)}


@pytest.mark.parametrize("name", FILL)
@pytest.mark.parametrize("kind", ["float32", "int64", "bfloat16"])
def test_sequences_fill_a_tensor_of_as_many_elements(name, kind):
    whole = ingot.zeros(2, 3, dtype=getattr(ingot, kind))
    part = whole.narrow(1, 1, 2)
    assert FILL[name](part) is part and part.shape == (2, 2)
    want = [3, 2, 1, 0] if name == "backwards" else [0, 1, 2, 3]
    assert whole.tolist() == [[0, *want[:2]], [0, *want[2:]]]
    other = ingot.empty(7)
    assert FILL[name](other) is other and other.tolist() == want


@pytest.mark.parametrize("make", [bytes, bytearray, memoryview, lambda b: array.array("b", b)])
@pytest.mark.parametrize("kind", ["int16", "float32", "uint8", "complex64"])
def test_asarray_reads_buffers_as_elements(make, kind):
    d = getattr(ingot, kind)
    source = make(b"\x01\x02\x03\x04\x05\x06\x07\x08")
    x = ingot.asarray(source, dtype=d)
    assert x.dtype is d and bytes(x.view(ingot.uint8).tolist()) == bytes(range(1, 9))
    assert ingot.asarray(source, dtype=d, copy=True).tolist() == x.tolist()
    if isinstance(source, (bytearray, array.array)):
        source[0] = 7
        assert x.view(ingot.uint8)[0] == 7
    if d.itemsize > 1:
        with pytest.raises(ValueError, match="no whole number"):
            ingot.asarray(make(b"123"), dtype=d)


def test_asarray_takes_capsules_and_typed_memory():
    x = ingot.arange(3.0)
    assert ingot.asarray(x.__dlpack__()).data_ptr() == x.data_ptr()
    assert ingot.asarray(array.array("d", [1.5, 2.5])).tolist() == [1.5, 2.5]
    assert ingot.asarray(b"\0\0\x80?").tolist() == [1.0]


REFUSED = {
    "imaginary part": (lambda: ingot.tensor(2 + 1j, dtype=ingot.float32), TypeError),
    "imaginary parts": (lambda: ingot.tensor([1j], dtype=ingot.int64), TypeError),
    "a list": (lambda: ingot.ones_like([1]), TypeError), "a number": (lambda: ingot.empty_like(1), TypeError),
    "strides": (lambda: ingot.empty_strided((2, 3), (1,)), RuntimeError),
    "rows": (lambda: ingot.tril_indices(-1, 2), RuntimeError), "columns": (lambda: ingot.triu_indices(2, -1), RuntimeError),
    "int of many": (lambda: int(ingot.ones(2)), ValueError), "float of none": (lambda: float(ingot.ones(0)), ValueError),
    "item of many": (lambda: ingot.ones(2).item(), RuntimeError),
    "complex of many": (lambda: complex(ingot.ones(2)), ValueError),
    "another size": (lambda: ingot.ones(2).repeat_interleave(ingot.tensor([1, 2]), output_size=4), RuntimeError),
}


@pytest.mark.parametrize("name", REFUSED)
def test_wrong_data_raises(name):
    call, error = REFUSED[name]
    with pytest.raises(error):
        call()


def test_old_type_names_have_dtype_and_device():
    assert ingot.ByteTensor.dtype is ingot.uint8 and not ingot.ByteTensor.is_cuda and ingot.cuda.HalfTensor.is_cuda


@pytest.mark.parametrize("dim", [0, 1, -1])
def test_nothing_is_joined_along_any_dim(dim):
    nothing = ingot.empty(0)
    assert ingot.cat([nothing, nothing], dim).shape == (0,)
    for given in ([nothing, ingot.ones(2, 3)], [ingot.ones(2, 3), nothing]):
        assert ingot.cat(given, dim).shape == (2, 3)


# (start, end, step): PyTorch's numbers as int64, which truncates before it counts, and as int32, which counts first.
CUT = {(0.0, -8.000001, -4.0): ([0, -4], [0, -4, -8]), (0.0, 5.0, 1.5): ([0, 1, 2, 3, 4], [0, 1, 2, 3]),
       (0.9, 9.0, 2.9): ([0, 2, 4, 6, 8], [0, 2, 4]), (-0.5, 5.0, 1.0): ([0, 1, 2, 3, 4], [0, 1, 2, 3, 4, 5]),
       (0.5, 3.2, 1.0): ([0, 1, 2], [0, 1, 2])}


@pytest.mark.parametrize("numbers", CUT, ids=str)
def test_whole_numbers_from_fractions_are_counted_as_by_pytorch(numbers):
    for dtype, want in zip((ingot.int64, ingot.int32), CUT[numbers]):
        assert ingot.arange(*numbers, dtype=dtype).tolist() == want
    with pytest.raises(ArgumentError, match="as int64"):
        ingot.arange(0.0, 2.0, 0.5, dtype=ingot.int64)
