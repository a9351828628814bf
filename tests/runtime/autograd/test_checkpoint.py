"""Checkpointing: the same gradients, less memory, and errors when the two runs differ."""

import gc
import weakref
from contextlib import nullcontext

import numpy as np
import pytest

import ingot
from ingot.autograd import grad
from ingot.runtime.autograd.checkpoint import CheckpointError, checkpoint, checkpoint_sequential, set_checkpoint_early_stop


def leaf(*shape, seed=0):
    return ingot.tensor(np.random.default_rng(seed).standard_normal(shape)).requires_grad_()


def block(x, w):
    return ((x @ w).tanh() * x).sin()


@pytest.mark.parametrize("use_reentrant", [True, False, None])
def test_gradients_are_those_of_the_plain_run(use_reentrant):
    x, w = leaf(3, 3), leaf(3, 3, seed=1)
    block(block(x, w), w).sum().backward()
    expected = x.grad.numpy().copy(), w.grad.numpy().copy()
    x.grad = w.grad = None
    y = checkpoint(block, x, w, use_reentrant=use_reentrant)
    y = checkpoint(block, y, w, use_reentrant=use_reentrant)
    y.sum().backward()
    np.testing.assert_array_equal(x.grad.numpy(), expected[0])
    np.testing.assert_array_equal(w.grad.numpy(), expected[1])


@pytest.mark.parametrize("use_reentrant", [True, False])
def test_the_function_runs_twice_with_the_same_random_numbers(use_reentrant):
    masks = []

    def noisy(x):
        mask = ingot.rand(4, dtype=ingot.float64)
        masks.append(mask.tolist())
        return x * mask

    ingot.manual_seed(7)
    x = leaf(4)
    y = checkpoint(noisy, x, use_reentrant=use_reentrant)
    after = ingot.rand(1).item()
    y.sum().backward()
    assert len(masks) == 2
    assert all(m == masks[0] for m in masks)
    assert x.grad.tolist() == masks[0]
    ingot.manual_seed(7)
    ingot.rand(4, dtype=ingot.float64)
    assert ingot.rand(1).item() == after      # and backward did not move the random stream
    again = ingot.rand(1).item()
    assert again != after


def test_functions_and_methods_are_decorated():
    calls = []

    class Layer(ingot.nn.Module):
        @checkpoint(use_reentrant=False)
        def forward(self, x, *, scale=1.0):
            """Its text."""
            calls.append(scale)
            return x.sin() * scale

    x = leaf(3)
    Layer()(x, scale=2.0).sum().backward()
    np.testing.assert_allclose(x.grad.numpy(), 2 * np.cos(x.detach().numpy()))
    assert calls == [2.0, 2.0] and Layer.forward.__doc__ == "Its text." and Layer.forward.__name__ == "forward"


def test_intermediates_are_freed():
    gc.collect()
    gc.disable()
    try:
        seen = []

        def wide(x):
            h = x.exp()
            seen.append(weakref.ref(h._a))
            return (h * h).sum()

        y = checkpoint(wide, leaf(100), use_reentrant=False)
        assert seen[0]() is None
        y.backward()
        assert len(seen) == 2 and seen[1]() is None
    finally:
        gc.enable()


def test_keyword_arguments_nested_outputs_and_grad():
    x = leaf(3)
    out = checkpoint(lambda x, *, scale: {"y": [x.exp() * scale]}, x, scale=3.0, use_reentrant=False)
    (g,) = grad(out["y"][0].sum(), x)
    np.testing.assert_allclose(g.numpy(), 3 * np.exp(x.detach().numpy()))


def test_retained_graph_and_second_derivative():
    x = leaf(3)
    y = checkpoint(lambda x: (x.exp() * x).sum(), x, use_reentrant=False)
    y.backward(retain_graph=True)
    first = x.grad.numpy().copy()
    y.backward(retain_graph=True)
    np.testing.assert_allclose(x.grad.numpy(), 2 * first)
    (g,) = grad(y, x, create_graph=True)
    (gg,) = grad(g.sum(), x)
    v = x.detach().numpy()
    np.testing.assert_allclose(gg.numpy(), np.exp(v) * (v + 2))


def test_nested_checkpoints():
    x, w = leaf(3, 3), leaf(3, 3, seed=1)
    y = checkpoint(lambda x: checkpoint(block, checkpoint(block, x, w, use_reentrant=False), w, use_reentrant=False).exp(), x,
                   use_reentrant=False)
    (g,) = grad(y.sum(), x)
    (expected,) = grad(block(block(x, w), w).exp().sum(), x)
    np.testing.assert_array_equal(g.numpy(), expected.numpy())


def test_a_function_that_changes_between_runs_is_caught():
    turn = []

    def fickle(x):
        turn.append(1)
        return x.exp() if len(turn) == 1 else (x.exp() * x).exp()

    y = checkpoint(fickle, leaf(3), use_reentrant=False, early_stop=False).sum()
    with pytest.raises(CheckpointError, match="saved 1 tensors, the second"):
        y.backward()


def in_steps(seen, x):
    for step in (ingot.exp, ingot.sin, lambda x: x + 1, ingot.neg):
        x = step(x)
        seen.append(x)
    return x


ALONE = {   # what requests gradients of chosen tensors, or of later calls, from a reentrant checkpoint
    "grad": lambda f, x, w: grad(f(x).sum(), x), "inputs": lambda f, x, w: f(x).sum().backward(inputs=[x]),
    "inside": lambda f, x, w: grad((f(x) * w).sum(), w), "jacobian": lambda f, x, w: ingot.autograd.functional.jacobian(f, x),
    "traced": lambda f, x, w: [y.sum().backward() for traced in [ingot.jit.trace(f)] for y in [traced(x), traced(x)][1:]]}


@pytest.mark.parametrize("how", ALONE)
def test_a_reentrant_checkpoint_goes_backward_to_all_leaves_or_not_at_all(how):
    x, w = leaf(3), leaf(3, seed=1)

    def f(x):
        return checkpoint(lambda x: (x * w).sin(), x * 2, use_reentrant=True)

    if how == "inside":     # no gradient passes through the checkpoint
        assert grad((f(x) * w).sum(), w)[0] is not None and w.grad is None
        return
    with pytest.raises(RuntimeError, match="use use_reentrant=False"):
        ALONE[how](f, x, w)
    assert w.grad is None and x.grad is None


@pytest.mark.parametrize("traced", [False, True])
def test_a_reentrant_checkpoint_without_gradient_raises(traced):
    def step(a, b):
        checkpoint(lambda a, b: a, a, b, use_reentrant=True).sum().backward()

    with pytest.raises(RuntimeError, match="none of the outputs"):
        (ingot.jit.trace(step) if traced else step)(leaf(3).detach(), leaf(3))


EARLY = [(told, asked, asked if asked is not None else told) for told in (True, False) for asked in (None, True, False)]


@pytest.mark.parametrize(("told", "asked", "early"), EARLY)
@pytest.mark.parametrize("traced", [False, True])
def test_a_second_run_ends_with_the_last_tensor_that_was_saved(told, asked, early, traced):
    """The sine saves its argument; nothing after it runs again. The `with` setting applies to calls inside."""
    seen, x = [], leaf(3)

    def forward(x):
        with nullcontext() if asked is None else set_checkpoint_early_stop(asked):
            return checkpoint(in_steps, seen, x, use_reentrant=False, early_stop=told)

    def step(x):
        return grad(forward(x).sum(), x)[0]

    g = (ingot.jit.trace(step) if traced else step)(x)
    np.testing.assert_array_equal(g.numpy(), grad(in_steps([], x).sum(), x)[0].numpy())
    assert traced or len(seen) == 4 + (1 if early else 4)


def test_each_backward_of_a_retained_graph_ends_early():
    seen, x = [], leaf(3)
    y = checkpoint(in_steps, seen, x, use_reentrant=False).sum()
    for runs in (1, 2, 3):
        y.backward(retain_graph=True)
        assert len(seen) == 4 + runs


def test_a_function_that_takes_the_end_for_an_error_is_ended_again():
    def stubborn(x):
        for step in (ingot.exp, ingot.sin, ingot.cos):
            try:
                y = step(x)
            except BaseException:
                y = step(x)
        return y.exp()

    x = leaf(3)
    y = checkpoint(stubborn, x, use_reentrant=False).sum()
    np.testing.assert_array_equal(grad(y, x)[0].numpy(), grad(stubborn(x).sum(), x)[0].numpy())


def test_an_overwritten_input_is_caught():
    x = leaf(3) * 1
    y = checkpoint(lambda x: x.exp() * x, x, use_reentrant=False).sum()
    x.add_(1)
    with pytest.raises(RuntimeError, match=r"checkpoint saved a tensor.*add_"):
        y.backward()


def test_a_checkpoint_without_grad_mode_is_a_plain_call():
    with ingot.no_grad():
        assert not checkpoint(block, leaf(2, 2), leaf(2, 2), use_reentrant=False).requires_grad


def test_reentrant_without_inputs_that_require_grad_warns():
    with pytest.warns(UserWarning, match="no input requires grad"):
        checkpoint(lambda x: x * 2, ingot.ones(2), use_reentrant=True)


@pytest.mark.parametrize("segments", [1, 2, 3])
def test_sequential(segments):
    steps = [lambda x: x.exp(), lambda x: x * 0.5, lambda x: x.sin(), lambda x: x * x]
    x = leaf(4)
    y = x
    for step in steps:
        y = step(y)
    (expected,) = grad(y.sum(), x)
    (g,) = grad(checkpoint_sequential(steps, segments, x).sum(), x)
    np.testing.assert_array_equal(g.numpy(), expected.numpy())
    with pytest.raises(ValueError, match="segments"):
        checkpoint_sequential(steps, 9, x)


def test_traced_checkpoints_equal_eager_ones():
    def gradient_of(x, w):
        w.grad = None
        checkpoint(block, x, w, use_reentrant=False).sum().backward()
        return w.grad * 1

    x, w = leaf(3, 3).detach(), leaf(3, 3, seed=1)
    traced = ingot.jit.trace(lambda x: gradient_of(x, w))
    eager = gradient_of(x, w).tolist()
    assert [traced(x).tolist() for _ in range(3)] == [eager] * 3


def force(x):
    """Return minus the slope of an energy, through which outer gradients pass."""
    return -grad((x @ x).sin().sum(), x, create_graph=True)[0].tanh()


def detached_force(x):
    y = x.detach().requires_grad_()
    return x.exp() * grad((y @ y).sin().sum(), y)[0]


def inner_steps(x):
    w = x.sin()
    for _ in range(3):
        g, = grad((w @ w.T).cos().sum(), w, create_graph=True)
        w = w - 0.1 * g * ingot.rand(3, 3, dtype=ingot.float64)
    return w


def nested(x):
    return checkpoint(force, x.sin(), use_reentrant=False) * 2


def itself_backward(x):
    y = x.detach().requires_grad_()
    (y * y).sum().backward()
    return x.sin() * y.grad


@pytest.mark.parametrize("traced", [False, True])
@pytest.mark.parametrize("f", [force, detached_force, inner_steps, nested, itself_backward])
def test_functions_that_go_backward_themselves(f, traced):
    def slopes(x, checkpointed):
        ingot.manual_seed(0)
        y = checkpoint(f, x, use_reentrant=False) if checkpointed else f(x)
        g, = grad(y.square().sum(), x, create_graph=True)
        return y, g, *(grad(g.sum(), x) if g.requires_grad else ())

    x = leaf(3, 3)
    want = slopes(x, False)
    run = ingot.jit.trace(slopes) if traced else slopes
    for _ in range(1 + traced):
        for a, b in zip(run(x, True), want, strict=True):
            assert a.tolist() == b.tolist()


@pytest.mark.parametrize("function, plain", [
    (lambda q: q.exp().add_(1), lambda q: q.exp() + 1), (lambda q: (2 * q).sigmoid().mul_(q), lambda q: (2 * q).sigmoid() * q),
    (lambda q: ingot.ones(3).mul_(q), lambda q: q * 1),
    (lambda q: q.exp().add_(1).sin() * q, lambda q: (q.exp() + 1).sin() * q),
    (lambda q: ingot.ones(3).mul_(q).mul_(q), lambda q: q * q)])
def test_a_function_may_overwrite_its_saved_values(function, plain):
    """The second run keeps what the first one overwrote."""
    x = ingot.tensor([-1.0, 0.5, 2.0], requires_grad=True)
    y = x.detach().clone().requires_grad_()
    plain(x).sum().backward()
    out = checkpoint(function, y, use_reentrant=False)
    out.sum().backward(retain_graph=True)
    assert x.grad.tolist() == y.grad.tolist()
    out.sum().backward()
    assert (2 * x.grad).tolist() == y.grad.tolist()
