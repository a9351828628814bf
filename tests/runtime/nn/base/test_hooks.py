"""Hooks of modules: before and after calls, and in backward."""

import numpy as np
import pytest

import ingot
from ingot import jit, nn
from ingot.ir.errors import AutogradError, IngotError
from small_modules import Block


def test_forward_hooks_see_and_replace():
    m = Block()
    x = ingot.ones(1, 3)
    plain = m(x)
    handles = [m.register_forward_pre_hook(lambda mod, args: (args[0] * 2,)),
               m.register_forward_hook(lambda mod, args, out: out + 1)]
    np.testing.assert_allclose(m(x).detach().numpy(), m.linear(x * 2).detach().numpy() + 1, rtol=1e-6)
    for h in handles:
        h.remove()
    np.testing.assert_array_equal(m(x).detach().numpy(), plain.detach().numpy())
    with m.register_forward_pre_hook(lambda mod, args, kw: (args, {"factor": 3.0}), with_kwargs=True):
        np.testing.assert_allclose(m(x, factor=1.0).detach().numpy(), plain.detach().numpy() * 3, rtol=1e-6)


def test_hooks_run_in_order_and_always_if_asked():
    m, seen = nn.Linear(1, 1), []
    m.register_forward_pre_hook(lambda *_: seen.append("second"))
    m.register_forward_pre_hook(lambda *_: seen.append("first"), prepend=True)
    m.register_forward_hook(lambda *_: seen.append("after"), always_call=True)
    with pytest.raises(IngotError):
        m(ingot.ones(1, 5))
    assert seen == ["first", "second", "after"]
    with nn.register_module_forward_hook(lambda *_: seen.append("global")):
        nn.ReLU()(ingot.ones(1))
    assert seen[-1] == "global"


def test_backward_hooks_see_and_replace_gradients():
    m = nn.Linear(2, 2, bias=False)
    seen = {}

    def after(mod, grad_input, grad_output):
        seen["input"], seen["output"] = grad_input[0].numpy().copy(), grad_output[0].numpy().copy()
        return (grad_input[0] * 10,)

    m.register_full_backward_hook(after)
    m.register_full_backward_pre_hook(lambda mod, grad_output: (grad_output[0] * 2,))
    x = ingot.ones(1, 2).requires_grad_()
    m(x).sum().backward()
    w = m.weight.detach().numpy()
    np.testing.assert_allclose(seen["output"], [[2, 2]])
    np.testing.assert_allclose(seen["input"], 2 * w.sum(0, keepdims=True), rtol=1e-6)
    np.testing.assert_allclose(x.grad.numpy(), 20 * w.sum(0, keepdims=True), rtol=1e-6)
    np.testing.assert_allclose(m.weight.grad.numpy(), 2 * np.ones((2, 2)))


def test_backward_hooks_see_a_gradient_for_each_tensor_that_went_in():
    class Weighted(nn.Module):
        def forward(self, x, weight, unused, name):
            return x * weight

    m, seen = Weighted(), []
    m.register_full_backward_hook(lambda mod, gi, go: seen.extend(gi))
    x, unused = ingot.ones(2, requires_grad=True), ingot.ones(3, requires_grad=True)
    m(x, ingot.full((2,), 5.0), unused, "name").sum().backward()
    assert [None if g is None else g.tolist() for g in seen] == [[5, 5], [0, 0], [0, 0, 0], None]


def test_backward_hooks_copy_nothing():
    """The hook sees the memory that one layer returned and the next one got."""
    net = nn.Sequential(nn.Linear(2, 3), nn.Sigmoid(), nn.Linear(3, 1))
    given, returned = [], []
    for layer in net:
        layer.register_forward_hook(lambda mod, args, out: given.append(args[0]))
        layer.register_forward_hook(lambda mod, args, out: returned.append(out))
        layer.register_full_backward_hook(lambda mod, gi, go: None)
    x = ingot.ones(4, 2, requires_grad=True)
    y = net(x)
    assert [t.data_ptr() for t in (*given, y)] == [t.data_ptr() for t in (x, *returned)]
    assert y.grad_fn.name() == "BackwardHookFunctionBackward"


@pytest.mark.parametrize("wrap", [lambda fn: fn, jit.trace])
def test_layers_with_backward_hooks_that_write_in_place(wrap):
    def life(hooked):
        net = nn.Sequential(nn.Linear(2, 3), nn.ReLU(inplace=True), nn.Linear(3, 3), nn.Hardtanh(inplace=True))
        for i, p in enumerate(net.parameters()):
            p.detach().copy_(ingot.linspace(-1, 1, p.numel()).view_as(p) / (i + 1))
        seen = []
        for layer in net if hooked else ():
            layer.register_full_backward_hook(lambda mod, gi, go: None)

        def step(x):
            net(x).square().sum().backward()

        step = wrap(step) if hooked else step
        for i in range(3):
            x = (ingot.arange(8.0).view(4, 2) - i).requires_grad_()
            step(x)
            seen.append([t.grad.tolist() for t in (x, *net.parameters())])
        return seen

    assert life(True) == life(False)


def test_views_of_results_with_backward_hooks_refuse_writes():
    layer = nn.Sigmoid()
    layer.register_full_backward_hook(lambda mod, gi, go: None)
    y = layer(ingot.ones(2, requires_grad=True))
    part = y[1:]
    for t in (part, y):
        with pytest.raises(AutogradError, match="full backward hooks"):
            t.mul_(2)


def test_results_with_backward_hooks_take_writes():
    x = ingot.tensor([1.0, 2.0], requires_grad=True)
    layer, seen = ingot.nn.Sigmoid(), []
    layer.register_forward_hook(lambda mod, args, out: seen.append(out))
    layer.register_full_backward_hook(lambda mod, gi, go: seen.append(go[0]))
    layer(x).mul_(3).sum().backward()
    inside = ingot.sigmoid(x.detach())
    assert ingot.equal(seen[0], inside) and seen[1].tolist() == [3.0, 3.0]
    ingot.testing.assert_close(x.grad, 3 * inside * (1 - inside))


def test_a_backward_hook_runs_without_differentiable_inputs():
    m, seen = nn.Linear(2, 2), []
    m.register_full_backward_hook(lambda mod, gi, go: seen.append((gi, go[0].shape)))
    m(ingot.ones(1, 2)).sum().backward()
    assert seen == [((None,), (1, 2))]
