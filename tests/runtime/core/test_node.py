"""`p.data = new` between forward and backward: gradients read the values that PyTorch's read. The numbers are PyTorch's."""

import pytest

import ingot
from ingot import jit
from ingot.ir.errors import AutogradError

F = ingot.nn.functional


class Product(ingot.autograd.Function):
    @staticmethod
    def forward(ctx, x, p):
        ctx.save_for_backward(x, p)
        return x * p

    @staticmethod
    def backward(ctx, g):
        x, p = ctx.saved_tensors
        return g * p, g * x


NEW = {         # that read the leaf itself
    "mul": lambda x, p: x * p,
    "row": lambda x, p: (x.expand(2, 3) * p)[:1],
    "mv": lambda x, p: x @ p.view(3, 1) * 0 + x @ p,
    "function": Product.apply,
    "scaled": lambda x, p: x * p * 1.0,
    "layer_norm": lambda x, p: F.layer_norm(x * 0, (3,), None, p) + x * p,
}
OLD = {         # that read something else over its memory, or computed of it
    "detached": lambda x, p: x * p.detach(),
    "view": lambda x, p: x * p[:],
    "linear": lambda x, p: F.linear(x.expand(1, 3), p.clone().view(1, 3)),
    "result": lambda x, p: x * p.exp().log().round(),
}


def gradient(f, new, between=lambda p: None):
    def step(x, p):
        h = f(x, p)
        new(p)
        between(p)
        h.sum().backward()
        return x.grad

    def fresh():
        return ingot.ones(1, 3).squeeze(0).requires_grad_(), ingot.full((3,), 2.0, requires_grad=True)

    found = step(*fresh()).tolist()
    traced = jit.trace(step)
    for _ in range(3):
        assert traced(*fresh()).tolist() == found
    return found


def set_data(p):
    p.data = ingot.full((3,), 5.0)


@pytest.mark.parametrize("name", NEW)
def test_rules_read_the_current_data_of_a_saved_leaf(name):
    assert gradient(NEW[name], set_data) == [5.0] * 3
    assert gradient(NEW[name], set_data, lambda p: p.data.mul_(2)) == [10.0] * 3


@pytest.mark.parametrize("name", OLD)
def test_rules_read_the_old_data_of_other_tensors_over_the_memory(name):
    assert gradient(OLD[name], set_data) == [2.0] * 3


def test_a_leaf_without_gradients():
    x, c = ingot.ones(3, requires_grad=True), ingot.full((3,), 2.0)
    h = x * c
    set_data(c)
    h.sum().backward()
    assert x.grad.tolist() == [5.0] * 3


def test_linear_layers_read_old_weights_and_convolutions_current_ones():
    for layer, x, want in ((ingot.nn.Linear(3, 1), ingot.ones(2, 3), [2.0] * 6),
                           (ingot.nn.Conv1d(1, 1, 1), ingot.ones(1, 1, 3), [5.0] * 3)):
        x.requires_grad_()
        layer.weight.data = ingot.full(layer.weight.shape, 2.0)
        h = layer(x)
        layer.weight.data = ingot.full(layer.weight.shape, 5.0)
        h.sum().backward()
        assert x.grad.flatten().tolist() == want


def test_data_that_are_set_back_and_swapped():
    def binary(x, p):
        kept, p.data = p.data, p.data.sign()
        h = x * p
        p.data = kept
        return h

    assert gradient(binary, lambda p: None) == [2.0] * 3
    x, p, q = (ingot.full((3,), n, requires_grad=True) for n in (1.0, 2.0, 9.0))
    h = x * p
    p.data, q.data = q.data, p.data
    g, = ingot.autograd.grad(h.sum(), x, create_graph=True)
    set_data(p)
    assert g.tolist() == [9.0] * 3 and ingot.autograd.grad((g * g).sum(), p)[0].tolist() == [18.0] * 3
    (x * p).sum().backward()
    assert x.grad.tolist() == [5.0] * 3


def _written(p):
    set_data(p)
    with ingot.no_grad():
        p.mul_(2)


@pytest.mark.parametrize(("f", "new", "message"), [
    (lambda x, p: x * p, _written, "overwritten in place"),
    (lambda x, p: x * p, lambda p: setattr(p, "data", ingot.ones(1)), "set it after backward"),
    (lambda x, p: x * p, lambda p: setattr(p, "data", ingot.ones(3, dtype=ingot.float64)), "set it after backward"),
    (lambda x, p: x + p.logsumexp(0), set_data, "give the function a clone"),
    (lambda x, p: x + p / 3 * p.hypot(x), set_data, "give the function a clone"),
], ids=["written", "shape", "dtype", "computed", "mixed"])
def test_ambiguous_data_raises(f, new, message):
    x, p = ingot.ones(3, requires_grad=True), ingot.full((3,), 2.0, requires_grad=True)
    h = f(x, p)
    new(p)
    with pytest.raises(AutogradError, match=message):
        h.sum().backward()


def test_a_traced_function_that_saved_the_leaf_says_so():
    traced = jit.trace(lambda x, p: (x * p).sum())
    for k in range(3):
        x, p = ingot.ones(3, requires_grad=True), ingot.full((3,), 2.0, requires_grad=True)
        h = traced(x, p)
        set_data(p)
        if k:
            with pytest.raises(AutogradError, match="set it after"):
                h.backward()


def test_a_traced_function_that_sets_data_is_seen_outside():
    @jit.trace
    def double(p):
        p.data = p.data * 2

    p = ingot.full((3,), 2.0, requires_grad=True)
    for n in (4.0, 8.0, 16.0):
        x = ingot.ones(3, requires_grad=True)
        h = x * p
        double(p)
        h.sum().backward()
        assert x.grad.tolist() == [n] * 3


def test_a_traced_function_that_restores_data_before_backward():
    def fn(x, p):
        h = x * p
        kept, p.data = p.data, p.data.sign()
        h = h + x * p
        p.data = kept
        return h

    def life(fn):
        x, p = ingot.ones(3, requires_grad=True), ingot.full((3,), 2.0, requires_grad=True)
        for _ in range(4):
            fn(x, p).sum().backward()
        return x.grad.tolist(), p.grad.tolist(), p.tolist()

    assert life(jit.trace(fn)) == life(fn) == ([16.0] * 3, [8.0] * 3, [2.0] * 3)


def test_several_tensors_leave_one_memory():
    whole = ingot.zeros(2, 3)
    saved = ingot.ones(2, 3, requires_grad=True) * whole
    tensors = [whole.data for _ in range(3)]
    for t in tensors:
        t.data = ingot.ones(2, 3)
    saved.sum().backward()
    assert all(t.tolist() == [[1.0] * 3] * 2 for t in tensors)
