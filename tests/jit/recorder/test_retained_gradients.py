"""Gradients of results of traced functions, and of values that they are computed from: kept, read, and seen by hooks."""

import pytest

import ingot
from ingot import jit, nn
from ingot.ir.errors import AutogradError
from side_by_side import plain


def kept_within(net, x):
    h = net[0](x)
    h.retain_grad()
    loss = net[1](h.tanh()).sum()
    loss.backward()
    return h.grad, h, loss.detach()


def kept_for_later(net, x):
    h = net[0](x)
    h.retain_grad()
    return h, net[1](h.tanh()).square().sum()


def kept_of_many(net, x):
    h = net[0](x)
    z = h.tanh()
    y = net[1](z)
    for t in (h, z, y):
        t.retain_grad()
    return h, z, y, y.square().mean()


def kept_of_what_nobody_has(net, x):
    h = net[0](x)
    h.retain_grad()
    return h.detach(), net[1](h.tanh()).square().sum()


def not_kept(net, x):
    h = net[0](x)
    z = h.tanh()
    return h, z, net[1](z).square().sum()


def with_another_result(net, x):
    h = net[0](x)
    return h, net[1](h * 2).square().sum(), (x * net[0].weight.sum()).sum()


def doubled_on_the_way(net, x):
    h = net[0](x)
    h.register_hook(lambda g: g * 2)
    h.retain_grad()
    return h, net[1](h.tanh()).square().sum()


def overwritten_on_the_way(net, x):
    h = net[0](x) * 1
    h.retain_grad()
    h.mul_(2)
    return h, net[1](h.tanh()).square().sum()


def look(t):
    return None if t.grad is None else plain(t.grad)


def nothing_more(found):
    return [(look(t), t.retains_grad) for t in found if not t.is_leaf]


def backward(found):
    found[-1].backward()
    return nothing_more(found)


def backward_twice(found):
    found[-1].backward(retain_graph=True)
    once = nothing_more(found)
    found[-1].backward()
    return once, nothing_more(found)


def kept_afterwards(found):
    for t in found:
        if t.requires_grad and not t.is_leaf:
            t.retain_grad()
    return backward(found)


def asked_for(found):
    targets = [t for t in found[:-1] if t.requires_grad]
    if not targets:
        return None
    return [g if g is None else plain(g) for g in ingot.autograd.grad(found[-1], targets, allow_unused=True)]


def of_the_first(found):
    if not found[0].requires_grad:
        return None
    found[0].retain_grad()
    found[0].sum().backward()
    return nothing_more(found)


def of_both(found):
    if not found[0].requires_grad:
        return None
    found[0].retain_grad()
    (found[0].square().sum() + found[-1]).backward()
    return nothing_more(found)


def seen_by_hooks(found):
    seen: list = []
    for i, t in enumerate(found):
        if t.requires_grad and not t.is_leaf:
            t.register_hook(lambda g, i=i: seen.append((i, plain(g))))
    found[-1].backward()
    return sorted(seen)


AFTER = [backward, backward_twice, kept_afterwards, asked_for, of_the_first, of_both, seen_by_hooks]
PROGRAMS = [kept_for_later, kept_of_many, kept_of_what_nobody_has, not_kept, with_another_result, doubled_on_the_way,
            overwritten_on_the_way]


def life(wrap, program, after):
    ingot.manual_seed(1)
    net = nn.Sequential(nn.Linear(3, 4), nn.Linear(4, 1))
    step, got = wrap(lambda x: program(net, x)), []
    for i in range(5):
        net.zero_grad()
        found = step(ingot.full((2, 3), i / 2 + 0.1))
        got.append((plain([t.detach() for t in found]), after(found), [look(p) for p in net.parameters()]))
    return got


@pytest.mark.parametrize("after", AFTER)
@pytest.mark.parametrize("program", PROGRAMS)
def test_gradients_that_a_backward_after_the_call_comes_by(program, after):
    assert life(jit.trace, program, after) == life(lambda f: f, program, after)


def test_gradients_that_are_kept_within_a_call():
    assert life(jit.trace, kept_within, nothing_more) == life(lambda f: f, kept_within, nothing_more)


def test_a_hook_that_replaces_what_others_are_computed_from_is_refused():
    """Its gradient is computed in the middle of compiled code."""
    net = nn.Sequential(nn.Linear(3, 4), nn.Linear(4, 1))
    step = jit.trace(lambda x: not_kept(net, x))
    for _ in range(2):
        h, _, loss = step(ingot.ones(2, 3))
    h.register_hook(lambda g: g * 2)
    with pytest.raises(AutogradError, match="inside of the function"):
        loss.backward()


def test_hooks_that_replace_gradients_of_results_that_nothing_comes_of():
    def life(wrap):
        net, got = nn.Linear(3, 2), []
        with ingot.no_grad():
            net.weight.fill_(0.5)
            net.bias.zero_()
        step = wrap(lambda x: (net(x), net(x * 2).sum(), net(x * 2).sum() * 3))
        for _ in range(3):
            net.zero_grad()
            y, a, b = step(ingot.ones(2, 3))
            y.register_hook(lambda g: g * 5)
            (y.sum() + a + b).backward()
            got.append(plain(net.weight.grad))
        return got
    assert life(jit.trace) == life(lambda f: f)


def test_arguments_that_are_told_to_keep_their_gradients():
    def life(wrap):
        got = []

        def step(h):
            h.retain_grad()
            return h.tanh().sum()
        step = wrap(step)
        for i in range(4):
            x = ingot.full((3,), i / 2, requires_grad=True)
            h = x * 2
            step(h).backward()
            got.append((look(h), h.retains_grad, look(x)))
        return got
    assert life(jit.trace) == life(lambda f: f)
