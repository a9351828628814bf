"""Gradients of views that a traced function wrote and computed from: they arrive at the view, as in eager code."""

import pytest

import ingot
from ingot import jit


def doubled(v):
    v += v
    return v * v


def written_twice(v):
    v.mul_(2)
    v.add_(v * 3)
    return v.exp(), v * 3


def through_a_view(v):
    v.mul_(v)
    return (v.t() * v.t()).sum(0)


def with_another_view(v):
    v.mul_(2)
    return v.narrow(0, 0, 1) * v


FUNCTIONS = {f.__name__: f for f in (doubled, written_twice, through_a_view, with_another_view)}
VIEWS = {
    "split": lambda base: base.split(2)[1],
    "narrow": lambda base: base.narrow(1, 1, 2),
    "transposed": lambda base: base.t(),
    "index": lambda base: base[1:],
    "view of a view": lambda base: base[1:].t(),
    "whole": lambda base: base.view(3, 3),
}


def taken(y, v, base, w, **options):
    found = ingot.autograd.grad(y, [v, base, w], allow_unused=True, retain_graph=True, **options)
    return [g if g is None else g.tolist() for g in found]


def hooked(y, v, base, w):
    seen = []
    v.register_hook(lambda g: seen.append(g.tolist()))
    v.register_hook(lambda g: g * 2)
    y.backward(retain_graph=True)
    return seen, w.grad.tolist()


def node_hooked(y, v, base, w):
    seen = []
    v.grad_fn.register_prehook(lambda grads: seen.append([g.tolist() for g in grads]))
    y.backward(retain_graph=True)
    return seen, w.grad.tolist()


def retained(y, v, base, w):
    v.retain_grad()
    (y + v.sum()).backward()
    return v.grad.tolist(), w.grad.tolist()


def of_inputs(y, v, base, w):
    y.backward(inputs=[v])
    return v.grad.tolist(), w.grad


def at_an_edge(y, v, base, w):
    return [g.tolist() for g in ingot.autograd.grad(y, [ingot.autograd.graph.get_gradient_edge(v)])]


def twice(y, v, base, w):
    g, = ingot.autograd.grad(y, [v], create_graph=True)
    return taken(g.square().sum() + v.sum(), v, base, w)


USES = {f.__name__: f for f in (taken, hooked, node_hooked, retained, of_inputs, at_an_edge, twice)}
USES["materialized"] = lambda *call: taken(*call, materialize_grads=True)
USES["after a look"] = lambda y, v, base, w: (v.grad_fn.name(), taken(y, v, base, w))


def results(function, view, use, wrap):
    function, found = wrap(function), []
    for i in range(3):
        w = (ingot.arange(9.0).reshape(3, 3) / 8 + i).requires_grad_()
        base = w * 2
        v = view(base)
        y = function(v)
        y = sum([t.sum() for t in y]) if type(y) is tuple else y.sum()
        found.append(use(y, v, base, w))
    return found


@pytest.mark.parametrize("use", USES)
@pytest.mark.parametrize("view", VIEWS)
@pytest.mark.parametrize("function", FUNCTIONS)
def test_gradients_arrive_at_the_view(function, view, use):
    call = FUNCTIONS[function], VIEWS[view], USES[use]
    assert results(*call, jit.trace) == results(*call, lambda f: f)
