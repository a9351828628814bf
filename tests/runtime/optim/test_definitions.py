"""Optimizers against their definitions, step by step in float64: rare options, sparse rows, repeated parameters."""

import itertools
import math

import numpy as np
import pytest

import ingot
import mock_cuda

STEPS = 12


def asgd(x, gradients, lr=0.05, lambd=0.2, alpha=0.75, t0=4.0, weight_decay=0.0):
    """Averaged SGD: (x, mean of the points since step t0)."""
    mean, eta, mu = np.zeros_like(x), lr, 1.0
    for t, g in enumerate(gradients, 1):
        g = g + weight_decay * x
        x = x * (1 - lambd * eta) - eta * g
        mean = mean + mu * (x - mean)
        eta, mu = lr / (1 + lambd * lr * t) ** alpha, 1 / max(1.0, t - t0)
    return x, {"ax": mean}


def radam(x, gradients, lr=0.05, betas=(0.6, 0.9), eps=1e-8, weight_decay=0.0, decoupled_weight_decay=False):
    """Adam, rectified from the step on whose estimate has a length above 5."""
    (b1, b2), m, v = betas, np.zeros_like(x), np.zeros_like(x)
    for t, g in enumerate(gradients, 1):
        if decoupled_weight_decay:
            x = x * (1 - lr * weight_decay)
        else:
            g = g + weight_decay * x
        m, v = b1 * m + (1 - b1) * g, b2 * v + (1 - b2) * g * g
        most = 2 / (1 - b2) - 1
        length = most - 2 * t * b2 ** t / (1 - b2 ** t)
        step = m / (1 - b1 ** t)
        if length > 5:
            step = step * math.sqrt((length - 4) * (length - 2) * most / ((most - 4) * (most - 2) * length)) * \
                math.sqrt(1 - b2 ** t) / (np.sqrt(v) + eps)
        x = x - lr * step
    return x, {"exp_avg": m, "exp_avg_sq": v}


def rmsprop(x, gradients, lr=0.05, alpha=0.8, eps=1e-3, weight_decay=0.0, momentum=0.0, centered=False):
    """The gradient over its standard deviation, or over its root mean square."""
    square, mean, buffer = np.zeros_like(x), np.zeros_like(x), np.zeros_like(x)
    for g in gradients:
        g = g + weight_decay * x
        square, mean = alpha * square + (1 - alpha) * g * g, alpha * mean + (1 - alpha) * g
        step = g / (np.sqrt(square - mean * mean if centered else square) + eps)
        buffer = momentum * buffer + step
        x = x - lr * (buffer if momentum else step)
    return x, {"square_avg": square, **({"grad_avg": mean} if centered else {})}


def adagrad(x, gradients, lr=0.05, lr_decay=0.3, weight_decay=0.0, initial_accumulator_value=0.2, eps=1e-6):
    """The gradient over the root of the sum of all squares."""
    total = np.full_like(x, initial_accumulator_value)
    for t, g in enumerate(gradients, 1):
        g = g + weight_decay * x
        total = total + g * g
        x = x - lr / (1 + (t - 1) * lr_decay) * g / (np.sqrt(total) + eps)
    return x, {"sum": total}


def table(definition, **options) -> list:
    return [(definition, dict(zip(options, values))) for values in itertools.product(*options.values())]


ROWS = [*table(asgd, t0=[0.0, 1.0, 4.0, 1e6], weight_decay=[0.0, 0.3], lambd=[0.0, 0.2]),
        *table(radam, weight_decay=[0.0, 0.3], decoupled_weight_decay=[False, True],
               betas=[(0.6, 0.9), (0.9, 0.8), (0.5, 0.6)]),
        *table(rmsprop, weight_decay=[0.0, 0.3], momentum=[0.0, 0.7], centered=[False, True]),
        *table(adagrad, weight_decay=[0.0, 0.3], lr_decay=[0.0, 0.3], initial_accumulator_value=[0.0, 0.2])]
CLASSES = {asgd: "ASGD", radam: "RAdam", rmsprop: "RMSprop", adagrad: "Adagrad"}
DEFAULTS = {asgd: {"lr": 0.05, "lambd": 0.2, "alpha": 0.75, "t0": 4.0}, radam: {"lr": 0.05, "betas": (0.6, 0.9)},
            rmsprop: {"lr": 0.05, "alpha": 0.8, "eps": 1e-3},
            adagrad: {"lr": 0.05, "lr_decay": 0.3, "initial_accumulator_value": 0.2, "eps": 1e-6}}


def drawn():
    rng = np.random.default_rng(4)
    return rng.standard_normal((3, 4)), [rng.standard_normal((3, 4)) + 0.5 for _ in range(STEPS)]


def check(definition, options, gradient, device="cpu", **more):
    """Compare parameter and state with the definition's."""
    start, gradients = drawn()
    p = ingot.tensor(start, requires_grad=True, device=device)
    optimizer = getattr(ingot.optim, CLASSES[definition])([p], **DEFAULTS[definition] | options | more)
    for g in gradients:
        p.grad = gradient(ingot.tensor(g, device=device))
        optimizer.step()
    want, state = definition(start, gradients, **options)
    np.testing.assert_allclose(p.detach().cpu().numpy(), want, rtol=1e-9, atol=1e-12)
    for name, value in state.items():
        np.testing.assert_allclose(optimizer.state[p][name].cpu().numpy(), value, rtol=1e-9, atol=1e-12, err_msg=name)


@pytest.mark.parametrize(("definition", "options"), ROWS, ids=[f"{CLASSES[d]}-{o}" for d, o in ROWS])
def test_an_optimizer_makes_the_steps_of_its_definition(definition, options):
    check(definition, options, lambda g: g)


@pytest.mark.parametrize("definition", [asgd, radam, rmsprop], ids=CLASSES.get)
def test_steps_that_are_counted_on_a_device_are_the_same(definition):
    with mock_cuda.installed():
        check(definition, {"weight_decay": 0.3}, lambda g: g, "cuda", capturable=True)


@pytest.mark.parametrize("lr_decay", [0.0, 0.3])
def test_adagrad_makes_them_for_sparse_rows(lr_decay):
    check(adagrad, {"lr_decay": lr_decay}, lambda g: g.to_sparse(1))


@pytest.mark.parametrize(("momentum", "dampening", "nesterov"), [
    (0.0, 0.0, False), (0.9, 0.0, False), (0.9, 0.3, False), (0.9, 0.0, True)])
def test_a_repeated_parameter_starts_its_momentum_twice(momentum, dampening, nesterov):
    """PyTorch collects the buffers of a group before it makes any: both of a first step are the gradient."""
    start, gradients = drawn()
    x, buffers = start.copy(), [None, None]
    for i, g in enumerate(gradients):
        before = None if i == 0 else buffers[1]
        for at in range(2):
            buffers[at] = g if before is None else momentum * before + (1 - dampening) * g
            before = None if i == 0 else buffers[at]
            x = x - 0.05 * (g + momentum * buffers[at] if nesterov else buffers[at] if momentum else g)
    p = ingot.tensor(start, requires_grad=True)
    with pytest.warns(UserWarning, match="twice"):
        optimizer = ingot.optim.SGD([p, p], lr=0.05, momentum=momentum, dampening=dampening, nesterov=nesterov)
    for g in gradients:
        p.grad = ingot.tensor(g)
        optimizer.step()
    np.testing.assert_allclose(p.detach().numpy(), x, rtol=1e-9)
