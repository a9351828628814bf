"""Public functions with indices under vmap: each sample gets what it gets alone, or its error.

Rows call the functions that users call, so that negative indices, wrappers and dims are part of it. Mapped operands, dims of
samples, wrong indices, the way (mapped, chunked, nested, traced) and the derivative are drawn by the seed that the row prints.
"""

import random
from typing import Any, NamedTuple

import numpy as np
import pytest

import ingot
from ingot import jit
from ingot.func import grad, vmap
from ingot.ir.errors import IngotError
from ingot.nn import functional as F

SAMPLES = 3


class Row(NamedTuple):
    """A function of its operands: shapes of floats, or (shape, low, high) of indices."""

    call: Any
    operands: tuple
    differentiable: bool = True


def ints(shape, high, low=0):
    return (shape, low, high)


ROWS = {
    "x[i]": Row(lambda x, i: x[i], ((5, 4), ints((3,), 5, -5))),
    "x[:, i]": Row(lambda x, i: x[:, i], ((5, 4), ints((2, 3), 4, -4))),
    "x[i, j]": Row(lambda x, i, j: x[i, j], ((5, 4), ints((3,), 5, -5), ints((3,), 4, -4))),
    "x[i, :, j]": Row(lambda x, i, j: x[i, :, j], ((5, 2, 4), ints((3,), 5, -5), ints((3,), 4, -4))),
    "x[i] = v": Row(lambda x, i, v: _written(x, i, v), ((5, 4), ints((3,), 5, -5), (3, 4))),
    "x[i, j] = v": Row(lambda x, i, j, v: _written(x, (i, j), v), ((5, 4), ints((2,), 5, -5), ints((2,), 4, -4), (2,))),
    "index_put": Row(lambda x, i, v: x.index_put((i,), v, accumulate=True), ((5, 4), ints((3,), 5, -5), (3, 4))),
    "index_put, mean": Row(lambda x, i, j, v: x.index_put((i, j), v, accumulate=True),
                           ((5, 4), ints((3,), 5, -5), ints((3,), 4, -4), (3,))),
    "index_select": Row(lambda x, i: x.index_select(0, i), ((5, 4), ints((3,), 5))),
    "index_select, last": Row(lambda x, i: x.index_select(-1, i), ((5, 4), ints((3,), 4))),
    "index_add": Row(lambda x, i, v: x.index_add(0, i, v, alpha=2), ((5, 4), ints((3,), 5), (3, 4))),
    "index_copy": Row(lambda x, i, v: x.index_copy(1, i, v), ((5, 4), ints((2,), 4), (5, 2))),
    "index_fill": Row(lambda x, i: x.index_fill(0, i, 2.5), ((5, 4), ints((3,), 5, -5))),
    "index_reduce": Row(lambda x, i, v: x.index_reduce(0, i, v, "amax"), ((5, 4), ints((3,), 5), (3, 4))),
    "gather": Row(lambda x, i: x.gather(0, i), ((5, 4), ints((3, 4), 5))),
    "gather, last": Row(lambda x, i: x.gather(-1, i), ((5, 4), ints((5, 6), 4))),
    "take": Row(lambda x, i: x.take(i), ((5, 4), ints((2, 3), 20, -20))),
    "take_along_dim": Row(lambda x, i: ingot.take_along_dim(x, i, 1), ((5, 4), ints((5, 2), 4))),
    "take_along_dim, flat": Row(lambda x, i: ingot.take_along_dim(x, i), ((5, 4), ints((7,), 20))),
    "put": Row(lambda x, i, v: x.put(i, v), ((5, 4), ints((1,), 20, -20), (1,))),
    "put, accumulate": Row(lambda x, i, v: x.put(i, v, accumulate=True), ((5, 4), ints((3,), 20, -20), (3,))),
    "scatter": Row(lambda x, i, v: x.scatter(0, i, v), ((5, 4), ints((1, 4), 5), (1, 4))),
    "scatter, number": Row(lambda x, i: x.scatter(1, i, 1.5), ((5, 4), ints((5, 2), 4))),
    "scatter_add": Row(lambda x, i, v: x.scatter_add(1, i, v), ((5, 4), ints((5, 3), 4), (5, 3))),
    "scatter, multiply": Row(lambda x, i, v: x.scatter(0, i, v, reduce="multiply"),
                             ((5, 4), ints((2, 4), 5), (2, 4)), False),
    **{f"scatter_reduce, {how}": Row(lambda x, i, v, how=how: x.scatter_reduce(0, i, v, how, include_self=how != "mean"),
                                     ((5, 4), ints((3, 4), 5), (3, 4))) for how in ("sum", "prod", "mean", "amax", "amin")},
    "select_scatter": Row(lambda x, v: x.select_scatter(v, 0, 2), ((5, 4), (4,))),
    "masked_fill": Row(lambda x, m: x.masked_fill(m > 0, 1.5), ((5, 4), ints((5, 4), 2))),
    "masked_scatter_": Row(lambda x, m, v: (x + v.sum() * 0 + m.sum() * 0).masked_scatter_(m > 0, v),
                           ((3, 4), ints((3, 4), 2), (12,))),
    "masked_scatter": Row(lambda x, m, v: x.masked_scatter(m > 0, v), ((3, 4), ints((3, 4), 2), (12,))),
    "where": Row(lambda m, x, y: ingot.where(m > 0, x, y), (ints((5, 4), 2), (5, 4), (4,))),
    "embedding": Row(lambda i, w: F.embedding(i, w), (ints((2, 3), 5), (5, 4))),
    "embedding, padding": Row(lambda i, w: F.embedding(i, w, padding_idx=-1), (ints((2, 3), 5), (5, 4))),
    "embedding, scaled": Row(lambda i, w: F.embedding(i, w, scale_grad_by_freq=True), (ints((2, 3), 5), (5, 4))),
    **{f"embedding_bag, {mode}": Row(lambda i, w, mode=mode: F.embedding_bag(i, w, mode=mode), (ints((2, 3), 5), (5, 4)))
       for mode in ("sum", "mean", "max")},
    **{f"embedding_bag, {mode}, offsets": Row(
        lambda i, w, mode=mode: F.embedding_bag(i, w, ingot.tensor([0, 2, 2]), mode=mode), (ints((6,), 5), (5, 4)))
       for mode in ("sum", "mean", "max")},
    "embedding_bag, mapped offsets": Row(lambda i, w, o: F.embedding_bag(i, w, ingot.cat([o * 0, o]), mode="sum"),
                                         (ints((6,), 5), (5, 4), ints((1,), 6))),
    "embedding_bag, last offset": Row(
        lambda i, w: F.embedding_bag(i, w, ingot.tensor([0, 2, 6]), mode="mean", include_last_offset=True),
        (ints((6,), 5), (5, 4))),
    "embedding_bag, weights": Row(lambda i, w, s: F.embedding_bag(i, w, mode="sum", per_sample_weights=s),
                                  (ints((2, 3), 5), (5, 4), (2, 3))),
    "embedding_bag, weights, offsets": Row(
        lambda i, w, s: F.embedding_bag(i, w, ingot.tensor([0, 4]), mode="sum", per_sample_weights=s),
        (ints((6,), 5), (5, 4), (6,))),
    **{f"embedding_bag, {mode}, padding": Row(lambda i, w, mode=mode: F.embedding_bag(i, w, mode=mode, padding_idx=2),
                                              (ints((2, 3), 5), (5, 4))) for mode in ("sum", "mean", "max")},
    **{f"nll_loss, {how}": Row(lambda x, t, how=how: F.nll_loss(x, t, reduction=how), ((5, 4), ints((5,), 4)))
       for how in ("none", "sum", "mean")},
    "nll_loss, weight": Row(lambda x, t, w: F.nll_loss(x, t, w * w + 1), ((5, 4), ints((5,), 4), (4,))),
    "nll_loss, ignored": Row(lambda x, t: F.nll_loss(x, t, ignore_index=-1, reduction="sum"), ((5, 4), ints((5,), 4, -1))),
    "nll_loss, images": Row(lambda x, t: F.nll_loss(x, t), ((2, 4, 3), ints((2, 3), 4))),
    **{f"cross_entropy, {how}": Row(lambda x, t, how=how: F.cross_entropy(x, t, reduction=how, label_smoothing=0.1),
                                    ((5, 4), ints((5,), 4))) for how in ("none", "sum", "mean")},
    "cross_entropy, weight": Row(lambda x, t, w: F.cross_entropy(x, t, w * w + 1, ignore_index=1),
                                 ((5, 4), ints((5,), 4), (4,))),
    "cross_entropy, one": Row(lambda x, t: F.cross_entropy(x, t), ((4,), ints((), 4))),
    "multi_margin_loss": Row(lambda x, t: F.multi_margin_loss(x, t), ((5, 4), ints((5,), 4))),
    "multilabel_margin_loss": Row(lambda x, t: F.multilabel_margin_loss(x, t), ((5, 4), ints((5, 4), 4, -1))),
    "one_hot": Row(lambda i: F.one_hot(i, 5), (ints((2, 3), 5),), False),
    "searchsorted": Row(lambda s, x: ingot.searchsorted(s.sort().values, x), ((5,), (2, 3)), False),
    "searchsorted, sorter": Row(lambda s, x, i: ingot.searchsorted(s, x, sorter=i), ((5,), (2, 3), ints((5,), 5)), False),
    "bucketize": Row(lambda s, x: ingot.bucketize(x, s.sort().values, right=True), ((5,), (2, 3)), False),
    "max_unpool1d": Row(lambda x, i: F.max_unpool1d(x, i, 2), ((2, 3), ints((2, 3), 6))),
    "max_unpool2d": Row(lambda x, i: F.max_unpool2d(x, i, 2), ((1, 2, 2, 2), ints((1, 2, 2, 2), 16))),
    "max_pool1d, indices": Row(lambda x: F.max_pool1d(x, 2, return_indices=True), ((2, 6),)),
    "max_pool2d and back": Row(lambda x: F.max_unpool2d(*F.max_pool2d(x, 2, return_indices=True), 2), ((1, 2, 4, 4),)),
    **{f"grid_sample, {mode}, {edge}": Row(
        lambda x, g, mode=mode, edge=edge: F.grid_sample(x, g, mode=mode, padding_mode=edge, align_corners=False),
        ((1, 2, 4, 3), (1, 2, 2, 2)))
       for mode in ("bilinear", "nearest", "bicubic") for edge in ("zeros", "border", "reflection")},
    "grid_sample, volumes": Row(lambda x, g: F.grid_sample(x, g, align_corners=True), ((1, 2, 3, 2, 3), (1, 2, 2, 1, 3))),
    "ctc_loss": Row(lambda x, t: F.ctc_loss(x.log_softmax(-1), t, (5, 4), (2, 3), reduction="sum"),
                    ((5, 2, 4), ints((2, 3), 4, 1))),
    "ctc_loss, joined": Row(lambda x, t: F.ctc_loss(x.log_softmax(-1), t, (5, 4), (2, 3)), ((5, 2, 4), ints((5,), 4, 1))),
    "sort and gather": Row(lambda x: x.gather(1, x.sort(1, descending=True).indices), ((5, 4),)),
    "topk": Row(lambda x: x.topk(2, 0), ((5, 4),)),
    "kthvalue": Row(lambda x: x.kthvalue(2, 0), ((5, 4),)),
    "tril of indices": Row(lambda x: x[tuple(ingot.tril_indices(4, 4))], ((5, 4),)),
    "repeat_interleave": Row(lambda x: x.repeat_interleave(ingot.tensor([1, 0, 2, 1, 1]), dim=0), ((5, 4),)),
    "cummax": Row(lambda x: x.cummax(0), ((5, 4),)),
    "scatter_ of zeros": Row(lambda i: ingot.zeros(5, 4).scatter(0, i, 1.0), (ints((2, 4), 5),), False),
    "isin": Row(lambda i, j: ingot.isin(i, j), (ints((2, 3), 5), ints((2,), 5)), False),
    "adaptive_max_pool": Row(lambda x: F.adaptive_max_pool1d(x, 2, return_indices=True), ((2, 6),)),
    "fractional_max_pool": Row(
        lambda x: F.fractional_max_pool2d(x, 2, output_size=2, _random_samples=ingot.full((1, 2, 2), 0.3)), ((1, 2, 5, 5),)),
    "gumbel index": Row(lambda x: x[x.argmax(0), ingot.arange(4)], ((5, 4),)),
}


def _written(x, at, v):
    x = x + v.sum() * 0     # one for all samples cannot be written
    for i in at if isinstance(at, tuple) else (at,):
        x = x + i.sum() * 0
    x[at] = v
    return x


def as_tuple(found):
    return tuple(found) if isinstance(found, (tuple, list)) else (found,)


def loss_of(f):
    def loss(*tensors):
        found = [t for t in as_tuple(f(*tensors)) if t.dtype.is_floating_point]
        return sum((t * t.sin()).sum() for t in found)

    return loss


def outcome(call):
    """Return the results as arrays, or the error in words."""
    try:
        return [np.asarray(t.detach().numpy(), np.float64) for t in call()]
    except (IngotError, IndexError, ValueError) as e:
        return f"{type(e).__name__}: {e}"


class Draw(NamedTuple):
    """A choice of what is mapped and how."""

    in_dims: tuple      # dim of the samples in each operand, or None
    out_dim: int
    way: str
    order: int          # of the derivative
    wrong: int | None   # what replaces an index of the second sample
    dtype: str


def drawn(row, rng) -> Draw:
    sizes = [len(o[0]) if isinstance(o[0], tuple) else len(o) for o in row.operands]
    while True:
        in_dims = tuple(rng.choice([None, *range(n + 1), *range(-n - 1, 0)]) if rng.random() < 0.5 else rng.choice([None, 0])
                        for n in sizes)
        if any(d is not None for d in in_dims):
            break
    highs = [(o[1], o[2]) for o in row.operands if isinstance(o[0], tuple)]
    low, high = rng.choice(highs) if highs else (0, 1)
    return Draw(in_dims, rng.choice([0, 0, -1]), rng.choice(["mapped", "chunks", "nested", "traced", "grad outside"]),
                rng.choice([0, 1]) if row.differentiable else 0,
                rng.choice([None, None, low - 1, high, high + 7, -77]) if highs else None,
                rng.choice(["int64", "int64", "int32"]))


def made(row, draw, rng):
    """Return the operands, with samples along the chosen dims."""
    found, at = [], [n for n, o in enumerate(row.operands) if isinstance(o[0], tuple)]
    spoiled = rng.choice(at) if at and draw.wrong is not None else None
    gen = np.random.default_rng(rng.randrange(1 << 30))
    for n, (operand, dim) in enumerate(zip(row.operands, draw.in_dims)):
        is_index = isinstance(operand[0], tuple)
        shape = operand[0] if is_index else operand
        full = shape if dim is None else (SAMPLES, *shape)
        a = gen.integers(operand[1], operand[2], full) if is_index else gen.standard_normal(full)
        if n == spoiled and a.size:
            part = a if dim is None else a[1]
            if part.ndim:
                part[tuple(s // 2 for s in part.shape)] = draw.wrong
            else:
                a[1 if dim is not None else ()] = draw.wrong
        t = ingot.tensor(a, dtype=getattr(ingot, draw.dtype) if is_index else ingot.float64)
        found.append(t if dim is None else t.movedim(0, dim))
    return found


def wrong(row, draw, rng):
    """Return what differs from the loop over samples, or None."""
    tensors = made(row, draw, rng)
    floats = [n for n, o in enumerate(row.operands) if not isinstance(o[0], tuple)]
    f = row.call
    if draw.order:
        argument = rng.choice(floats)
        f = grad(loss_of(row.call), argnums=argument)

    def alone():
        each = [as_tuple(f(*[t if d is None else t.select(d, i) for t, d in zip(tensors, draw.in_dims)]))
                for i in range(SAMPLES)]
        return [ingot.stack(column, dim=draw.out_dim) for column in zip(*each)]

    def together():
        mapped = vmap(f, in_dims=draw.in_dims, out_dims=draw.out_dim)
        if draw.way == "chunks":
            return as_tuple(vmap(f, in_dims=draw.in_dims, out_dims=draw.out_dim, chunk_size=2)(*tensors))
        if draw.way == "nested":
            two = [t if d is None else ingot.stack([t, t]) for t, d in zip(tensors, draw.in_dims)]
            outer = tuple(None if d is None else 0 for d in draw.in_dims)
            return [t[1] for t in as_tuple(vmap(mapped, in_dims=outer)(*two))]
        if draw.way == "traced":
            traced = jit.trace(mapped)
            return (traced(*tensors), as_tuple(traced(*tensors)))[1]
        if draw.way == "grad outside" and draw.order and draw.in_dims[argument] is not None:
            mapped = vmap(loss_of(row.call), in_dims=draw.in_dims)
            found = grad(lambda *t: mapped(*t).sum(), argnums=argument)(*tensors)
            return [found.movedim(draw.in_dims[argument], 0).movedim(0, draw.out_dim)]
        return as_tuple(mapped(*tensors))

    want, got = outcome(alone), outcome(together)
    if isinstance(want, str) or isinstance(got, str):
        return None if want == got else f"alone {want}, together {got}"
    same = [a.shape == b.shape and np.allclose(a, b, rtol=1e-9, atol=1e-9, equal_nan=True) for a, b in zip(want, got)]
    return None if all(same) and len(want) == len(got) else "another result"


def test_lengths_that_depend_on_values_are_refused():
    i = ingot.tensor([[0, 1], [2, 2]])
    for f in (ingot.bincount, lambda i: i[i > 1], lambda i: i.nonzero(), lambda i: i.masked_select(i > 1), ingot.unique):
        with pytest.raises(ingot.ir.errors.AutogradError, match="value that each sample has its own of"):
            vmap(f)(i)


@pytest.mark.drawn
@pytest.mark.parametrize("number", [3, pytest.param(300, marks=pytest.mark.slow)])
@pytest.mark.parametrize("name", ROWS)
def test_functions_with_indices_are_as_for_each_sample(name, number):
    seed = random.randrange(1 << 30)
    rng = random.Random(seed)
    for _ in range(number):
        draw = drawn(ROWS[name], rng)
        fault = wrong(ROWS[name], draw, rng)
        assert fault is None, f"seed {seed}, {draw}: {fault}"
