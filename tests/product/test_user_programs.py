"""Fragments of real user programs: each case is a few lines, with PyTorch's answer."""

import types

import numpy as np
import pytest

import ingot
from ingot import autograd, jit, nn, optim
from ingot.ir.errors import AutogradError
from random_programs import bits

F = nn.functional
SEED = 20


def normal(*shape, seed=SEED):
    return ingot.tensor(np.random.default_rng(seed).standard_normal(shape).astype("f"))


def positive(*shape):
    return normal(*shape).abs() + 0.1


# Results that are written in place although the operation that made them reads them for its gradient.

AFTERWARDS = {
    "max_pool": lambda x: F.max_pool2d(x, 2),
    "max_pool, a view of it": lambda x: F.max_pool2d(x, 2).flatten(1),
    "max_pool with indices": lambda x: F.max_pool2d(x, 2, return_indices=True)[0],
    "adaptive_max_pool": lambda x: F.adaptive_max_pool2d(x, 3),
    "division": lambda x: x / x.sum(),
    "normalize": lambda x: F.normalize(x, dim=1),
    "root": lambda x: x.abs() ** 0.5,
    "relu6": lambda x: F.relu6(x + 3),
    "hardtanh": lambda x: F.hardtanh(x),
    "softsign": lambda x: F.softsign(x),
    "sinc": lambda x: ingot.sinc(x),
    "erfinv": lambda x: ingot.erfinv(x.tanh() * 0.9),
    "cummax": lambda x: x.cummax(1)[0],
    "losses": lambda x: F.cross_entropy(x, ingot.zeros(2, 4, 4, dtype=ingot.int64), reduction="none"),
}
WRITES = {"mul_": lambda y: y.mul_(3), "relu_": lambda y: F.relu(y, inplace=True), "zero_": lambda y: y.zero_(),
          "part": lambda y: y.__setitem__(0, 0.5)}


@pytest.mark.parametrize(("write", "traced"), [*((w, False) for w in WRITES), ("part", True)])
@pytest.mark.parametrize("made", AFTERWARDS)
def test_operands_that_gradients_do_not_read_may_be_overwritten(made, write, traced):
    make, change = AFTERWARDS[made], WRITES[write]

    def in_place(x):
        y = make(x * 1)
        change(y)
        y.sum().backward()
        return y

    def apart(x):
        y = make(x * 1).clone()
        change(y)
        y.sum().backward()
        return y

    fn = jit.trace(in_place) if traced else in_place
    for seed in (1, 2, 3):
        a, b = normal(2, 3, 4, 4, seed=seed).requires_grad_(), normal(2, 3, 4, 4, seed=seed).requires_grad_()
        assert bits(fn(a)) == bits(apart(b)), seed
        assert bits(a.grad) == bits(b.grad), seed


def test_overwriting_what_a_rule_reads_is_an_error_where_it_is_in_pytorch():
    y = ingot.exp(normal(3).requires_grad_())
    y.mul_(2)
    with pytest.raises(AutogradError, match="exp saved a tensor"):
        y.sum().backward()


def test_pools_keep_their_indices_only():
    pooled = F.max_pool2d(normal(1, 1, 4, 4).requires_grad_(), 2)
    values, indices = pooled._node.source.saved[0]
    assert not hasattr(values, "strides") and indices.dtype == np.int64


def test_second_derivatives_through_an_overwritten_quotient():
    def gradients(write):
        x = positive(4).requires_grad_()
        y = x.exp() / x
        z = y * 1 if not write else y
        z = z.mul_(x.detach())
        first, = ingot.autograd.grad(z.sum(), x, create_graph=True)
        return first, ingot.autograd.grad(first.sum(), x)[0]

    for mine, yours in zip(gradients(True), gradients(False)):
        assert bits(mine) == bits(yours)


# Powers.


@pytest.mark.parametrize("exponent", [0, 1, 2, 3, 4, -1, -2, 0.5, 1.5, 3.0])
def test_gradients_of_powers_in_a_trace(exponent):
    def fn(x):
        first, = ingot.autograd.grad((x ** exponent).sin().sum(), x, create_graph=True)
        return first, ingot.autograd.grad((first * first).sum(), x)[0]

    x = positive(5).requires_grad_()
    traced = jit.trace(fn)
    for _ in range(3):
        assert [bits(t) for t in traced(x)] == [bits(t) for t in fn(x)]


def test_choices_by_python_truths_in_a_trace():
    traced = jit.trace(lambda x, c: ingot.where(ingot.tensor(c), x, 0.0) + ingot.where(ingot.tensor(not c), 1.0, x * x))
    for c in (True, False, True):
        x = normal(6)
        want = ingot.where(ingot.tensor(c), x, 0.0) + ingot.where(ingot.tensor(not c), 1.0, x * x)
        assert bits(traced(x, c)) == bits(want)


# Spellings of training loops.


def test_data_of_a_parameter_is_updated_in_place_in_a_trace():
    def run(step_of):
        w = normal(3, seed=1).requires_grad_()

        def step(x):
            w.grad = None
            loss = ((w * x).sum() - 1) ** 2
            loss.backward()
            w.data += -0.1 * w.grad
            w.data -= 0.01 * w.data
            return loss

        fn = step_of(step)
        return [bits(fn(normal(3, seed=i))) for i in range(5)] + [bits(w)]

    assert run(jit.trace) == run(lambda fn: fn)


def test_swapping_data_back_keeps_views():
    w = normal(4)
    view = w[:2]
    w.data += 1
    assert bits(view) == bits(w[:2]) and view._base is w


def test_grad_takes_only_inputs():
    x = normal(3).requires_grad_()
    g, = ingot.autograd.grad(outputs=(x ** 2).sum(), inputs=x, create_graph=True, retain_graph=True, only_inputs=True)
    assert bits(g) == bits(x.detach() * 2)
    with pytest.raises(AutogradError, match="only_inputs"):
        ingot.autograd.grad(x.sum(), x, only_inputs=False)


AVERAGES = {
    "mean": dict, "ema": lambda: {"multi_avg_fn": optim.swa_utils.get_ema_multi_avg_fn(0.9)},
    "ema of one": lambda: {"avg_fn": optim.swa_utils.get_ema_avg_fn(0.9)},
    "own": lambda: {"avg_fn": lambda mean, now, n: mean + (now - mean) / (n + 1)}, "buffers": lambda: {"use_buffers": True},
}


@pytest.mark.parametrize("kind", AVERAGES)
def test_averaged_models_are_traced_once(kind):
    def run(step_of):
        model = nn.Sequential(nn.Linear(3, 2), nn.BatchNorm1d(2))
        for i, p in enumerate(model.parameters()):
            nn.init.constant_(p, i + 0.5)
        averaged = optim.swa_utils.AveragedModel(model, **AVERAGES[kind]())

        def step(x):
            with ingot.no_grad():
                for p in model.parameters():
                    p.add_(x)
            averaged.update_parameters(model)
            return next(averaged.parameters()).sum()

        fn = step_of(step)
        return fn, [bits(fn(ingot.tensor(0.37 * i))) for i in range(8)] + [bits(t) for t in averaged.state_dict().values()]

    traced, got = run(jit.trace)
    assert got == run(lambda fn: fn)[1]
    assert traced.stats()["compiles"] <= 2, traced.stats()["misses"]


# Numbers that are not finite.


@pytest.mark.parametrize("name", ["logsumexp", "logcumsumexp"])
@pytest.mark.parametrize(("row", "hidden"), [([1.0, np.inf, 2.0], False), ([1.0, np.nan, 2.0], False),
                                             ([-np.inf, -np.inf], True), ([1.0, -np.inf, 2.0], True)])
def test_gradients_of_logsumexp_hide_no_infinity(name, row, hidden):
    x = ingot.tensor(row, requires_grad=True)
    getattr(ingot, name)(x, dim=0).sum().backward()
    assert bool(x.grad.isfinite().all()) is hidden
    if name == "logsumexp" and np.inf in row:
        assert x.grad.tolist()[0] == x.grad.tolist()[2] == 0


# Messages.


def test_a_trace_error_names_what_changed_in_few_words():
    model = nn.Linear(40, 30)
    checkpoint = {"history": [1, 2, {"loss": normal(50, 50)}], "model": model}

    def fn(x):
        checkpoint["history"][2]["loss"] = list(model.parameters())
        return x * 2

    try:
        jit.trace(fn)(normal(3))
    except jit.TraceError as e:
        assert len(str(e)) < 600 and "tensor(" not in str(e)


# Writes through `.data`, which are checked against nothing.

BETWEEN = {"a part of data": (lambda t: t.data.__setitem__((..., 0), 5.0), False),
           "data": (lambda t: t.data.mul_(2), False),
           "a view of data": (lambda t: t.data[1:].zero_(), False),
           "data, twice": (lambda t: (t.data.mul_(2), t.data.add_(1)), False),
           "detached": (lambda t: t.detach().mul_(2), True),
           "the tensor": (lambda t: t.mul_(2), True),
           "data, then the tensor": (lambda t: (t.data.mul_(2), t.mul_(2)), True),
           "the tensor, then data": (lambda t: (t.mul_(2), t.data.mul_(2)), True)}


@pytest.mark.parametrize("between", BETWEEN)
def test_writes_through_data_are_not_checked(between):
    """Solvers write columns of an array of which other columns were saved for gradients; PyTorch allows it, too."""
    write, is_checked = BETWEEN[between]
    x, scratch = normal(3, 2).requires_grad_(), normal(3, 2, seed=21)
    y = (x * scratch).sum()
    write(scratch)
    if is_checked:
        with pytest.raises(AutogradError, match="overwritten"):
            y.backward()
    else:
        y.backward()
        assert bits(x.grad) == bits(scratch)


class Put(autograd.Function):
    """Writes to a part of a tensor past the checks of what was saved for gradients."""

    @staticmethod
    def forward(ctx, scratch, value, at):
        ctx.at = at
        scratch.data[at] = value
        return scratch

    @staticmethod
    def backward(ctx, g):
        return g, g[ctx.at], None


def fills_columns(x):
    stages = Put.apply(ingot.empty(3, 3), x, (..., 0))
    for i in range(2):
        stages = Put.apply(stages, (stages[..., :i + 1] * x[0]).sum(-1).sin(), (..., i + 1))
    return (stages * stages).sum()


def overwrites_what_was_saved(x):
    y = x * 2
    z = (y * y).sum()
    BETWEEN["a view of data"][0](y)
    u = (y.exp() * y).sum()
    BETWEEN["data, twice"][0](y)
    z.backward(retain_graph=True)
    return z + u


def overwrites_what_a_function_saved(x):
    class Cube(autograd.Function):
        @staticmethod
        def forward(ctx, v):
            ctx.save_for_backward(v)
            return v ** 3

        @staticmethod
        def backward(ctx, g):
            return g * 3 * ctx.saved_tensors[0] ** 2

    y = x * 2
    z = Cube.apply(y).sum()
    y.data.mul_(3)
    return z


@pytest.mark.parametrize("outside", [False, True])
@pytest.mark.parametrize("fn", [fills_columns, overwrites_what_was_saved, overwrites_what_a_function_saved])
def test_recordings_read_what_was_written_through_data(fn, outside):
    def step(x):
        loss = fn(x)
        if not outside:
            loss.backward()
        return loss

    def run(call):
        seen = []
        for i in range(4):
            x = normal(3, seed=i).requires_grad_()
            loss = call(x)
            if outside:
                loss.backward()
            seen.append((bits(loss), bits(x.grad)))
        return seen

    traced = jit.trace(step)
    assert run(traced) == run(step)
    assert traced.stats()["compiles"] == 1


def test_recordings_check_what_was_written_otherwise():
    def fn(x, write):
        y = x * 2
        z = (y * y).sum()
        write(y)
        z.backward()

    for write, is_checked in BETWEEN.values():
        if is_checked:
            with pytest.raises(AutogradError, match="overwritten"):
                jit.trace(fn)(normal(3, 2).requires_grad_(), write)


def test_modules_made_within_a_traced_function_are_its_own():
    class Scaled(nn.Module):
        def __init__(self, inner, by):
            super().__init__()
            self.inner, self.by = inner, by

        def forward(self, x):
            self.calls = 1
            return self.inner(x) * self.by

    model = nn.Linear(3, 2)
    traced = jit.trace(lambda x: Scaled(model, 2.0)(x))
    for i in range(3):
        x = normal(4, 3, seed=i)
        assert bits(traced(x)) == bits(model(x) * 2.0)
        model.weight.data.add_(1)
    assert traced.stats()["compiles"] == 1


def test_numbers_are_kept_in_a_namespace():
    state = types.SimpleNamespace(alpha=0.5)

    def fn(x):
        y = x * state.alpha
        state.alpha = y.mean().exp().item()
        return y

    def run(step):
        state.alpha = 0.5
        return [bits(step(normal(3, seed=i))) for i in range(4)] + [state.alpha]

    traced = jit.trace(fn)
    assert run(traced) == run(fn)


@pytest.mark.parametrize("traced", [False, True])
def test_the_angle_of_a_vector_of_zeros_has_a_gradient_of_zeros(traced):
    def angles(v):
        ingot.atan2(v[:, 1], v[:, 0]).sum().backward()
        return v.grad

    v = ingot.tensor([[0.0, 0.0], [1.0, 1.0], [0.0, -2.0]], requires_grad=True)
    grad = (jit.trace(angles) if traced else angles)(v)
    assert grad.tolist() == [[0.0, 0.0], [-0.5, 0.5], [0.5, 0.0]]
