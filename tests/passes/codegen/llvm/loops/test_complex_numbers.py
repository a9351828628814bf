"""Complex numbers in CPU kernels.

Scalar functions have the same bits on every instruction set, layout and size, and numpy's values, nan included. Reductions
have the tree of real numbers, and traced code equals eager code.
"""

import functools
import inspect

import numpy as np
import pytest

import ingot
from ingot import jit
from ingot.ir import dtype as dt
from ingot.ir.opdef.op import OPS
from ingot.passes.codegen import scalars
from ingot.runtime.core.tensor import wrap
from ingot.runtime.cpu.loops import kernels
from kernel_runs import LEVELS, run, samples
from kernel_runs import same as same_parts
from multiply_add import Builder
from tests.passes.codegen.llvm.loops.test_loop_kernels import ALL, pointwise

S = Builder()
KINDS = [dt.complex64, dt.complex128]
NAMES = sorted(set(scalars.COMPLEX) - {"cast"})
SPECIAL = (0.0, -0.0, 1.0, -2.5, float("inf"), float("-inf"), float("nan"), 1e-30, 0.5)
GRID = np.array([complex(a, b) for a in SPECIAL for b in SPECIAL])


def same(a, b):
    """Return whether the bits of all parts are equal, or both are nan."""
    return a.dtype == b.dtype and all(same_parts(p, q) for p, q in zip(re_im_of(a), re_im_of(b), strict=True))


def re_im_of(a):
    return (a.real, a.imag) if a.dtype.kind == "c" else (a,)


def value(array):
    """Return an array as a value of the builder."""
    pieces = [S.value(p.copy()) for p in re_im_of(array)]
    return S.whole(*pieces) if len(pieces) == 2 else pieces[0]


def array(v):
    """Return a value of the builder as an array."""
    if not v.dtype.is_complex:
        return np.asarray(v.ref)
    re, im = np.broadcast_arrays(*[p.ref for p in S.re_im(v)])
    result = np.empty(re.shape, v.dtype.np)
    result.real, result.imag = re, im
    return result


def numbers(kind, count, seed=0):
    """Return random complex numbers, among them special ones."""
    rng = np.random.default_rng(seed)
    usual = 3 * (rng.standard_normal(count) + 1j * rng.standard_normal(count))
    usual[:len(GRID)] = rng.permutation(GRID)[:count]
    return rng.permutation(usual).astype(kind.np)


def operands(name, kind, count=203):
    """Return arguments of a function."""
    arity = len(inspect.signature(scalars.COMPLEX[name]).parameters) - 1
    arrays = [numbers(kind, count, seed) for seed in range(arity)]
    if name == "complex":
        return [z.real.copy() for z in arrays]
    return [np.arange(count) % 3 == 0, *arrays[1:]] if name == "where" else arrays


@functools.cache
def meaning(name, kind):
    with np.errstate(all="ignore"):
        return array(scalars.apply(S, name, *map(value, operands(name, kind))))


@pytest.mark.parametrize("level", LEVELS)
@pytest.mark.parametrize("kind", KINDS, ids=str)
@pytest.mark.parametrize("name", NAMES)
def test_functions_have_the_same_bits_everywhere(name, kind, level):
    args, want = operands(name, kind), meaning(name, kind)
    room = np.full(len(want) + 40, 7, want.dtype)
    got = room[20:-20]
    run(pointwise(name, *[dt.from_numpy(a.dtype) for a in args]), [*args, got], level, n=len(got))
    assert same(got, want), f"{name} on {level}"
    assert (np.r_[room[:20], room[-20:]] == want.dtype.type(7)).all(), "memory outside the result is written"


@pytest.mark.parametrize("level", LEVELS)
@pytest.mark.parametrize("kind", KINDS, ids=str)
def test_casts(kind, level):
    for other in (*ALL, *KINDS):
        for source, target in ((kind, other), (other, kind)):
            if source.is_complex:
                x = numbers(source, 131)
                x = np.nan_to_num(np.minimum(np.abs(x.real), 90)).astype(source.np) if target.is_integer else x
            else:
                x = samples(source, 131, 3)
            with np.errstate(all="ignore"):
                want = OPS["cast"].ref(x, dtype=target)
            got = np.zeros(131, target.np)
            run(kernels.cast(source, target).kernel(), [x, got], level, n0=131)
            assert same(got, want), f"{source} to {target} on {level}"


def layouts(x):
    """Return arrays of the same elements with other strides."""
    spaced = np.zeros((x.size, 3), x.dtype)
    spaced[:, 1] = x
    half = x.itemsize // 2
    odd = np.zeros(x.nbytes + half, np.uint8)[half:].view(x.dtype)      # at an address that is no multiple of a number's size
    odd[:] = x
    return {"every third": spaced[:, 1], "backwards": x[::-1].copy()[::-1], "odd address": odd,
            "in rows": x.reshape(-1, 7)[:, :6], "transposed": np.ascontiguousarray(x.reshape(-1, 7).T).T}


@pytest.mark.parametrize("kind", KINDS, ids=str)
@pytest.mark.parametrize("name", ["mul", "div", "exp", "conj", "modulus", "eq"])
def test_results_do_not_depend_on_strides_and_sizes(name, kind):
    """The loops of NumPy round differently at the ends of arrays and for strided elements."""
    args = operands(name, kind, 7 * 301)

    def of(arrays):
        with np.errstate(all="ignore"):
            return np.ascontiguousarray(OPS[name](*map(wrap, arrays))._a)

    want = of(args)
    for how in layouts(args[0]):
        usual = {"in rows": want.reshape(-1, 7)[:, :6], "transposed": want.reshape(-1, 7)}.get(how, want)
        assert same(of([layouts(a)[how] for a in args]), np.ascontiguousarray(usual)), how
    for n in (1, 2, 3, 17):
        assert same(of([a[:n] for a in args]), want[:n]), n
    assert same(of([np.tile(a, 40) for a in args]), np.tile(want, 40)), "of many"
    if len(args) == 2:
        assert same(of([args[0][:5, None], args[1][:5]]).diagonal(), want[:5]), "spread"


@pytest.mark.parametrize("kind", KINDS, ids=str)
@pytest.mark.parametrize("count", [40, 50000])
@pytest.mark.parametrize("name", ["mul", "div", "add", "sub"])
def test_in_place_results_have_the_same_bits(name, count, kind):
    args = operands(name, kind, count)
    with np.errstate(all="ignore"):
        for operand in (wrap(args[1]), 2 - 1j, 3.0):
            want = getattr(ingot, name)(wrap(args[0]), operand)
            assert same(getattr(wrap(args[0].copy()), f"{name}_")(operand).numpy(), want.numpy())
            target = ingot.zeros(count, dtype=kind)
            getattr(ingot, name)(wrap(args[0]), operand, out=target)
            assert same(target.numpy(), want.numpy())


# Functions with special values that depend on the C library of NumPy (infinite powers, their signs; 0 to a power of nan).
LIBRARY_DEPENDENT = {"pow"}


@pytest.mark.parametrize("name", sorted(n for n in NAMES if n in OPS and n not in ("complex", "where")))
def test_functions_equal_numpy(name):
    """Compare usual numbers, infinities, nan and zeros, but not signs of nan."""
    op = OPS[name]
    for kind, tolerance in zip(KINDS, (2e-5, 1e-9)):
        args = [z[np.isfinite(z) & (abs(z) < 9)][:50] for z in operands(name, kind, 300)]
        with np.errstate(all="ignore"):
            np.testing.assert_allclose(op(*map(wrap, args))._a, op.ref(*args), rtol=tolerance, atol=tolerance)
    if name not in LIBRARY_DEPENDENT:
        args = [GRID] if len(args) == 1 else [np.repeat(GRID, len(GRID)), np.tile(GRID, len(GRID))]
        with np.errstate(all="ignore"):
            np.testing.assert_allclose(op(*map(wrap, args))._a, op.ref(*args), rtol=1e-9, atol=1e-9)


SHAPES = [((1000,), 0), ((70, 9), 0), ((70, 9), 1), ((9, 40), 1), ((64, 300), 0), ((200, 5000), 1), ((3, 9000), 1),
          ((6, 7, 8), 1), ((6, 7, 8), (0, 2)), ((40000,), 0), ((3, 4, 2), (0, 1, 2)), ((4, 0), 1), ((5000, 260), 0)]


@pytest.mark.parametrize("kind", KINDS, ids=str)
@pytest.mark.parametrize("shape, dim", SHAPES, ids=str)
def test_sums_equal_those_of_the_parts(shape, dim, kind):
    """Sums and products have the tree of real numbers."""
    rng = np.random.default_rng(3)
    z = (rng.standard_normal(shape) + 1j * rng.standard_normal(shape)).astype(kind.np)
    for x in (z, np.ascontiguousarray(z.T).T):
        t = wrap(x)
        got = t.sum(dim).numpy()
        assert same_parts(got.real, wrap(x.real.copy()).sum(dim).numpy())
        assert same_parts(got.imag, wrap(x.imag.copy()).sum(dim).numpy())
        directions = x / np.maximum(abs(x), 1e-6)
        tolerance = 1e-9 if kind is dt.complex128 else 3e-3
        want = directions.astype(np.complex128).prod(dim)
        np.testing.assert_allclose(wrap(directions).prod(dim).numpy(), want, rtol=tolerance, atol=tolerance)
        np.testing.assert_array_equal((t.real > 1).to(kind).any(dim).numpy(), (x.real > 1).any(dim))


def programs():
    """Return functions of complex numbers that become few kernels."""
    return {
        "chain": lambda z, w: ((z * w + 2j).exp() / (1 + w.conj())).abs(),
        "rows": lambda z, w: (z - z.mean(-1, keepdim=True)) * w.sum(-1, keepdim=True).conj(),
        "down": lambda z, w: ((z * w).sum(0) / w.shape[0]).angle(),
        "products": lambda z, w: z.sgn().prod(1) * w[:, 0],
        "choice": lambda z, w: ingot.where(z.real > w.imag, z, 1j) == z,
        "views": lambda z, w: z.mT.contiguous().mT * w[:1] + z[:, ::2].repeat_interleave(2, 1)[:, :z.shape[1]],
        "parts": lambda z, w: ingot.complex(z.real * 2, w.imag) - ingot.polar(z.abs(), w.real),
        "running": lambda z, w: z.cumsum(0) * w.cumsum(1) + z.cumprod(1),
        "kinds": lambda z, w: z.to(ingot.complex128) * w.to(ingot.bool) + w.real.to(ingot.int64),
        "in place": lambda z, w: (lambda t: t.mul_(w).add_(1j).conj_physical_())(z * 1),
        "large ones": lambda z, w: (z.repeat(80, 70) * 1j - 1).sum(1),
        "logarithms of rows": lambda z, w: z.sum(1).log() * (w + 1).prod(1).sqrt(),
        "pairs": lambda z, w: ingot.view_as_complex(ingot.view_as_real(z * 2)) * w,
        "pairs far apart": lambda z, w: ingot.view_as_complex(ingot.stack([z.real, w.imag]).permute(1, 2, 0)).exp(),
        "pairs in odd rows": lambda z, w: ingot.view_as_complex(z.real.exp()[:, 1:3]) * ingot.view_as_complex(w.imag[:, :2]),
        "borders": lambda z, w: ingot.nn.functional.pad(z, (1, 2, 0, 3), value=2.5) * ingot.nn.functional.pad(w, (1, 2, 2, 1)),
        "constants": lambda z, w: (ingot.full_like(z, 0.3 + 0.7j).square() * (0.1 - 2.3j)).sqrt() + w,
        "softly": lambda z, w: (z.logsumexp(1) + w.var(1)).log1p(),
        "spectrum": lambda z, w: ingot.fft.irfft(ingot.fft.rfft(z.real) * w[:, :z.shape[1] // 2 + 1]),
    }


@pytest.mark.parametrize("sizes", [((6, 8), (6, 8), (33, 70), (5, 9), (1, 4)), ((40, 12),) * 3], ids=["changing", "short rows"])
@pytest.mark.parametrize("kind", KINDS, ids=str)
@pytest.mark.parametrize("name", programs())
def test_traced_functions_equal_eager_ones(name, kind, sizes):
    """Compare the bits of results and gradients, for sizes seen before and others."""
    f = programs()[name]

    def step(z, w):
        leaves = [x.clone().requires_grad_() for x in (z, w)]
        out = f(*leaves)
        if out.dtype is ingot.bool:
            return [out]
        total = (out.abs().square() if out.is_complex() else out.square()).sum()
        return [out.detach(), *ingot.autograd.grad(total, leaves, allow_unused=True, materialize_grads=True)]

    traced = jit.trace(step)
    rng = np.random.default_rng(2)
    for rows, columns in sizes:
        z, w = (wrap((rng.standard_normal((rows, columns)) + 1j * rng.standard_normal((rows, columns))).astype(kind.np))
                for _ in range(2))
        for a, b in zip(step(z, w), traced(z, w), strict=True):
            assert same(a.numpy(), b.numpy()), (rows, columns)


def test_a_chain_is_one_kernel():
    traced = jit.trace(programs()["chain"])
    z = wrap(numbers(dt.complex64, 200))
    traced(z, z)
    assert len(traced.kernels) == 1


PRODUCTS = [((40, 50), (50, 60)), ((3, 20, 30), (3, 30, 70)), ((8, 100), (100, 2)), ((9, 0), (0, 40)),
            ((2, 16, 300), (2, 300, 16)), ((7, 90), (90, 200)), ((200, 200), (200, 1)), ((1, 4), (4, 1))]


@pytest.mark.parametrize("kind", KINDS, ids=str)
@pytest.mark.parametrize("a, b", PRODUCTS, ids=str)
def test_products_of_matrices(a, b, kind):
    """Compare matrices of all strides."""
    rng = np.random.default_rng(4)
    x, y = ((rng.standard_normal(s) + 1j * rng.standard_normal(s)).astype(kind.np) for s in (a, b))
    want = x.astype(np.complex128) @ y.astype(np.complex128)
    tolerance = 2e-4 if kind is dt.complex64 else 1e-11
    transposed = [wrap(np.ascontiguousarray(np.swapaxes(v, -1, -2))).mT for v in (x, y)]
    for left, right in ((wrap(x), wrap(y)), transposed, (wrap(x), transposed[1])):
        np.testing.assert_allclose((left @ right).numpy(), want, rtol=tolerance, atol=tolerance)
        if y.ndim == 2:
            bias = wrap(rng.standard_normal(b[1]).astype(kind.np))
            got = ingot.nn.functional.linear(left, right.mT, bias).numpy()
            np.testing.assert_allclose(got, want + bias.numpy(), rtol=tolerance, atol=tolerance)


@pytest.mark.parametrize("kind", KINDS, ids=str)
def test_products_do_not_depend_on_strides(kind):
    """Traced code, whose factors have other strides, is included."""
    rng = np.random.default_rng(8)
    x, y = ((rng.standard_normal(s) + 1j * rng.standard_normal(s)).astype(kind.np) for s in ((64, 1000), (1000, 64)))
    both = [(wrap(v), wrap(np.ascontiguousarray(v.T)).mT) for v in (x, y)]
    found = [(left @ right).numpy() for left in both[0] for right in both[1]]
    assert all(same(found[0], other) for other in found[1:])

    def step(x, y):
        return (y.mT.conj() + 1) @ (x.mT * 2), x @ (x.mH * 2) @ x, (x.conj() * 1j) @ (y.mT * 3).mT

    traced = jit.trace(step)
    for _ in range(3):
        for want, got in zip(step(*map(wrap, (x, y))), traced(*map(wrap, (x, y))), strict=True):
            assert same(got.numpy(), want.numpy())


CONVOLUTIONS = {
    "plane": ((2, 3, 9, 8), (4, 3, 3, 2), {"padding": 1}), "groups": ((2, 6, 9, 8), (6, 2, 3, 3), {"groups": 3, "stride": 2}),
    "line": ((3, 4, 30), (5, 4, 3), {"dilation": 2}), "depthwise": ((1, 4, 7, 7), (4, 1, 3, 3), {"groups": 4}),
    "pointwise": ((2, 20, 6, 6), (30, 20, 1, 1), {}), "space": ((1, 2, 4, 5, 6), (3, 2, 2, 2, 2), {}),
    "nothing": ((0, 3, 9, 8), (4, 3, 3, 2), {}),
}


@pytest.mark.parametrize("kind", KINDS, ids=str)
@pytest.mark.parametrize("name", CONVOLUTIONS)
def test_convolutions_equal_those_of_the_parts(name, kind):
    shape, window, params = CONVOLUTIONS[name]
    rng = np.random.default_rng(6)
    x, w, b = ((rng.standard_normal(s) + 1j * rng.standard_normal(s)).astype(kind.np) for s in (shape, window, window[:1]))
    tolerance = 1e-4 if kind is dt.complex64 else 1e-11
    convolve = getattr(ingot.nn.functional, f"conv{len(shape) - 2}d")

    def of(run):
        leaves = [wrap(v.copy()).requires_grad_() for v in (x, w, b)]
        out = run(*leaves)
        (out * out.detach().conj()).real.sum().backward()
        return [out.detach().numpy(), *[v.grad.numpy() for v in leaves]]

    def by_parts(x, w, b):
        (a, c), (d, e) = (x.real, x.imag), (w.real, w.imag)
        ad, ce, ae, cd = (convolve(u, v, **params) for u, v in ((a, d), (c, e), (a, e), (c, d)))
        return ingot.complex(ad - ce, ae + cd) + b.reshape(-1, *[1] * (len(shape) - 2))

    for got, want in zip(of(lambda x, w, b: convolve(x, w, b, **params)), of(by_parts)):
        np.testing.assert_allclose(got, want, rtol=tolerance, atol=tolerance * max(1, abs(want).max(initial=0)))
