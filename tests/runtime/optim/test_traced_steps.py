"""Traced training steps have the bits of eager ones: every optimizer, with schedules, in both precisions."""

import functools

import numpy as np
import pytest

import ingot
from covering import thinned
from ingot import jit, optim
from ingot.optim import lr_scheduler as schedules

OPTIMIZERS = {
    "sgd": functools.partial(optim.SGD, lr=0.1, momentum=0.9, nesterov=True, weight_decay=0.01), "adam": optim.Adam,
    "amsgrad": functools.partial(optim.Adam, amsgrad=True, weight_decay=0.1), "adamw": optim.AdamW, "adamax": optim.Adamax,
    "nadam": optim.NAdam, "nadam_decay": functools.partial(optim.NAdam, weight_decay=0.1, decoupled_weight_decay=True),
    "radam": optim.RAdam, "rmsprop": functools.partial(optim.RMSprop, momentum=0.9, centered=True), "adagrad": optim.Adagrad,
    "adadelta": optim.Adadelta, "asgd": functools.partial(optim.ASGD, lr=0.05, t0=20), "rprop": optim.Rprop,
    "adafactor": optim.Adafactor}
SCHEDULES = {
    "none": None, "exponential": functools.partial(schedules.ExponentialLR, gamma=0.97),
    "step": functools.partial(schedules.StepLR, step_size=7, gamma=0.3),
    "cosine": functools.partial(schedules.CosineAnnealingLR, T_max=30),
    "once": functools.partial(schedules.OneCycleLR, max_lr=0.05, total_steps=80),
    "lambda": functools.partial(schedules.LambdaLR, lr_lambda=lambda n: 1 / (1 + 0.1 * n) ** 0.5)}
STEPS = 60


def trained(make, schedule, dtype, wrap):
    """Return losses, parameters and state after some steps. Sums are short, so nothing is a contraction."""
    rng = np.random.default_rng(5)
    params = [ingot.from_numpy(rng.standard_normal(shape).astype(dtype)).requires_grad_() for shape in ((5, 3), (4,), ())]
    optimizer = make(params)
    scheduler = None if schedule is None else schedule(optimizer)

    def step():
        optimizer.zero_grad()
        loss = sum((p * p * p * 0.1 + p * p).sum() for p in params)
        loss.backward()
        optimizer.step()
        if scheduler is not None:
            scheduler.step()
        return loss

    step = wrap(step)
    losses = [step().item() for _ in range(STEPS)]
    state = [v for p in params for _, v in sorted(optimizer.state[p].items()) if isinstance(v, ingot.Tensor)]
    return losses, [t.detach().numpy() for t in (*params, *state)], [g["lr"] for g in optimizer.param_groups]


CASES = [*[(name, "exponential") for name in OPTIMIZERS], *[(name, s) for name in ("sgd", "adam") for s in SCHEDULES]]


@pytest.mark.parametrize("case, dtype", thinned(dict.fromkeys(CASES), ["float32", "float64"], strength=1), ids=str)
def test_traced_training_has_the_bits_of_eager_training(case, dtype):
    name, schedule = case
    losses, arrays, rates = trained(OPTIMIZERS[name], SCHEDULES[schedule], dtype, lambda f: f)
    traced_losses, traced_arrays, traced_rates = trained(OPTIMIZERS[name], SCHEDULES[schedule], dtype, jit.trace)
    assert traced_losses == losses and traced_rates == rates
    for want, got in zip(arrays, traced_arrays, strict=True):
        np.testing.assert_array_equal(got, want)


TENSORS = {"float32": lambda v: ingot.tensor(v), "float64": lambda v: ingot.tensor(v, dtype=ingot.float64),
           "parameter": lambda v: ingot.nn.Parameter(ingot.tensor(v)), "half": lambda v: ingot.tensor(v, dtype=ingot.float16)}


@pytest.mark.parametrize("name, kind", thinned(list(OPTIMIZERS), list(TENSORS), strength=1), ids=str)
def test_options_that_are_tensors_count_as_numbers_of_python(name, kind):
    """Eager and traced, the bits are those of the float in the tensor."""
    rate = TENSORS[kind](0.0137)

    def run(lr, wrap):
        return trained(functools.partial(OPTIMIZERS[name], lr=lr), None, "float32", wrap)[:2]

    losses, arrays = run(rate.item(), lambda f: f)
    for got_losses, got in (run(rate, lambda f: f), run(rate, jit.trace)):
        assert got_losses == losses
        for a, b in zip(arrays, got, strict=True):
            np.testing.assert_array_equal(b, a)


def test_weights_of_averages_may_be_tensors():
    def run(betas, wrap):
        return trained(functools.partial(optim.AdamW, betas=betas), None, "float32", wrap)

    numbers = ingot.tensor(0.9).item(), ingot.tensor(0.99).item()
    tensors = tuple(map(ingot.tensor, numbers))
    for wrap in (lambda f: f, jit.trace):
        for want, got in zip(run(numbers, lambda f: f)[1], run(tensors, wrap)[1], strict=True):
            np.testing.assert_array_equal(got, want)


@pytest.mark.parametrize("name", [name for name in OPTIMIZERS if name not in ("rprop", "asgd", "adafactor")])
def test_gradients_through_steps_have_the_bits_of_eager_ones(name):
    """Gradients are with respect to the learning rate and the start."""
    def tuned(lr, start, target):
        p = start * 1.0
        optimizer = OPTIMIZERS[name]([p], lr=lr, differentiable=True)
        for _ in range(1 if name in ("amsgrad", "adamax", "rmsprop") else 3):      # these overwrite what their gradients read
            p.grad, = ingot.autograd.grad((p - target).square().mean(), p, create_graph=True)
            optimizer.step()
        loss = (p - target).square().mean()
        return loss, *ingot.autograd.grad(loss, [lr, start])

    for seed, shape in enumerate([(9, 3), (9, 3), (40,), ()]):
        ingot.manual_seed(seed)
        leaves = ingot.tensor(0.037, requires_grad=True), ingot.randn(shape).requires_grad_(), ingot.randn(shape)
        traced = jit.trace(tuned)
        want = tuned(*leaves)
        for _ in range(2):
            assert all(map(ingot.equal, want, traced(*leaves))), f"seed {seed}"
