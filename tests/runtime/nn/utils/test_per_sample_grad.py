"""`nn.utils._per_sample_grad`: an ordinary backward leaves the gradient of each sample."""

import pytest

import ingot
import private_names  # noqa: F401
from ingot import jit, nn
from ingot.ir.errors import AutogradError, IngotError
from ingot.nn.utils._per_sample_grad import call_for_per_sample_grads

MODULES = {
    "linear": (lambda: nn.Sequential(nn.Linear(4, 3), nn.Tanh(), nn.Linear(3, 2)), (5, 4)),
    "more dims": (lambda: nn.Sequential(nn.Linear(4, 3), nn.LayerNorm(3)), (5, 2, 4)),
    "images": (lambda: nn.Sequential(nn.Conv2d(2, 4, 3), nn.GroupNorm(2, 4), nn.Flatten(), nn.Linear(16, 2)), (3, 2, 4, 4)),
    "signals": (lambda: nn.Sequential(nn.Conv1d(2, 4, 3), nn.InstanceNorm1d(4, affine=True)), (3, 2, 9)),
    "a part is frozen": (lambda: nn.Sequential(nn.Linear(4, 3).requires_grad_(False), nn.Linear(3, 2)), (5, 4)),
}


def module_and_input(name):
    ingot.manual_seed(3)
    make, shape = MODULES[name]
    return make(), ingot.randn(*shape, requires_grad=True)


@pytest.mark.parametrize("reduction", ["sum", "mean"])
@pytest.mark.parametrize("name", MODULES)
def test_gradients_equal_those_of_batches_of_one(name, reduction):
    module, x = module_and_input(name)
    loss = getattr(call_for_per_sample_grads(module, loss_reduction=reduction)(x).sin(), reduction)()
    loss.backward()
    trained = [p for p in module.parameters() if p.requires_grad]
    for i in range(len(x)):
        one = getattr(module(x[i:i + 1]).sin(), reduction)()
        for p, want in zip(trained, ingot.autograd.grad(one, trained)):
            ingot.testing.assert_close(p.grad_sample[i], want, rtol=1e-4, atol=1e-5)
    assert all(p.grad is None for p in module.parameters())
    want, = ingot.autograd.grad(getattr(module(x).sin(), reduction)(), x)
    ingot.testing.assert_close(x.grad, want, rtol=1e-4, atol=1e-5)


def test_the_batch_may_be_the_second_dim_and_arguments_the_same_for_all():
    layer, x, shared = nn.Linear(4, 3), ingot.randn(6, 5, 4), ingot.randn(6, 3)

    class Added(nn.Module):
        def __init__(self):
            super().__init__()
            self.layer = layer

        def forward(self, x, *, more):
            return self.layer(x) + more[:, None]

    call_for_per_sample_grads(Added(), batch_first=False, batch_size=5)(x, more=shared).square().sum().backward()
    for i in range(5):
        want = ingot.autograd.grad((layer(x[:, i]) + shared).square().sum(), layer.weight)[0]
        ingot.testing.assert_close(layer.weight.grad_sample[i], want, rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("why", [
    (ValueError, "loss_reduction", lambda m, x: call_for_per_sample_grads(m, loss_reduction="max")),
    (IngotError, "takes a module", lambda m, x: call_for_per_sample_grads(x)),
    (IngotError, "positive", lambda m, x: call_for_per_sample_grads(m, batch_size=0)),
    (IngotError, "batch_size=", lambda m, x: call_for_per_sample_grads(nn.Bilinear(4, 4, 2))(x, x[:2])),
])
def test_impossible_calls_raise_errors(why):
    kind, message, call = why
    with pytest.raises(kind, match=message):
        call(*module_and_input("linear"))


def test_existing_gradients_are_not_added_to():
    module, x = module_and_input("linear")
    loss = call_for_per_sample_grads(module)(x).sum()
    loss.backward(retain_graph=True)
    once = module[0].weight.grad_sample
    with pytest.raises(AutogradError, match="grad_sample already"):
        call_for_per_sample_grads(module)
    loss.backward()
    ingot.testing.assert_close(module[0].weight.grad_sample, once * 2)


def test_traced_steps_leave_them_too():
    def life(wrap):
        module, _ = module_and_input("linear")

        def step(x):
            for p in module.parameters():
                p.grad_sample = None
            loss = call_for_per_sample_grads(module)(x).sin().sum()
            loss.backward()
            with ingot.no_grad():
                for p in module.parameters():
                    p.sub_(0.1 * p.grad_sample.clamp(-1, 1).sum(0))
            return loss

        step, seen = wrap(step), []
        for i in range(5):
            seen.append(step(ingot.full((5, 4), i / 5)).item())
            seen += [p.grad_sample.tolist() for p in module.parameters()]
        return seen

    assert life(jit.trace) == life(lambda step: step)


def test_traced_calls_refuse_existing_gradients():
    module, x = module_and_input("linear")
    traced = jit.trace(lambda x: call_for_per_sample_grads(module)(x).sum())
    with ingot.no_grad():
        assert traced(x).item() == traced(x).item()
        module[0].weight.grad_sample = ingot.ones(1)
        with pytest.raises(AutogradError, match="grad_sample already"):
            traced(x)
