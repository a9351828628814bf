"""Every operator on tensors sharded over two ranks, in every way, against one rank: values, and gradients."""

import importlib
import itertools

import numpy as np
import pytest

import ingot
import ranks
from ingot.distributed import init_device_mesh
from ingot.ir.errors import IngotError
from ingot.ir.opdef.op import NO_GRAD, OPS
from ingot.runtime.autograd.grad_mode import no_grad
from ingot.runtime.core.tensor import Tensor, wrap
from samples import (
    SAMPLES,
    rows,
    table,  # noqa: F401  (fills SAMPLES)
)
from seeds import seeds

dtensor = importlib.import_module("ingot.distributed.tensor")
DTensor, Partial, Replicate, Shard = dtensor.DTensor, dtensor.Partial, dtensor.Replicate, dtensor.Shard
SIZE = 2
OTHERS = {"place", "host_call"}         # between devices, and to Python
NAMES = sorted(n for n, op in OPS.items() if n in SAMPLES and "random" not in op.traits and n not in OTHERS)
SIGNS_ARE_FREE = {"svd", "eigh", "qr", "eig"}
MOST_SAMPLES, MOST_WAYS = 8, 14


def cast(x, to):
    return x.astype(to) if isinstance(x, np.ndarray) and x.dtype == np.float64 else x


def in_layout(a, mesh, placement):
    """Return an array as a tensor in a layout; terms of sums are twice the value, and minus the value."""
    layouts = placement if isinstance(placement, tuple) else (placement,)
    for i, p in enumerate(layouts):
        if isinstance(p, Partial):
            a = a * a.dtype.type(2 if mesh.get_local_rank(i) == 0 else -1)
    held = tuple([Replicate() if isinstance(p, Partial) else p for p in layouts])
    t = dtensor.distribute_tensor(wrap(a.copy()), mesh, held, src_data_rank=None)
    return t if held == layouts else DTensor.from_local(t.to_local(), mesh, layouts, shape=a.shape)


def kinds_for(a) -> list:
    """Return the possible placements of an array."""
    has_terms = a.dtype.kind in "fc" and np.isfinite(a).all()
    return [Replicate(), *map(Shard, range(a.ndim)), *([Partial()] if has_terms else [])]


def placements_of(args):
    """Yield layouts of operands: each alone, and all alike."""
    arrays = [i for i, a in enumerate(args) if isinstance(a, np.ndarray)]
    kinds = {i: kinds_for(args[i]) for i in arrays}
    found = [{j: kind if j == i else Replicate() for j in arrays} for i in arrays for kind in kinds[i]]
    for kind in dict.fromkeys(k for ks in kinds.values() for k in ks):
        if len(arrays) > 1:
            found.append({j: kind if kind in kinds[j] else Replicate() for j in arrays})
    return found[:MOST_WAYS] if len(found) <= MOST_WAYS else found[::-(-len(found) // MOST_WAYS)]


def results(op, args, params, leaves):
    """Return (results, gradients of the leaves) of a call, for the sum of all results weighted by position."""
    found = op(*args, **params)
    outs = found if type(found) is tuple else (found,)
    grads = [None] * len(leaves)
    if leaves:
        total = None
        for o in outs:
            if o.requires_grad:
                weight = ingot.arange(1, o.numel() + 1, dtype=o.dtype).reshape(o.shape) / o.numel()
                if isinstance(o, DTensor):
                    weight = in_layout(weight._a, o.device_mesh, (Replicate(),) * o.device_mesh.ndim)
                term = (o * weight).sum()
                total = term if total is None else total + term
        if total is not None:
            (total.real if total.dtype.is_complex else total).backward()
            grads = [x.grad for x in leaves]
    return outs, grads


def host_value(t):
    return t._a.numpy() if isinstance(t, DTensor) else t._a


def check(name, mesh, sample, ways=placements_of):
    op = OPS[name]
    to = np.float32 if sample.dtypes in ("float", "any", "number") or "float32" in sample.dtypes else np.int64
    args = [cast(a, to) for a in sample.args]
    graded = sample.grad and op.vjp is not NO_GRAD

    def tensors(make):
        given = [make(i, a) if isinstance(a, np.ndarray) else a for i, a in enumerate(args)]
        leaves = [t for t in given if isinstance(t, Tensor) and t.dtype.is_inexact and graded]
        for t in leaves:
            t.requires_grad_()
        return given, leaves

    try:
        given, leaves = tensors(lambda i, a: wrap(a.copy()))
        want, want_grads = results(op, given, sample.params, leaves)
    except IngotError:
        return 0
    for layouts in ways(args):
        label = f"{name} {[a.shape if isinstance(a, np.ndarray) else a for a in args]} {sample.params} {layouts}"
        try:
            given, leaves = tensors(lambda i, a, layouts=layouts: in_layout(a, mesh, layouts[i]))
            got, grads = results(op, given, sample.params, leaves)
        except Exception as e:
            e.add_note(label)
            raise
        for one, other in zip([*want, *want_grads], [*got, *grads], strict=True):
            if one is None:
                assert other is None or not np.any(host_value(other)), label
                continue
            assert isinstance(other, DTensor), label
            with no_grad():
                a, b = host_value(one), host_value(other)
            assert a.shape == b.shape and a.dtype == b.dtype, label
            if name not in SIGNS_ARE_FREE:
                both = [np.asarray(x, np.complex128) for x in (a, b)]
                assert np.allclose(*both, rtol=5e-4, atol=5e-4, equal_nan=True), (label, *both)
    return 1


def drawn_placements(mesh, rng):
    """Return random layouts of operands."""
    def ways(args):
        kinds = {i: kinds_for(a) for i, a in enumerate(args) if isinstance(a, np.ndarray)}
        for _ in range(4):
            yield {i: tuple([own[rng.integers(len(own))] for _ in range(mesh.ndim)]) for i, own in kinds.items()}

    return ways


def _drawn(rank, shape, names, seed):
    mesh = init_device_mesh("cpu", shape)
    for name in names:
        rng = np.random.default_rng([seed, *name.encode()])
        for sample in itertools.islice(rows(name), seed % 3, MOST_SAMPLES, 4):
            check(name, mesh, sample, drawn_placements(mesh, rng))


@pytest.mark.parametrize("seed", seeds(1, 8))
@pytest.mark.parametrize("shape, parts", [((2,), 4), ((2, 2), 8)])
def test_operators_on_parts_match_one_rank(shape, parts, seed):
    ranks.run(int(np.prod(shape)), _drawn, shape, NAMES[seed % parts::parts], seed, timeout=60)


def _all_of(rank, names):
    mesh = init_device_mesh("cpu", (SIZE,))
    for name in names:
        counted = [check(name, mesh, sample) for sample in itertools.islice(rows(name), MOST_SAMPLES)]
        assert sum(counted), name


@pytest.mark.slow
@pytest.mark.parametrize("part", range(4))
def test_operators_take_operands_that_lie_in_any_way(part):
    ranks.run(SIZE, _all_of, NAMES[part::4], timeout=120)
