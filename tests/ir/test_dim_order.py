"""Memory order of results: that of the operands for elementwise work where these agree, else row-major.

It holds for all sizes, on any device, and equally for eager and traced code.
"""

import copy
import io
import itertools
import pickle

import numpy as np
import pytest

import ingot
import mock_cuda
from covering import thinned
from ingot.ir import dtype as dt
from ingot.ir.dim_order import FEWEST, agreed, in_pieces, inverse, order_of
from ingot.ir.opdef.op import OPS
from ingot.runtime.core.tensor import wrap
from ingot.runtime.cpu.graph import eager
from ingot.runtime.cpu.loops import scalars
from samples import (
    SAMPLES,
    rows,
    table,  # noqa: F401  (fills SAMPLES)
)
from seeds import seeds

KINDS = {"float": ("float32", "bfloat16"), "int": ("int64",), "any": ("float32", "bfloat16", "int64", "bool"),
         "number": ("float32", "int64"), "integral": ("int64", "bool")}
NAMES = sorted(n for n in SAMPLES if not OPS[n].is_view and "random" not in OPS[n].traits)
TURNS = {"reversed": lambda n: tuple(range(n))[::-1], "channels last": lambda n: (0, *range(2, n), 1),
         "last two": lambda n: (*range(n - 2), n - 1, n - 2)}


def reordered(a, turn):
    """Return an array of the same elements with another memory order."""
    if a.ndim < 2:
        return a
    order = TURNS[turn](a.ndim)
    return np.ascontiguousarray(a.transpose(order)).transpose(inverse(order))


def assert_same(name, got, want):
    """Compare bits; sums of products with other operand orders, which add in another order, to rounding."""
    if name == "product":
        np.testing.assert_allclose(got.numpy(), want.numpy(), rtol=1e-5, atol=1e-4)
    else:
        np.testing.assert_array_equal(got.numpy(), want.numpy())


def listed(x):
    return [r._a for r in (x if isinstance(x, tuple) else [x])]


def expected(op, args, shape):
    if not op.keeps_order:
        return None
    spread = [np.broadcast_to(a, shape) for a in args if isinstance(a, np.ndarray)]
    return agreed(shape, [a.strides for a in spread])


@pytest.mark.parametrize("seed", seeds(5, 50))
def test_the_rule_is_that_of_numpy(seed):
    rng = np.random.default_rng(seed)
    for _ in range(50):
        shape = rng.choice([1, 2, 3, 4], rng.integers(1, 6))
        operands = []
        for _ in range(rng.integers(1, 4)):
            order = rng.permutation(len(shape)) if rng.random() < 0.7 else np.arange(len(shape))
            sizes = np.where(rng.random(len(shape)) < 0.8, shape, 1)
            a = np.ones(sizes[order], np.float32).transpose(inverse(order.tolist()))
            operands.append(a[(slice(None, None, -1),) * a.ndim] if rng.random() < 0.2 else a)
        made = {1: np.negative, 2: np.add, 3: lambda c, x, y: np.where(c > 0, x, y)}[len(operands)](*operands)
        strides = [np.broadcast_to(a, made.shape).strides for a in operands]
        order = agreed(made.shape, strides)
        assert (made if order is None else made.transpose(order)).flags.c_contiguous, (made.shape, strides)


@pytest.mark.drawn
@pytest.mark.parametrize("name", NAMES)
def test_results_lie_as_operands_do(name):
    op, found = OPS[name], 0
    for sample, turn in itertools.product(rows(name), TURNS):
        for kind in KINDS.get(sample.dtypes, sample.dtypes):
            args = sample.cast(dt.by_name(kind))
            others = [reordered(a, turn) if isinstance(a, np.ndarray) else a for a in args]
            made = listed(op(*[wrap(a) if isinstance(a, np.ndarray) else a for a in others], **sample.params))
            for i, result in enumerate(made):
                order = expected(op, others if len(made) == 1 else others[i:i + 1], result.shape)
                assert (result if order is None else result.transpose(order)).flags.c_contiguous, (kind, turn, result.strides)
                found += 1
    assert found or not rows(name)


F = ingot.nn.functional
ELEMENTS = {
    "exact": lambda x, y: x * y, "number": lambda x, y: 2 - x, "rounded": lambda x, y: x.exp(),
    "three": lambda x, y: x.where(x > y, y), "composite": lambda x, y: F.gelu(x), "limits": lambda x, y: x.clamp(-0.5, 0.5),
    "cast": lambda x, y: x.double(), "low": lambda x, y: x.bfloat16(), "bool": lambda x, y: x > y,
    "copy": lambda x, y: x.clone(), "channel": lambda x, y: x + y[:1, :, :1, :1],
    "zeros_like": lambda x, y: ingot.zeros_like(x), "empty_like": lambda x, y: ingot.empty_like(x, dtype=ingot.int32),
    "full_like": lambda x, y: ingot.full_like(x, 3), "rand_like": lambda x, y: ingot.rand_like(x),
    "randn_like": lambda x, y: ingot.randn_like(x), "randint_like": lambda x, y: ingot.randint_like(x, 5)}
OTHERS = {
    "contiguous": lambda x, y: x.contiguous(), "softmax": lambda x, y: x.softmax(1), "sum": lambda x, y: x.sum(0),
    "mean": lambda x, y: x.mean((2, 3)), "max": lambda x, y: x.amax(1), "variance": lambda x, y: x.var(0),
    "cumsum": lambda x, y: x.cumsum(2), "sort": lambda x, y: x.sort(1)[0], "product": lambda x, y: x @ y.mT,
    "conv": lambda x, y: F.conv2d(x, y[:2]), "flip": lambda x, y: x.flip(1), "group_norm": lambda x, y: F.group_norm(x, 2),
    "by rows": lambda x, y: ingot.zeros_like(x, memory_format=ingot.contiguous_format)}


@pytest.mark.parametrize("large", [False, True], ids=["small", "large"])
@pytest.mark.parametrize("turn", TURNS)
@pytest.mark.parametrize("name", [*ELEMENTS, *OTHERS])
def test_order_does_not_depend_on_size(name, turn, large, monkeypatch):
    """Small results come from numpy, large ones from kernels."""
    if large:
        monkeypatch.setattr(eager, "LARGE", 0)
        monkeypatch.setattr(scalars, "LARGE", 0)
        monkeypatch.setattr(scalars, "_MANY", 0)
    shape = (4, 6, 5, 5)
    run = (ELEMENTS | OTHERS)[name]
    x, y = [wrap(reordered(np.random.default_rng(i).standard_normal(shape, np.float32), turn)) for i in range(2)]
    for _ in range(3):
        result = run(x, y)
        order = order_of(x._a) if name in ELEMENTS else None
        assert (result._a if order is None else result._a.transpose(order)).flags.c_contiguous, result.stride()
        if "rand" not in name and "empty" not in name:
            plain = run(x.contiguous(), y.contiguous())
            assert_same(name, result.float(), plain.float())


@pytest.mark.parametrize("memory_format", ["contiguous_format", "channels_last", "preserve_format"])
@pytest.mark.parametrize("make", ["zeros_like", "ones_like", "empty_like", "rand_like", "randn_like"])
def test_memory_format_arguments_set_the_order(make, memory_format):
    x = ingot.randn(2, 3, 4, 5).permute(0, 1, 3, 2)
    made = getattr(ingot, make)(x, memory_format=getattr(ingot, memory_format), requires_grad=True)
    orders = {"contiguous_format": (60, 20, 4, 1), "channels_last": (60, 1, 12, 3), "preserve_format": (60, 20, 1, 5)}
    want = orders[memory_format]
    assert made.stride() == want and made.requires_grad and made.is_leaf and made._base is None


def test_channels_last_is_refused_for_other_ranks():
    with pytest.raises(TypeError, match="channels_last is for tensors of 4 dimensions"):
        ingot.zeros_like(ingot.zeros(3, 4), memory_format=ingot.channels_last)


RESULTS = {
    "elements": lambda x: x.relu() * 2, "turned": lambda x: (x * 2).permute(3, 1, 0, 2), "mixed": lambda x: x + x.contiguous(),
    "several": lambda x: (x.exp(), x.exp().sum(1), x.transpose(1, 2) - 1), "product": lambda x: (x @ x.mT).mT,
    "part": lambda x: (x * 2)[:, 1:], "shared": lambda x: (lambda y: (y, y[1:], y.detach()))(x * 2), "same": lambda x: x,
    "copied": lambda x: x.clone(), "like": lambda x: ingot.zeros_like(x) + x, "between": lambda x: x.lerp(x * 2, 0.3)}


@pytest.mark.parametrize("size", [3, 40])
@pytest.mark.parametrize("grad", [False, True], ids=["plain", "grad"])
@pytest.mark.parametrize("turn", [None, *TURNS])
@pytest.mark.parametrize("name", RESULTS)
def test_replays_lie_as_eager_results(name, turn, grad, size):
    traced = ingot.jit.trace(RESULTS[name])
    rng = np.random.default_rng(7)
    for _ in range(4):
        data = rng.standard_normal((size, 4, 5, 5), np.float32)
        x = wrap(data if turn is None else reordered(data, turn)).requires_grad_(grad)
        z = wrap(x._a.copy("K")).requires_grad_(grad)
        results, wanted = listed_tensors(traced(x)), listed_tensors(RESULTS[name](z))
        for r, w in zip(results, wanted, strict=True):
            assert order_of(r._a) == order_of(w._a)
            assert_same(name, r.detach(), w.detach())
        if grad:
            sum([r.square().sum() for r in results if r.requires_grad]).backward()
            sum([w.square().sum() for w in wanted if w.requires_grad]).backward()
            assert_same(name, x.grad, z.grad)


def listed_tensors(x):
    return list(x) if isinstance(x, tuple) else [x]


def test_replays_of_changing_sizes_lie_as_eager_results():
    traced = ingot.jit.trace(lambda x: (x.mT * 2, x.mT @ x))
    for n in (3, 5, 7, 9, 4):
        x = ingot.randn(2, n, 6)
        for r, w in zip(traced(x), (x.mT * 2, x.mT @ x)):
            assert r.stride() == w.stride()
            assert_same("product", r, w)
    assert traced.stats()["compiles"] <= 3, traced.stats()


def test_views_that_eager_results_allow():
    """An array transposed twice can be viewed in another shape, whatever was done between, as in PyTorch."""
    for size in (4, 64):
        x = ingot.randn(size, 16, 48)
        for f in (ingot.relu, ingot.exp, ingot.nn.functional.gelu, lambda t: t * 3, lambda t: t.double()):
            assert f(x.transpose(1, 2)).transpose(1, 2).view(size, -1).shape == (size, 16 * 48)


@pytest.mark.parametrize("turn", TURNS)
@pytest.mark.parametrize("name", [*ELEMENTS, *OTHERS])
def test_results_of_a_device_lie_as_those_of_the_host(name, turn):
    run = (ELEMENTS | OTHERS)[name]
    data = [reordered(np.random.default_rng(i).standard_normal((4, 6, 5, 5), np.float32), turn) for i in range(2)]
    want = run(*[wrap(a) for a in data])
    with mock_cuda.installed():
        for _ in range(2):
            there = [wrap(a).cuda() for a in data]
            assert [t.stride() for t in there] == [wrap(a).stride() for a in data]
            result = run(*there)
            assert steps_of(result) == steps_of(want)
            assert steps_of(result.cpu()) == steps_of(want)
            if name in RESULTS:     # which has some of these names
                traced = ingot.jit.trace(RESULTS[name])
                for _ in range(3):
                    eager, replayed = RESULTS[name](there[0]), traced(there[0])
                    assert [steps_of(t) for t in listed_tensors(replayed)] == [steps_of(t) for t in listed_tensors(eager)]


def steps_of(t):
    return tuple([s for n, s in zip(t.shape, t.stride()) if n > 1])


@pytest.mark.parametrize("make", [lambda x: x + 1, lambda x: x.exp(), ingot.rand_like], ids=["numpy", "kernel", "like"])
@pytest.mark.parametrize("turn", TURNS)
@pytest.mark.parametrize("size", [2, 60])
def test_copies_and_files_keep_the_order(make, turn, size):
    t = make(wrap(reordered(np.random.default_rng(0).standard_normal((size, 4, 5, 6), np.float32), turn)))
    file = io.BytesIO()
    ingot.save({"whole": t, "part": t[1:]}, file)
    loaded = ingot.load(io.BytesIO(file.getvalue()))
    for copied in (copy.deepcopy(t), pickle.loads(pickle.dumps(t)), loaded["whole"], t.clone(), ingot.from_dlpack(t)):
        assert copied.stride() == t.stride() and copied.storage_offset() == 0
        np.testing.assert_array_equal(copied.numpy(), t.numpy())
    np.testing.assert_array_equal(loaded["part"].numpy(), t[1:].numpy())


@pytest.mark.parametrize("device", ["cpu", "cuda"])
@pytest.mark.parametrize("make", [lambda x: x.clone(), lambda x: x.double(), lambda x: x.bfloat16().abs(), ingot.zeros_like,
                                  lambda x: x.half()], ids=["clone", "double", "narrow", "like", "half"])
def test_expanded_dims_keep_their_places(make, device):
    """PyTorch's rule; numpy puts expanded dims last."""
    with mock_cuda.installed():
        x = ingot.arange(6.0, device=device).reshape(3, 2).T
        assert make(x.expand(4, 2, 3)).stride() == (6, 1, 2)
        assert make(x.T.expand(4, 3, 2)).stride() == (6, 2, 1)


REDUCED = [(0,), (1,), (2, 3), (0, 2, 3), (1, 2), (0, 1), (3,), (0, 3), (0, 1, 2, 3)]


SOME = [(0, 2, 3, 1), (3, 2, 1, 0), (0, 1, 3, 2), (1, 2, 3, 0)]


@pytest.mark.parametrize("orders", [SOME, pytest.param([*itertools.permutations(range(4))], marks=pytest.mark.slow)],
                         ids=["some", "all"])
@pytest.mark.parametrize("shape, kind", thinned([(3, 20, 5, 7), (2, 64, 9, 9), (4, 9, 3, 1)], ["float32", "bfloat16", "int64"],
                                                strength=1), ids=str)
def test_reductions_give_the_same_bits_in_any_order(shape, kind, orders):
    a = (np.random.default_rng(3).standard_normal(shape) * 10).astype(dt.by_name(kind).np)
    runs = [lambda t, d: t.sum(d), lambda t, d: t.amax(d), lambda t, d: t.float().var(d), lambda t, d: t.argmax(d[0])]
    for order in orders:
        x = wrap(np.ascontiguousarray(a.transpose(order)).transpose(inverse(order)))
        for dims, run in itertools.product(REDUCED, runs):
            want, got = run(wrap(a), dims)._a, run(x, dims)._a
            assert got.tobytes() == want.tobytes() and got.flags.c_contiguous, (order, dims, run(wrap(a), dims))


# Arrays with gaps.

CUTS = {"short rows": ((64, 64, 8), np.s_[1:-1, 1:-1, :7], True), "few short rows": ((16, 16, 4), np.s_[1:-1, 1:-1, :3], False),
        "long rows": ((64, 64), np.s_[1:-1, 1:-1], False), "many long rows": ((128, 128), np.s_[1:-1, 1:-1], True),
        "whole planes": ((64, 64, 2), np.s_[1:-1, :, :], False), "rows that go on": ((40, 40, 4), np.s_[:, 1:-1], False),
        "every other": ((8192,), np.s_[::2], False), "turned": ((64, 64), np.s_[:, :], False)}


@pytest.mark.parametrize("dtype", [ingot.float64, ingot.float32, ingot.int64, ingot.bool])
@pytest.mark.parametrize("name", CUTS)
def test_strided_arrays_take_a_kernel_where_it_is_faster_with_the_same_bits(name, dtype):
    shape, cut, expected = CUTS[name]
    rng = np.random.default_rng(7)
    x, y = (rng.integers(-9, 9, shape).astype(dtype.np)[cut] for _ in range(2))
    x, y = (x.T, y.T) if name == "turned" else (x, y)
    assert (x.size >= FEWEST and in_pieces(x)) == expected
    a, b = (ingot.from_numpy(v) for v in (x, y))
    made = {"add": np.add, "mul": np.multiply, "maximum": np.maximum, "bitwise_xor": np.bitwise_xor}
    for function, ufunc in made.items() if dtype in (ingot.int64, ingot.bool) else list(made.items())[:3]:
        for first, second, u, v in ((a, b, x, y), (a, b.contiguous(), x, y), (a.contiguous(), b, x, y)):
            found = getattr(ingot, function)(first, second)
            assert found.dtype is dtype and np.array_equal(found.numpy(), ufunc(u, v))
