"""Histories of tensors that get other memory in a trace: each is eager's, whatever was written before and after the swap.

A tensor `x` from outside gets the memory of another one. Then the one, the other or a view is written from a source with a
history. Everything that refers to either is compared after each call: memory, history, versions, bases, and gradients.
"""

import contextlib
import random

import pytest

import ingot
from ingot import jit
from outcomes import tried

f64 = ingot.float64
w: ingot.Tensor
u: ingot.Tensor
kept: ingot.Tensor

# Each makes (the tensor that gets other memory, others that share its first memory).
TENSORS = {
    "new": lambda i: (ingot.full((2, 3), 0.5 + i, dtype=f64), ()),
    "viewed": lambda i: (lambda t: (t, (t[0], t.t())))(ingot.full((2, 3), 0.5 + i, dtype=f64)),
    "a view": lambda i: (lambda t: (t[1:], (t,)))(ingot.full((3, 3), 0.5 + i, dtype=f64)),
    "computed": lambda i: ((w * u).exp(), ()),
    "a leaf": lambda i: (ingot.full((2, 3), 0.5 + i, dtype=f64, requires_grad=True), ()),
    "view of a leaf": lambda i: (w.view_as(w), ()),
    "view of a history": lambda i: (lambda t: (t[:2], (t,)))(ingot.cat([w, w]).exp()),
    "empty": lambda i: (ingot.empty(0, dtype=f64), ()),
}


def data(make):
    def swap(x, y):
        x.data = make(y)
    return swap


SWAPS = {
    "data of another": data(lambda y: y.data),
    "data of a captured one": data(lambda y: kept.data),
    "new data": data(lambda y: (y * 2).data),
    "data of a view": data(lambda y: ingot.stack([y, y]).data[1]),
    "window": lambda x, y: x.set_(y),
    "window on a view": lambda x, y: x.set_(y.view_as(y)),
    "window on new memory": lambda x, y: x.set_(y * 2),
    "result that grows": lambda x, y: ingot.add(x if x.numel() else y, y.detach(), out=x),
    "result of a history": lambda x, y: ingot.mul(y, w, out=x),
    "turned": lambda x, y: x.t_().t_(),
    "other dims": lambda x, y: x.unsqueeze_(0),
    "other sizes": lambda x, y: x.resize_(2, 3),
    "fewer elements": lambda x, y: x.resize_(x.numel() // 3),
    "turned and in other dims": lambda x, y: x.t_().unsqueeze_(1).resize_(x.numel()),
}
WRITES = {
    "nothing": lambda x, y: None,
    "from a history": lambda x, y: x.mul_(u),
    "the other one": lambda x, y: y.mul_(u),
    "both": lambda x, y: (y.add_(u), x.add_(u)),
    "a part": lambda x, y: x[..., 0].add_(u[1]),
    "saved": lambda x, y: x.mul_(u).exp_(),
    "without history": lambda x, y: x.add_(1),
    "unseen": lambda x, y: ingot.no_grad()(x.copy_)(w),
    "it requires grad": lambda x, y: x.requires_grad_(),
}
RESULTS = {
    "nothing": lambda x, y: None,
    "itself": lambda x, y: x,
    "a view": lambda x, y: x.view_as(x),
    "views": lambda x, y: (x.reshape(-1), x[..., 0]),
    "a view of a view": lambda x, y: x.reshape(-1).view_as(x),
    "detached": lambda x, y: x.detach(),
    "a view that is detached": lambda x, y: x[..., 1].detach(),
    "a view without history": lambda x, y: ingot.no_grad()(x.view_as)(x),
    "a value": lambda x, y: x * u,
    "of the other one": lambda x, y: (y, y[..., 0]),
}
OTHERS = {
    "plain": lambda i, x: ingot.full((2, 3), 1.5 - i, dtype=f64),
    "computed": lambda i, x: w * 3,
    "of the same memory": lambda i, x: (x if x._base is None else x._base)[:2],
    "of the same data": lambda i, x: (x if x._base is None else x._base).data[:2],
    "captured": lambda i, x: kept,
}


def seen(tensors) -> list:
    places = [t.untyped_storage().data_ptr() for t in tensors]
    return [(t.shape, str(t.tolist()), t.requires_grad, t.is_leaf, t._version, t._base is None,
             [k for k, b in enumerate(tensors) if t._base is b], [k for k, p in enumerate(places) if p == q])
            for t, q in zip(tensors, places)]


def gradients(x, y) -> list:
    weights = [ingot.arange(1.0, 1 + t.numel(), dtype=f64).reshape(t.shape) for t in (x, y)]
    loss = sum((t * g).sum() for t, g in zip((x, y), weights))
    found = tried(lambda: ingot.autograd.grad(loss, [w, u], allow_unused=True, retain_graph=True))
    return found if isinstance(found, str) else [g if g is None else str(g.tolist()) for g in found]


def life(wrap, tensor, other, function, calls=3) -> list:
    global w, u, kept
    w = ingot.tensor([[0.5, -1.25, 2.0], [1.5, 0.75, -0.5]], dtype=f64, requires_grad=True)
    u = ingot.tensor([0.3, -0.7, 1.1], dtype=f64, requires_grad=True)
    kept = ingot.arange(6.0, dtype=f64).reshape(2, 3).clone()
    function, found = wrap(function), []
    for i in range(calls):
        x, older = TENSORS[tensor](i)
        y = OTHERS[other](i, x)
        result = tried(lambda x=x, y=y: function(x, y))
        ended = result if isinstance(result, str) else "ok"
        parts = [part for given in result or () for part in (given if isinstance(given, tuple) else (given,))]
        everything = [x, y, *older, kept, *(t for t in parts if isinstance(t, ingot.Tensor))]
        found.append((ended, seen(everything), gradients(x, y), tried(lambda y=y: y.add_(1) and None), gradients(x, y),
                      tried(lambda x=x: x.mul_(2) and None), gradients(x, y), gradients(*everything[-2:]), seen(everything)))
        kept.detach_()
    return found


# A row: the other tensor, a write and a result before the swap, and both after it.
AXES = (("plain", "computed"), ("nothing", "from a history", "without history"), RESULTS, WRITES, RESULTS)
# Turns of a tensor that requires grad are not followed at all.
REFUSED = {(tensor, swap) for tensor in ("computed", "view of a history", "view of a leaf")
           for swap in ("turned", "other dims")}


def rows_of(tensor, swap, count) -> list:
    """Return rows; in half of them only the histories of the tensors count, and no results. In some, the other tensor is one
    that shares memory."""
    rng = random.Random(f"{tensor} {swap}")
    rows = [[rng.choice([*axis]) for axis in AXES] for _ in range(count)]
    others = [rng.choice([*OTHERS]) if i % 4 > 1 else row[0] for i, row in enumerate(rows)]
    rows = [(other, *row[1:]) for other, row in zip(others, rows)]
    return [(other, before, *(("nothing", after, "nothing") if i % 2 else (early, after, late)))
            for i, (other, before, early, after, late) in enumerate(rows)]


def program(swap, before, early, after, late):
    def function(x, y):
        WRITES[before](x, y)
        first = RESULTS[early](x, y)
        SWAPS[swap](x, y)
        WRITES[after](x, y)
        return first, RESULTS[late](x, y)
    return function


@pytest.mark.parametrize("count", [10, pytest.param(200, marks=pytest.mark.slow)])
@pytest.mark.parametrize("swap", SWAPS)
@pytest.mark.parametrize("tensor", TENSORS)
def test_histories_are_those_of_eager(tensor, swap, count):
    followed = runs = 0
    for other, *row in rows_of(tensor, swap, count):
        want = life(lambda f: f, tensor, other, program(swap, *row))
        if want[0][0] != "ok":
            continue
        runs += 1
        with contextlib.suppress(jit.TraceError):
            got = life(jit.trace, tensor, other, program(swap, *row))
            for i, (a, b) in enumerate(zip(got, want)):
                assert a == b, (other, row, i)
            followed += 1
    assert followed or not runs or (tensor, swap) in REFUSED
