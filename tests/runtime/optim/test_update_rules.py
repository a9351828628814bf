"""Fused optimizer updates have the bits of operator-by-operator and traced updates."""

import itertools

import numpy as np
import pytest

import ingot
from ingot.runtime.core.storage import Storage
from ingot.runtime.optim import update_rules

ADAM = [dict(zip(("weight_decay", "amsgrad", "decoupled_weight_decay"), values))
        for values in itertools.product((0, 0.1), (False, True), (False, True))]
MOVES = ((0, 0, False), (0.9, 0, False), (0.9, 0.3, False), (0.9, 0, True))
SGD = [{"lr": 0.1, "weight_decay": decay, "momentum": momentum, "dampening": dampening, "nesterov": nesterov}
       for decay in (0, 0.01) for momentum, dampening, nesterov in MOVES]
OTHERS = [(name, {"lr": 0.02, "weight_decay": decay}) for name in ("RMSprop", "Adagrad", "Adadelta", "Adamax", "NAdam", "RAdam",
                                                                   "ASGD") for decay in (0, 0.1)]
OTHERS += [("RMSprop", {"alpha": 0.7, "eps": 1e-3}), ("RMSprop", {"alpha": 0.7, "eps": 1.0, "centered": True, "momentum": 0.8}),
           ("Adagrad", {"lr_decay": 0.3, "initial_accumulator_value": 0.2}), ("Rprop", {}),
           ("Rprop", {"etas": (0.3, 4.0), "step_sizes": (0.01, 0.03)}), ("ASGD", {"t0": 1, "lambd": 0.1}),
           ("NAdam", {"weight_decay": 0.1, "decoupled_weight_decay": True}),
           ("RAdam", {"betas": (0.5, 0.6), "decoupled_weight_decay": True, "weight_decay": 0.2})]
CASES = OTHERS + [("Adam", o) for o in ADAM] + [("AdamW", {"weight_decay": 0.05, "lr": 0.02})] + [("SGD", o) for o in SGD]
SHAPES = [(3, 5), (70,), (), (40, 33), (0, 4)]


def parameters(seed, dtype):
    """Return parameters of several shapes and layouts, each with a list of gradients."""
    rng = np.random.default_rng(seed)
    values = [rng.standard_normal(s).astype(dtype) for s in SHAPES] + [rng.standard_normal((6, 7)).astype(dtype).T]
    gradients = [[rng.standard_normal(v.shape).astype(dtype) for v in values] for _ in range(6)]
    return [ingot.from_numpy(v.copy("K")).requires_grad_() for v in values], gradients


def run(name, options, dtype, maximize=False):
    """Return parameters and state after some steps."""
    params, gradients = parameters(3, dtype)
    optimizer = getattr(ingot.optim, name)(params, **options, maximize=maximize)
    for step in gradients:
        for p, g in zip(params, step):
            p.grad = ingot.from_numpy(g)
        optimizer.step()
    state = [optimizer.state[p] for p in params]
    return [p.detach().numpy() for p in params] + [s[k].numpy() for s in state for k in sorted(s)]


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("name, options", CASES, ids=[f"{n}-{i}" for i, (n, _) in enumerate(CASES)])
def test_a_sweep_has_the_bits_of_operators(name, options, dtype, monkeypatch):
    swept = []
    monkeypatch.setattr(update_rules, "sweep_each", lambda *a, sweep=update_rules.sweep_each: (swept.append(1), sweep(*a)))
    got = run(name, options, dtype, maximize=True)
    assert swept
    monkeypatch.setattr(update_rules, "runs_fused", lambda group: False)
    want = run(name, options, dtype, maximize=True)
    assert len(got) == len(want)
    for number, (a, b) in enumerate(zip(got, want)):
        assert a.dtype == b.dtype and np.array_equal(a, b), f"{name} {options} array {number}"


@pytest.mark.parametrize("name, options", [("Adam", {"weight_decay": 0.1}), ("SGD", {"lr": 0.1, "momentum": 0.9}),
                                           *OTHERS])
def test_traced_steps_agree(name, options):
    def train(trace):
        ingot.manual_seed(0)
        model = ingot.nn.Linear(9, 4)
        optimizer = getattr(ingot.optim, name)(model.parameters(), **options)

        def step(x):
            optimizer.zero_grad()
            (model(x) ** 2).sum().backward()
            optimizer.step()

        step = ingot.jit.trace(step) if trace else step
        for seed in range(4):
            ingot.manual_seed(seed)
            step(ingot.randn(5, 9))
        return [p.detach().numpy() for p in model.parameters()]

    assert all(np.array_equal(a, b) for a, b in zip(train(False), train(True)))


def test_a_step_is_seen_as_a_write():
    p = ingot.ones(4, requires_grad=True)
    loss = (p * p).sum()
    loss.backward(retain_graph=True)
    optimizer = ingot.optim.Adam([p])
    before = p._storage.version if isinstance(p._storage, Storage) else 0
    optimizer.step()
    assert p._storage.version == before + 1
    with pytest.raises(RuntimeError, match="step"):
        loss.backward()


def test_low_precision_and_tensor_rates_go_by_operators():
    for p, lr in ((ingot.ones(4, dtype=ingot.bfloat16), 0.1), (ingot.ones(4), ingot.tensor(0.1))):
        p.requires_grad_()
        p.grad = ingot.ones_like(p)
        optimizer = ingot.optim.SGD([p], lr=0.1)
        optimizer.param_groups[0]["lr"] = lr
        assert not update_rules.runs_fused(optimizer.param_groups[0]) or not update_rules.have_same_layout(p, (p.grad,))
        optimizer.step()
        assert np.allclose(p.detach().float().numpy(), 0.9, atol=0.01)
