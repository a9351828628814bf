"""Operators with operands of indices under vmap: each sample gets what it gets alone, or its error, and no other sample's data.

The operators are found by `bounds` of their records. Rows of them, choices of mapped operands and indices are drawn by the seed
that the row prints.
"""

import itertools
import random

import numpy as np
import pytest

import ingot
from ingot import jit
from ingot.func import grad, vmap
from ingot.ir import dtype as dt
from ingot.ir.errors import IngotError
from ingot.ir.opdef.aval import Aval
from ingot.ir.opdef.op import OPS
from ingot.runtime.core.tensor import wrap
from samples import (
    SAMPLES,
    rows,
    table,  # noqa: F401  (fills SAMPLES)
)

SIZE = 3
INDEXED = sorted(n for n, op in OPS.items() if op.bounds is not None and n in SAMPLES)
NO_INDICES = {      # operators that refuse floating point instead of integers, but for another reason
    **dict.fromkeys(["bernoulli_mask", "binomial", "dropped_attention", "dropped_attention_grad", "mask_below", "normal",
                     "permutation", "poisson", "randint", "standard_gamma", "uniform"], "the integers are a random key"),
    **dict.fromkeys(["conv_int8", "depthwise_int8", "linear_int8", "recurrent_int8"], "8-bit numbers"),
    **dict.fromkeys(["linear_stored", "unpack_weight"], "bytes of weights in blocks"),
    **dict.fromkeys(["from_bytes", "int_sum"], "the integers are values"),
    "in_range": "the bounds are its parameters", "row_scale": "it counts equal integers, whatever they are",
}


def arrays(args):
    return [i for i, a in enumerate(args) if isinstance(a, np.ndarray)]


def avals(args):
    return [Aval(a.shape, dt.of(a)) if isinstance(a, np.ndarray) else a for a in args]


def refuses_floats_alone(op, sample):
    """Return whether the operator accepts the sample, but not with floats instead of its integers."""
    def accepts(args):
        try:
            op.infer(*args, **sample.params)
        except (IngotError, TypeError):
            return False
        return True

    given = avals(sample.cast(dt.float32))
    floats = [a.with_dtype(dt.float32) if isinstance(a, Aval) and a.dtype.is_integer else a for a in given]
    return accepts(given) and floats != given and not accepts(floats)


def test_each_operator_with_indices_has_bounds():
    missing = [n for n in sorted(SAMPLES) if OPS[n].bounds is None and n not in NO_INDICES
               and any(refuses_floats_alone(OPS[n], s) for s in rows(n))]
    assert not missing, "name the bounds of the indices, or the reason why there are none"


def spoiled(a, value, lead):
    """Return a copy with one index replaced: of the second sample, if the first dim holds samples."""
    a = a.copy()
    part = a[1:2] if lead else a
    part[tuple(n // 2 for n in part.shape)] = value
    return a


def outcome(call):
    """Return the results as arrays, or the error in words."""
    try:
        found = call()
        return [np.asarray(t.numpy(), np.complex128) for t in found]
    except IngotError as e:
        return f"{type(e).__name__}: {e}"


def as_tuple(found):
    return found if isinstance(found, tuple) else (found,)


def by_loop(f, tensors, held):
    """Return the stacked results of each sample."""
    each = [as_tuple(f(*[t[i] if has else t for t, has in zip(tensors, held)])) for i in range(SIZE)]
    return [ingot.stack(column) for column in zip(*each)]


def in_nested_batches(f, tensors, held):
    """Return the results of two equal batches of the samples, each of them a sample of an outer vmap."""
    dims = tuple(0 if has else None for has in held)
    doubled = [ingot.stack([t, t]) if has else t for t, has in zip(tensors, held)]
    return [t[1] for t in as_tuple(vmap(vmap(f, in_dims=dims), in_dims=dims)(*doubled))]


def ways(f, held):
    dims = tuple(0 if has else None for has in held)
    mapped = vmap(f, in_dims=dims)
    traced = jit.trace(mapped)
    return {"mapped": lambda *t: as_tuple(mapped(*t)), "traced": lambda *t: (traced(*t), as_tuple(traced(*t)))[1],
            "in chunks": lambda *t: as_tuple(vmap(f, in_dims=dims, chunk_size=2)(*t)),
            "nested": lambda *t: in_nested_batches(f, t, held)}


def loss_of(f):
    def loss(*tensors):
        found = [t for t in as_tuple(f(*tensors)) if t.dtype.is_floating_point]
        return sum((t * t.sin()).sum() for t in found)

    return loss


def function_of(op, sample, args, order):
    """Return the operator as a function of its tensors, or its gradient for the first floating point one."""
    at = arrays(args)

    def f(*tensors):
        full = list(args)
        for i, t in zip(at, tensors):
            full[i] = t
        return op(*full, **sample.params)

    floats = [n for n, i in enumerate(at) if args[i].dtype.kind == "f"]
    differentiable = order and sample.grad and floats and op.differentiable and isinstance(op.vjp, tuple)
    return grad(loss_of(f), argnums=floats[0]) if differentiable and op.vjp[at[floats[0]]] is not None else f


def choices(name, rng, number):
    """Draw (sample, mapped operands, operand of indices, index or None for valid ones, way, order of the derivative)."""
    op, found = OPS[name], []
    for sample in rows(name):
        args = sample.cast(dt.float32)
        for position, low, high in op.bounds(*avals(args), **sample.params):
            if args[position].size:
                found.append((sample, args, position, low, high))
    for _ in range(number):
        sample, args, position, low, high = rng.choice(found)
        at = arrays(args)
        held = rng.choice([c for k in range(1, len(at) + 1) for c in itertools.combinations(at, k)])
        yield (sample, args, [i in held for i in at], position, rng.choice([None, low, high - 1, low - 1, high, high + 7]),
               rng.choice(["mapped", "traced", "in chunks", "nested"]), rng.choice([0, 1]))


def wrong(name, choice):
    """Return what differs from the loop over samples, or None."""
    sample, args, held, position, value, way, order = choice
    given = []
    for i, has in zip(arrays(args), held):
        a = np.stack([args[i]] * SIZE) if has else args[i]
        if has and a.dtype.kind == "f":
            a = a * np.array([1, 0.75, 0.5], a.dtype).reshape(SIZE, *(1,) * args[i].ndim)
        given.append(wrap(spoiled(a, value, has) if i == position and value is not None else a))
    f = function_of(OPS[name], sample, args, order)
    alone, together = outcome(lambda: by_loop(f, given, held)), outcome(lambda: ways(f, held)[way](*given))
    if isinstance(alone, str) or isinstance(together, str):
        return None if alone == together else f"alone {alone}, together {together}"
    same = [a.shape == b.shape and np.allclose(a, b, rtol=2e-4, atol=2e-4, equal_nan=True) for a, b in zip(alone, together)]
    return None if all(same) and len(alone) == len(together) else "another result"


UNCHECKED = {"taps_take", "taps_put", "taps_dots"}      # of indices that grid sampling makes, which kernels do not check


@pytest.mark.parametrize("number", [4, pytest.param(300, marks=pytest.mark.slow)])
@pytest.mark.parametrize("name", [n for n in INDEXED if n not in UNCHECKED])
def test_indices_of_a_sample_reach_its_own_data_alone(name, number):
    seed = random.randrange(1 << 30)
    faults = {}
    for choice in choices(name, random.Random(seed), number):
        fault = wrong(name, choice)
        if fault:
            faults[choice[2:]] = fault
    assert not faults, f"seed {seed}: {faults}"


@pytest.mark.parametrize("kind", ["uint8", "int8", "int16", "int32"])
@pytest.mark.parametrize("size, count", [(300, 5), (40, 40), (3, 200)])
def test_narrow_indices_count_more_samples_than_their_dtype_holds(kind, size, count):
    kind = getattr(ingot, kind)
    x = ingot.arange(size * count).reshape(size, count).float()
    index = (ingot.arange(size * 4) % min(count, 120)).reshape(size, 4)
    for f in (lambda x, i: ingot.nn.functional.embedding(i.to(kind), x[:, None]), lambda x, i: ingot.take(x, i.to(kind)),
              lambda x, i: x.index_select(0, i.to(kind)), lambda x, i: x.index_add(0, i.to(kind), x[:4])):
        assert ingot.equal(vmap(f)(x, index), ingot.stack([f(a, b) for a, b in zip(x, index)]))


def test_a_negative_narrow_index_is_refused_by_all_samples():
    x, index = ingot.arange(400.).reshape(2, 200), ingot.tensor([[0, 1], [2, -1]], dtype=ingot.int8)
    with pytest.raises(IndexError, match="out of range for dim 0 of size 200"):
        vmap(lambda x, i: x.index_select(0, i))(x, index)


def test_numbers_are_samples_of_their_own():
    """A dim of a sample without dims is no dim of the batch."""
    x, index = ingot.tensor([1., 2., 3.]), ingot.zeros(3, dtype=ingot.int64)
    assert ingot.equal(vmap(lambda x, i: x.gather(0, i))(x, index), x)
    assert ingot.equal(vmap(lambda x, i, v: x.scatter(0, i, v))(x, index, x * 2), x * 2)
    assert ingot.equal(vmap(lambda x, i, v: x.scatter_reduce(0, i, v, "prod"))(x, index, x), x * x)


def test_wrong_lengths_of_a_sample_do_not_move_the_labels_of_another():
    steps = ingot.randn(2, 5, 2, 4).log_softmax(-1)
    labels, lengths = ingot.tensor([[1, 2, 3], [3, 2, 1]]), ingot.tensor([[2, 2], [1, 1]])
    with pytest.raises(IngotError, match="all 4 labels in one row, got 3"):
        vmap(lambda s, t, n: ingot.nn.functional.ctc_loss(s, t, (5, 5), n))(steps, labels, lengths)
