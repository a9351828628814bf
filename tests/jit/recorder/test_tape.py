"""Memory that eager nodes save: a write between a traced call and its backward means what it means in eager code."""

import itertools
import re

import pytest

import ingot
from ingot import jit
from ingot.ir.errors import AutogradError
from ingot.nn import functional as F


class Cube(ingot.autograd.Function):
    """x ** 3, which saves its argument."""

    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x * x * x

    @staticmethod
    def backward(ctx, g):
        x, = ctx.saved_tensors
        return g * 3 * x * x


FUNCTIONS = {
    "product": lambda x, w: x * w,
    "sum": lambda x, w: x + w,
    "exp": lambda x, w: (x * w).exp(),
    "sigmoid": lambda x, w: ingot.sigmoid(x * w),
    "sqrt": lambda x, w: (x * w).sqrt(),                            # eager copies the result before a write to it
    "a view of that": lambda x, w: (x * w).sqrt().view(2, 2).view(4),
    "a part of that": lambda x, w: (x * w).sqrt()[1:],
    "quotient": lambda x, w: (x / (w + 1)).squeeze(),
    "relu": lambda x, w: F.relu(x * w),
    "softmax": lambda x, w: F.softmax(x * w, 0),
    "views saved and returned": lambda x, w: (x.view(2, 2) * w.view(2, 2)).exp().view(4),
    "part returned": lambda x, w: (x * w).exp()[1:],
    "transposed": lambda x, w: (x.view(2, 2).t() @ w.view(2, 2)).tanh().t(),
    "saved twice": lambda x, w: x * w * x,
    "own function": lambda x, w: Cube.apply(x * w) + Cube.apply(x),
    "two results": lambda x, w: ((x * w).exp(), (x + w).tanh())[1],
    "updated argument": lambda x, w: (x.detach().mul_(2), x * w)[1],
}
WRITES = {
    "none": lambda t: None,
    "mul_": lambda t: t.mul_(3),
    "item": lambda t: t.__setitem__(0, 7.0),
    "view": lambda t: t[1:].add_(1),
    "copy_": lambda t: t.copy_(ingot.zeros_like(t)),
    "data": lambda t: t.data.mul_(3),
    "numpy": lambda t: t.detach().numpy().__iadd__(1),
    "out": lambda t: ingot.add(ingot.ones_like(t), 1, out=t),
}


def argument(f, call, write):
    x, w = ingot.full((4,), 2.0 + call), ingot.ones(4, requires_grad=True)
    y = f(x, w)
    write(x)
    y.sum().backward()
    return w.grad


def leaf(f, call, write):
    x, w = ingot.full((4,), 2.0 + call, requires_grad=True), ingot.ones(4, requires_grad=True)
    y = f(x, w)
    with ingot.no_grad():
        write(x)
    y.sum().backward()
    return w.grad


def result(f, call, write):
    x = ingot.full((4,), 2.0 + call, requires_grad=True)
    y = f(x, ingot.ones(4))
    z = (y * 1).sum()
    write(y)
    z.backward()
    return x.grad


def detached_result(f, call, write):
    x = ingot.full((4,), 2.0 + call, requires_grad=True)
    y = f(x, ingot.ones(4))
    z = y.sum()
    write(y.detach())
    z.backward()
    return x.grad


def outcome(place, f, call, write):
    try:
        return place(f, call, write).tolist()
    except AutogradError:
        return "raises"
    except RuntimeError as error:
        return type(error).__name__


@pytest.mark.parametrize("place", [argument, leaf, result, detached_result])
@pytest.mark.parametrize("name", FUNCTIONS)
def test_a_write_before_backward_means_what_it_means_in_eager(name, place):
    f = FUNCTIONS[name]
    for how, write in WRITES.items():
        traced = jit.trace(f)
        found = [outcome(place, traced, call, write) for call in range(4)]
        assert found == [outcome(place, f, call, write) for call in range(4)], how


def test_only_results_that_need_the_memory_raise():
    @jit.trace
    def f(x, w):
        return (x * w).exp(), x + w

    for _, (first, second) in itertools.product(range(3), [(True, False), (False, True)]):
        x, w = ingot.ones(3), ingot.ones(3, requires_grad=True)
        a, b = f(x, w)
        x.add_(1)
        if first:
            with pytest.raises(AutogradError, match="overwritten"):
                a.sum().backward()
        else:
            assert second
            b.sum().backward()
            assert w.grad.tolist() == [1, 1, 1]


def test_the_error_names_the_line_of_the_write():
    f = jit.trace(lambda x: x.exp())
    for _ in range(2):
        x = ingot.ones(2, requires_grad=True)
        y = f(x)
        y.detach().zero_()
        with pytest.raises(AutogradError, match=r"overwritten (since )?by zero_ at .*test_tape\.py"):
            y.sum().backward()


def test_memory_that_is_saved_and_returned_is_not_copied():
    """The saved value of exp is its result."""
    f = jit.trace(lambda x: x.exp())
    for _ in range(3):
        x = ingot.ones(2, requires_grad=True)
        y = f(x)
        y.data.mul_(2)
        y.sum().backward()
        assert x.grad.tolist() == y.tolist()


outside = ingot.tensor([0.1, 0.2])


def hooked(y, read):
    y.register_hook(lambda g: g * read().sum())
    return y


class Reads(ingot.autograd.Function):
    """x * 2, with a gradient that reads a tensor of its ctx."""

    @staticmethod
    def forward(ctx, x, kept):
        ctx.kept = kept
        return x * 2

    @staticmethod
    def backward(ctx, g):
        return g * ctx.kept.sum(), None


def own_view(x, view):
    v = view(x)
    return v, hooked(v, lambda: v), x * 2


def view_of(make):
    def run(x):
        v = make(x)[1]
        return v, hooked(v * 2, lambda: v)
    return run


def whole_of_a_view(x):
    y = x * 1
    return y[0], hooked(y[0] * 2, lambda: y)


def global_tensor(x):
    outside.mul_(2)
    return outside, hooked(x * 3, lambda: outside)


def view_of_a_global_tensor(x):
    part = outside[:1]
    return part, hooked(x * 3, lambda: part)


def ctx(x):
    part = (x * 1).detach()[0]
    return part, Reads.apply(x, part)


READS = {
    "argument": lambda x: (x, hooked(x * 2, lambda: x)),
    "its view": lambda x: own_view(x, lambda x: x[0]),
    "its view of the same shape": lambda x: own_view(x, lambda x: x.view_as(x)),
    "a view beside it": view_of(lambda x: x),
    "a view of a result": view_of(lambda x: x * 1),
    "a view of a detached one": view_of(lambda x: x.detach() + x),
    "the whole of a result": whole_of_a_view,
    "global": global_tensor,
    "view of a global": view_of_a_global_tensor,
    "ctx": ctx,
}
GRADIENTS = {
    "backward": {},
    "second order": {"create_graph": True},
    "batched": {"is_grads_batched": True},
}


@pytest.mark.parametrize("given", GRADIENTS)
@pytest.mark.parametrize("leaf", [True, False], ids=["leaf", "view of a leaf"])
@pytest.mark.parametrize("name", READS)
def test_user_code_in_a_backward_reads_what_memory_holds_by_then(name, leaf, given):
    def life(fn):
        w, found = ingot.linspace(0.5, 1.5, 6).view(2, 3).requires_grad_(), []
        with ingot.no_grad():
            outside.copy_(ingot.tensor([0.1, 0.2]))
        for call in range(3):
            results = fn(w if leaf else w[..., :2])
            with ingot.no_grad():
                results[0].add_(1 + call)
            taped = [t for t in results if t.requires_grad]
            ones = [ingot.ones(*((2,) if given == "batched" else ()), *t.shape) for t in taped]
            found.append([g.tolist() for g in ingot.autograd.grad(taped, [w], ones, **GRADIENTS[given])])
        return found, w.tolist()

    assert life(jit.trace(READS[name])) == life(READS[name])


NAMES = {
    "product": lambda x: x * 2,
    "sum": lambda x: (x * x).sum(),
    "function": lambda x: Cube.apply(x),
    "several of one": lambda x: x.max(0),
    "view": lambda x: x.exp()[1:],
    "a view of it": lambda x: x[1:],
    "written": lambda x: x.mul_(2),
    "written inside": lambda x: (lambda y: (y.add_(1), y)[1])(x.exp()),
    "a part written": lambda x: (lambda y: (y[1:].mul_(2), y)[1])(x.exp()),
    "different ones": lambda x: (x.exp(), x.sin(), x + 1),
    "beside views": lambda x: (lambda y: (y, y[1:], y.detach()[1:]))(x.exp()),
}


@pytest.mark.parametrize("name", NAMES)
def test_results_name_the_eager_operator(name):
    def names(f):
        made = f(ingot.linspace(0.5, 1.5, 3).requires_grad_() * 1)
        made = made if isinstance(made, tuple) else (made,)
        return [re.findall("grad_fn=<.*?>", repr(t)) for t in made], [
            t.grad_fn and (t.grad_fn.name(), type(t.grad_fn).__name__, repr(t.grad_fn)) for t in made]

    expected, traced = names(NAMES[name]), jit.trace(NAMES[name])
    for _ in range(3):
        printed, nodes = names(traced)
        assert printed == expected[0]
        assert nodes == expected[1] or name in ("different ones", "beside views")    # one node stands for all of them
