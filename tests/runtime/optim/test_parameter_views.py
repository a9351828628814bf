"""Complex parameters step as pairs of their parts. Order functions refuse complex numbers."""

import numpy as np
import pytest

import ingot
from ingot import jit, nn, optim

F = nn.functional

OPTIMIZERS = {
    "sgd": ("SGD", {"lr": 0.1, "momentum": 0.9, "weight_decay": 0.1, "nesterov": True}),
    "adam": ("Adam", {"lr": 0.1, "weight_decay": 0.1}),
    "amsgrad": ("Adam", {"lr": 0.1, "amsgrad": True, "maximize": True}),
    "adamw": ("AdamW", {"lr": 0.1}),
    "adamax": ("Adamax", {"lr": 0.1}),
    "nadam": ("NAdam", {"lr": 0.1}),
    "radam": ("RAdam", {"lr": 0.1}),
    "rmsprop": ("RMSprop", {"lr": 0.1, "centered": True, "momentum": 0.5}),
    "adagrad": ("Adagrad", {"lr": 0.1}),
    "adadelta": ("Adadelta", {"lr": 1.0}),
    "rprop": ("Rprop", {"lr": 0.1}),
    "asgd": ("ASGD", {"lr": 0.1, "t0": 2}),
}


def pairs(seed, *shape):
    return ingot.tensor(np.random.default_rng(seed).standard_normal((*shape, 2)))


def trained(kind, options, is_complex, wrap=lambda f: f):
    """Return the parts of a parameter and its states after some steps."""
    as_kind = ingot.view_as_complex if is_complex else ingot.clone
    p = nn.Parameter(as_kind(pairs(0, 3, 2)).clone())
    optimizer = getattr(optim, kind)([p], **options)

    def step(g):
        p.grad = as_kind(g).clone()
        optimizer.step()

    step, found = wrap(step), []
    for i in range(6):
        step(pairs(i + 1, 3, 2))
        tensors = [v for _, v in sorted(optimizer.state[p].items()) if isinstance(v, ingot.Tensor) and v.ndim]
        assert all(v.shape == p.shape and v.dtype == p.dtype for v in tensors)
        found.append([(ingot.view_as_real(t) if is_complex else t).tolist() for t in (p.detach(), *tensors)])
    return found


@pytest.mark.parametrize("kind, options", OPTIMIZERS.values(), ids=OPTIMIZERS)
def test_a_step_is_one_on_the_parts(kind, options):
    for wrap in (lambda f: f, jit.trace):
        assert trained(kind, options, True, wrap) == trained(kind, options, False, wrap)


def test_lbfgs_goes_down_in_both_parts():
    p, goal = nn.Parameter(ingot.zeros(3, dtype=ingot.complex128)), ingot.view_as_complex(pairs(0, 3))
    optimizer = optim.LBFGS([p], line_search_fn="strong_wolfe")

    def closure():
        optimizer.zero_grad()
        loss = ((p - goal).abs() ** 2).sum()
        loss.backward()
        return loss

    optimizer.step(closure)
    assert ingot.allclose(p.detach(), goal)


@pytest.mark.parametrize("kind", ["Adafactor", "Muon"])
def test_optimizers_that_look_at_rows_and_columns_refuse(kind):
    p = nn.Parameter(ingot.view_as_complex(pairs(0, 3, 2)))
    p.grad = p.detach().clone()
    with pytest.raises(RuntimeError, match="complex"):
        getattr(optim, kind)([p]).step()


ORDERED = {
    "clamp": lambda z: z.clamp(0, 1), "lt": lambda z: z < 1, "ge": lambda z: z >= z, "max": lambda z: z.max(),
    "max along": lambda z: z.max(0), "amin": lambda z: z.amin(), "argmax": lambda z: z.argmax(),
    "cummax": lambda z: z.cummax(0),
    "maximum": lambda z: ingot.maximum(z, z), "fmin": lambda z: ingot.fmin(z, z), "relu": F.relu, "gelu": F.gelu, "elu": F.elu,
    "leaky_relu": F.leaky_relu, "softplus": F.softplus, "mish": F.mish, "hardtanh": F.hardtanh,
    "softmax": lambda z: z.softmax(0), "log_softmax": lambda z: z.log_softmax(0), "round": lambda z: z.round(),
    "sign": lambda z: z.sign(), "erf": lambda z: z.erf(),
    "lgamma": lambda z: z.lgamma(), "digamma": lambda z: z.digamma(), "logit": lambda z: z.logit(), "sort": lambda z: z.sort(),
    "heaviside": lambda z: ingot.heaviside(z, z), "remainder": lambda z: z % 2, "floor_divide": lambda z: z // 2,
    "atan2": lambda z: ingot.atan2(z, z), "clip": lambda z: nn.utils.clip_grad_value_(with_gradient(z), 0.5),
}


def with_gradient(z):
    z = z.clone().requires_grad_()
    z.grad = z.detach().clone()
    return z


@pytest.mark.parametrize("size", [3, 70000])
@pytest.mark.parametrize("fn", ORDERED.values(), ids=ORDERED)
def test_unordered_parameters_are_refused(fn, size):
    with pytest.raises((TypeError, RuntimeError)):
        fn(ingot.view_as_complex(pairs(0, size)))


def test_layers_start_with_complex_weights():
    linear, conv = nn.Linear(3, 2, dtype=ingot.complex64), nn.Conv1d(3, 2, 1, dtype=ingot.complex64)
    for layer, x in ((linear, pairs(0, 4, 3)), (conv, pairs(0, 3, 4))):
        assert layer.weight.detach().imag.abs().min() > 0
        assert layer(ingot.view_as_complex(x).to(ingot.complex64)).dtype == ingot.complex64


def test_some_functions_take_both_parts():
    x, y = ingot.view_as_complex(pairs(0, 4)), ingot.view_as_complex(pairs(1, 4))
    assert F.l1_loss(x, y).item() == pytest.approx((x - y).abs().mean().item())
    z = ingot.view_as_complex(pairs(0, 4))
    assert ingot.float_power(z, 2).dtype == ingot.complex128 and ingot.allclose(ingot.float_power(z, 2), z * z)
    assert ingot.allclose(F.softsign(z), z / (1 + z.abs()))
