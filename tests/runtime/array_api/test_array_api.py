"""The array API namespace: its names, its strictness, and its values against numpy's own implementation of the standard."""

import inspect

import numpy as np
import pytest

import ingot
import ingot.array_api as xp

ELEMENTWISE = """abs acos acosh add asin asinh atan atan2 atanh bitwise_and bitwise_left_shift bitwise_invert bitwise_or
bitwise_right_shift bitwise_xor ceil clip conj copysign cos cosh divide equal exp expm1 floor floor_divide greater greater_equal
hypot imag isfinite isinf isnan less less_equal log log1p log2 log10 logaddexp logical_and logical_not logical_or logical_xor
maximum minimum multiply negative nextafter not_equal positive pow real reciprocal remainder round sign signbit sin sinh square
sqrt subtract tan tanh trunc"""
OTHERS = """arange asarray empty empty_like eye from_dlpack full full_like linspace meshgrid ones ones_like tril triu zeros
zeros_like astype can_cast finfo iinfo isdtype result_type take take_along_axis matmul matrix_transpose tensordot vecdot
broadcast_arrays broadcast_to concat expand_dims flip moveaxis permute_dims repeat reshape roll squeeze stack tile unstack
argmax argmin count_nonzero nonzero searchsorted where unique_all unique_counts unique_inverse unique_values argsort sort
cumulative_prod cumulative_sum max mean min prod std sum var all any diff"""
CONSTANTS = "bool int8 int16 int32 int64 uint8 uint16 uint32 uint64 float32 float64 complex64 complex128 e inf nan newaxis pi"
LINALG = """cholesky cross det diagonal eigh eigvalsh inv matmul matrix_norm matrix_power matrix_rank matrix_transpose outer
pinv qr slogdet solve svd svdvals tensordot trace vecdot vector_norm"""
FFT = "fft fftfreq fftn fftshift hfft ifft ifftn ifftshift ihfft irfft irfftn rfft rfftfreq rfftn"
METHODS = """__abs__ __add__ __and__ __array_namespace__ __bool__ __complex__ __dlpack__ __dlpack_device__ __eq__ __float__
__floordiv__ __ge__ __getitem__ __gt__ __index__ __int__ __invert__ __le__ __lshift__ __lt__ __matmul__ __mod__ __mul__ __ne__
__neg__ __or__ __pos__ __pow__ __rshift__ __setitem__ __sub__ __truediv__ __xor__ __iadd__ __radd__ __rmatmul__
to_device dtype device mT ndim shape T"""


def test_every_name_of_the_standard_exists():
    for name in (ELEMENTWISE + " " + OTHERS + " " + CONSTANTS).split():
        assert hasattr(xp, name), name
        assert name in xp.__all__, name
    assert [n for n in LINALG.split() if not hasattr(xp.linalg, n)] == []
    assert [n for n in FFT.split() if not hasattr(xp.fft, n)] == []
    assert [n for n in METHODS.split() if not hasattr(ingot.Tensor, n)] == []
    assert xp.__array_api_version__ == "2024.12"


@pytest.mark.parametrize("name", ELEMENTWISE.split())
def test_arrays_are_positional_only(name):
    parameters = list(inspect.signature(getattr(xp, name)).parameters.values())
    assert parameters[0].kind is inspect.Parameter.POSITIONAL_ONLY


def test_tensors_know_their_namespace():
    x = xp.ones(2)
    assert x.__array_namespace__() is x.__array_namespace__(api_version="2024.12") is xp
    with pytest.raises(ValueError, match="2019"):
        x.__array_namespace__(api_version="2019.1")
    assert x.to_device("cpu") is x


# Values: the same calls on numpy, which implements the standard in its main namespace.

X = np.array([[0.5, -1.5, 2.0], [3.25, 0.0, -0.25]])
N = np.array([[3, -1, 2], [7, 0, -5]])
CALLS = [
    lambda m, x, n: m.sum(n, axis=0), lambda m, x, n: m.prod(m.astype(n, m.int32), axis=1, keepdims=True),
    lambda m, x, n: m.sum(m.astype(n * n, m.uint8)), lambda m, x, n: m.mean(x, axis=(0, 1)), lambda m, x, n: m.max(x, axis=()),
    lambda m, x, n: m.var(x, axis=1, correction=1), lambda m, x, n: m.std(x), lambda m, x, n: m.any(x, axis=0),
    lambda m, x, n: m.all(x, axis=1), lambda m, x, n: m.argmax(n), lambda m, x, n: m.argmin(x, axis=1, keepdims=True),
    lambda m, x, n: m.cumulative_sum(x, axis=1, include_initial=True), lambda m, x, n: m.cumulative_prod(n, axis=0),
    lambda m, x, n: m.diff(n, axis=1), lambda m, x, n: m.sort(x, axis=0), lambda m, x, n: m.argsort(n, axis=1),
    lambda m, x, n: m.concat([n, n], axis=None), lambda m, x, n: m.stack([x, x], axis=1), lambda m, x, n: m.flip(x),
    lambda m, x, n: m.permute_dims(x, (1, 0)), lambda m, x, n: m.moveaxis(x, 0, 1), lambda m, x, n: m.roll(n, 2, axis=1),
    lambda m, x, n: m.repeat(n, 2, axis=0), lambda m, x, n: m.tile(n, (2, 1)), lambda m, x, n: m.expand_dims(x, axis=1),
    lambda m, x, n: m.squeeze(m.expand_dims(x, axis=0), axis=0), lambda m, x, n: m.broadcast_to(x[0, :], (4, 3)),
    lambda m, x, n: m.take(n, m.asarray([2, 0, -1]), axis=1), lambda m, x, n: m.count_nonzero(n, axis=1),
    lambda m, x, n: m.take_along_axis(n, m.asarray([[1], [-1]]), axis=1), lambda m, x, n: m.nonzero(n)[1],
    lambda m, x, n: m.searchsorted(m.asarray([0, 2, 4]), m.asarray([1, 2, 5]), side="right"),
    lambda m, x, n: m.where(n > 0, x, 0.0), lambda m, x, n: m.clip(x, -1, 2), lambda m, x, n: m.sort(m.unique_values(n)),
    lambda m, x, n: m.unique_counts(m.asarray([3, 1, 3])).counts, lambda m, x, n: m.unique_inverse(n).inverse_indices,
    lambda m, x, n: m.unique_all(m.asarray([3, 1, 3])).indices, lambda m, x, n: m.matmul(x, m.matrix_transpose(x)),
    lambda m, x, n: m.vecdot(x, x), lambda m, x, n: m.tensordot(x, x, axes=((0,), (0,))),
    lambda m, x, n: m.linalg.outer(x[0, :], x[1, :]),
    lambda m, x, n: m.linalg.trace(n[:, :2]), lambda m, x, n: m.linalg.vector_norm(x, axis=1, ord=1),
    lambda m, x, n: m.linalg.matrix_rank(x), lambda m, x, n: m.linalg.pinv(x), lambda m, x, n: m.linalg.cross(x, x + 1.0),
    lambda m, x, n: m.linalg.svdvals(x), lambda m, x, n: m.linalg.det(x[:, :2]),
    lambda m, x, n: m.linalg.slogdet(x[:, :2]).logabsdet,
    lambda m, x, n: m.arange(3, 10, 2), lambda m, x, n: m.linspace(0, 1, 5, endpoint=False, dtype=m.float64),
    lambda m, x, n: m.eye(2, 3, k=1, dtype=m.int32), lambda m, x, n: m.full((2, 2), 3), lambda m, x, n: m.tril(x, k=-1),
    lambda m, x, n: m.triu(x, k=1), lambda m, x, n: m.meshgrid(n[0, :], n[1, :])[0],
    lambda m, x, n: m.floor(n), lambda m, x, n: m.round(x),
    lambda m, x, n: m.sign(x * m.nan), lambda m, x, n: m.bitwise_left_shift(n[:, :1], 1),
    lambda m, x, n: m.pow(x, 2), lambda m, x, n: m.remainder(n, 4), lambda m, x, n: m.conj(m.astype(x, m.complex64)),
    lambda m, x, n: m.imag(m.astype(x, m.complex64) * 2j), lambda m, x, n: m.reshape(x, (3, 2)),
    lambda m, x, n: m.unstack(x, axis=1)[1], lambda m, x, n: m.fft.fft(m.astype(x, m.complex64), axis=0),
    lambda m, x, n: m.fft.irfft(m.fft.rfft(x, norm="ortho")), lambda m, x, n: m.fft.fftn(m.astype(x, m.complex128)),
    lambda m, x, n: m.fft.fftshift(x, axes=1), lambda m, x, n: m.fft.ifftshift(m.fft.fftshift(x)),
]


@pytest.mark.parametrize("call", CALLS, ids=range(len(CALLS)))
def test_values_and_dtypes_are_numpys(call):
    mine = call(xp, ingot.tensor(X), ingot.tensor(N))
    theirs = np.asarray(call(np, X, N))
    assert tuple(mine.shape) == theirs.shape
    assert mine.dtype.name == theirs.dtype.name
    np.testing.assert_allclose(mine.numpy(), theirs, atol=1e-12, rtol=1e-6)


def test_frequencies():
    assert xp.fft.fftfreq(5, d=0.5).dtype is xp.float32
    np.testing.assert_allclose(xp.fft.fftfreq(5, d=0.5, dtype=xp.float64).numpy(), np.fft.fftfreq(5, 0.5))
    np.testing.assert_allclose(xp.fft.rfftfreq(4, dtype=xp.float64).numpy(), np.fft.rfftfreq(4))


# Complex matrices, which numpy factors.

H = np.array([[2.0, 1j], [-1j, 3.0]])


@pytest.mark.parametrize("call", [
    lambda la, h: la.det(h), lambda la, h: la.inv(h), lambda la, h: la.cholesky(h), lambda la, h: la.eigh(h).eigenvalues,
    lambda la, h: la.eigvalsh(h), lambda la, h: la.slogdet(h).logabsdet, lambda la, h: la.solve(h, h),
    lambda la, h: la.svdvals(h),
    lambda la, h: la.pinv(h), lambda la, h: la.matrix_norm(h, ord="nuc"), lambda la, h: la.vector_norm(h, ord=1),
    lambda la, h: la.matrix_power(h, 3), lambda la, h: la.matrix_rank(h), lambda la, h: la.qr(h).Q @ la.qr(h).R,
], ids=range(14))
def test_complex_matrices(call):
    np.testing.assert_allclose(call(xp.linalg, ingot.tensor(H)).numpy(), call(np.linalg, H), atol=1e-12)


# Strictness, where ingot itself is more generous.


@pytest.mark.parametrize("call", [
    lambda i, f, b: xp.add(i, f), lambda i, f, b: xp.add(i, 1.5), lambda i, f, b: xp.add(b, 1), lambda i, f, b: xp.sin(i),
    lambda i, f, b: xp.divide(i, i), lambda i, f, b: xp.logical_and(i, i), lambda i, f, b: xp.bitwise_and(f, f),
    lambda i, f, b: xp.sum(b), lambda i, f, b: xp.mean(i), lambda i, f, b: xp.concat([i, f]), lambda i, f, b: xp.where(i, f, f),
    lambda i, f, b: xp.add(1, 2), lambda i, f, b: xp.abs(3.0), lambda i, f, b: xp.zeros(2, dtype=ingot.bfloat16),
    lambda i, f, b: xp.add(xp.astype(i, xp.uint64), i), lambda i, f, b: xp.astype(xp.astype(f, xp.complex64), xp.float32),
    lambda i, f, b: xp.result_type(1, 2.0), lambda i, f, b: xp.less(xp.astype(f, xp.complex64), 1),
], ids=range(18))
def test_dtypes_that_do_not_go_together(call):
    with pytest.raises(TypeError):
        call(xp.asarray([1, 2]), xp.asarray([1.0, 2.0]), xp.asarray([True, False]))


def test_arrays_without_dimensions_count_in_promotion():
    assert xp.add(xp.ones(2, dtype=xp.int8), xp.asarray(1, dtype=xp.int32)).dtype is xp.int32
    assert xp.result_type(xp.float32, xp.float64, 1.0) is xp.float64
    assert xp.add(xp.ones(2), 1j).dtype is xp.complex64


def test_dtype_questions():
    assert xp.isdtype(xp.int8, "signed integer") and not xp.isdtype(xp.uint8, ("bool", "real floating"))
    assert xp.can_cast(xp.uint8, xp.int16) and not xp.can_cast(xp.int16, xp.uint8) and not xp.can_cast(xp.int8, xp.float32)
    assert xp.finfo(xp.complex64).dtype is xp.float32 and xp.iinfo(xp.int8).max == 127
    with pytest.raises(ValueError):
        xp.isdtype(xp.int8, "whole numbers")


def test_functions_copy_as_the_standard_requires():
    x = xp.ones(4)
    assert np.shares_memory(xp.asarray(x).numpy(), x.numpy())
    assert not np.shares_memory(xp.asarray(x, copy=True).numpy(), x.numpy())
    assert xp.astype(x, xp.float32, copy=False) is x and xp.astype(x, xp.float32) is not x
    assert np.shares_memory(xp.reshape(x, (2, 2), copy=False).numpy(), x.numpy())
    for refused in (lambda: xp.asarray([1, 2], copy=False), lambda: xp.asarray(x, dtype=xp.float64, copy=False),
                    lambda: xp.reshape(xp.ones((2, 3)).T, (6,), copy=False)):
        with pytest.raises(ValueError):
            refused()


def test_inspection():
    info = xp.__array_namespace_info__()
    assert info.capabilities()["boolean indexing"] and info.default_device() in info.devices()
    assert info.default_dtypes()["indexing"] is xp.int64
    assert set(info.dtypes(kind="unsigned integer")) == {"uint8", "uint16", "uint32", "uint64"}


def test_gradients_flow_through_the_namespace():
    x = xp.ones(3).requires_grad_()
    xp.sum(xp.multiply(x, 2.0)).backward()
    assert x.grad.tolist() == [2.0] * 3
    with pytest.raises(RuntimeError, match="no gradient"):
        xp.imag(xp.asarray([1j]).requires_grad_())


@pytest.mark.peer
@pytest.mark.parametrize("call", CALLS, ids=range(len(CALLS)))
def test_the_strict_reference_agrees(call):
    strict = pytest.importorskip("array_api_strict")
    theirs = call(strict, strict.asarray(X), strict.asarray(N))
    mine = call(xp, ingot.tensor(X), ingot.tensor(N))
    assert tuple(mine.shape) == theirs.shape
    assert mine.dtype.name == str(theirs.dtype).rpartition(".")[2]
    np.testing.assert_allclose(mine.numpy(), np.from_dlpack(theirs), atol=1e-12, rtol=1e-6)


INF, NAN = float("inf"), float("nan")


@pytest.mark.parametrize("z, want", [
    (0j, 0j), (complex(0, -0.0), complex(0, -0.0)), (complex(INF, 0), complex(INF, 0)), (complex(NAN, 0), complex(NAN, 0)),
    (complex(-INF, INF), -1 + 0j), (complex(-INF, NAN), -1 + 0j), (complex(INF, INF), complex(INF, NAN)),
    (complex(INF, NAN), complex(INF, NAN)), (complex(INF, 1), complex(INF, INF)), (complex(1, NAN), complex(NAN, NAN)),
    (complex(1e-12, 1e-13), complex(1e-12, 1e-13)), (complex(1, 2), np.exp(1 + 2j) - 1)], ids=str)
@pytest.mark.parametrize("dtype", [xp.complex64, xp.complex128], ids=str)
def test_expm1_of_complex_numbers(z, want, dtype):
    got = xp.expm1(xp.asarray([z], dtype=dtype)).numpy()
    np.testing.assert_allclose(got.view(got.real.dtype), np.array([want], got.dtype).view(got.real.dtype), rtol=1e-6)
    assert np.signbit(got.imag[0]) == np.signbit(want.imag)


@pytest.mark.parametrize("rows, columns, k", [(0, None, -2 ** 63 - 1), (2, 3, 2 ** 70), (2, 3, -2 ** 70), (3, 2, -2)])
def test_eye_of_any_diagonal(rows, columns, k):
    near = min(max(k, -rows), columns or rows)
    assert xp.eye(rows, columns, k=k).tolist() == np.eye(rows, columns, near).tolist()
