"""Python numbers that operators take and that differ between calls: eager bits, two recordings, one compilation for all."""

import math
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pytest

import ingot
from ingot import func, jit, nn, optim
from side_by_side import plain

F = nn.functional
T = ingot.Tensor
SLOPES = (0.1, 0.45, 0.7, 1.3, 2.5, 0.02)
KINDS = [ingot.bfloat16, *[pytest.param(d, marks=pytest.mark.slow) for d in (ingot.float16, ingot.float64)]]
PORTIONS = (0.1, 0.15, 0.3, 0.45, 0.05, 0.2)
SMALL = (1e-5, 1e-3, 2e-4, 0.1, 1e-6, 3e-2)
ORDERS = (1.5, 1.1, 2.5, 3.0, 4.7, 1.25)


def drawn(seed, *shape):
    return ingot.tensor(np.random.default_rng(seed).standard_normal(shape), dtype=ingot.float32)


@dataclass(frozen=True)
class Case:
    """A function of a tensor (of `shape`) and a number.

    compiles    how often it is recorded at most; `because` says why more than twice
    bound       whether what is compiled stays whole, so that each number is put in before it runs
    low         whether it takes 16-bit floats
    close       of contractions: how near results are, instead of bits
    """

    fn: Any
    values: tuple = SLOPES
    shape: tuple = (5, 7)
    compiles: int = 2
    because: str = ""
    bound: bool = False
    low: bool = True
    close: float = 0.0


def other(x):
    return drawn(5, *x.shape).to(x.dtype)


def labels(x):
    return ingot.arange(x.shape[0]) % x.shape[1]


def steady(x):
    """Positive numbers of which no two are close."""
    return x.abs() + 0.25


def statistics(x, momentum):
    mean, var = ingot.zeros(7, dtype=x.dtype), ingot.ones(7, dtype=x.dtype)
    return F.batch_norm(x, mean, var, training=True, momentum=momentum), mean, var


def filled_by(name, *args):
    """A method that fills a tensor; `None` among its arguments is the number."""
    return lambda x, v: x + getattr(ingot.empty_like(x).detach(), name)(*[v if a is None else a for a in args])


def with_column(x, v):
    y = x.clone()
    y[:, 1] = v
    return y


def attend(**more):
    """Attention with these options; the one that is None is the number."""
    def fn(x, v):
        said = {k: v if n is None else n for k, n in more.items()}
        return F.scaled_dot_product_attention(x, x + 1, x * 0.5, **said)

    return Case(fn, (0.2, 0.45, 0.3, 0.7, 0.11), (2, 3, 6, 8), close=1e-5)


CASES = {
    # activations
    "leaky_relu": Case(lambda x, v: F.leaky_relu(x, v)),
    "rrelu": Case(lambda x, v: F.rrelu(x, v, 3.0, training=False)),
    "rrelu in training": Case(lambda x, v: F.rrelu(x, v, 3.0, training=True)),
    "elu": Case(lambda x, v: F.elu(x, v)),
    "elu_": Case(lambda x, v: F.elu_(x.clone(), v)),
    "celu": Case(lambda x, v: F.celu(x, v)),
    "softplus beta": Case(lambda x, v: F.softplus(x, v)),
    "softplus threshold": Case(lambda x, v: F.softplus(x, 2.0, v)),
    "hardshrink": Case(lambda x, v: F.hardshrink(x, v)),
    "softshrink": Case(lambda x, v: F.softshrink(x, v)),
    "threshold": Case(lambda x, v: F.threshold(x, v, 0.5)),
    "threshold value": Case(lambda x, v: F.threshold(x, 0.5, v)),
    "hardtanh": Case(lambda x, v: F.hardtanh(x, -v, v)),
    "gumbel_softmax": Case(lambda x, v: F.gumbel_softmax(x, tau=v)),
    "gumbel_softmax, hard": Case(lambda x, v: F.gumbel_softmax(x, tau=v, hard=True)),
    "temperature": Case(lambda x, v: F.softmax(x / v, -1)),
    # limits and choices
    "clamp": Case(lambda x, v: x.clamp(-v, v)),
    "clamp min": Case(lambda x, v: x.clamp(min=v)),
    "clamp of integers": Case(lambda x, v: x * (x * 9).long().clamp(max=v), (1, 3, 5, 2, 4)),
    "nan_to_num": Case(lambda x, v: ingot.nan_to_num(x / (x > 0), nan=v, posinf=v, neginf=-v)),
    "where": Case(lambda x, v: ingot.where(x > v, v, x)),
    "masked_fill": Case(lambda x, v: x.masked_fill(x > 0, v)),
    "comparison": Case(lambda x, v: x * (x > v)),
    "isclose": Case(lambda x, v: x * ingot.isclose(x, other(x), atol=v)),
    "assigned": Case(with_column),
    "logit": Case(lambda x, v: ingot.logit(x.abs() / 4, eps=v), PORTIONS),
    # arithmetic
    "add alpha": Case(lambda x, v: ingot.add(x, other(x), alpha=v)),
    "sub alpha": Case(lambda x, v: ingot.sub(x, other(x), alpha=v)),
    "add_ alpha": Case(lambda x, v: x.clone().add_(other(x), alpha=v)),
    "addcmul": Case(lambda x, v: ingot.addcmul(x, x, other(x), value=v)),
    "addcdiv": Case(lambda x, v: ingot.addcdiv(x, other(x), steady(x), value=v)),
    "addmm": Case(lambda x, v: ingot.addmm(x, x[:, :5], other(x), beta=v, alpha=v), low=False, close=1e-5),
    "lerp": Case(lambda x, v: ingot.lerp(x, other(x), v), (0.1, 0.2, 0.45, 0.6, 0.9, 0.3), compiles=3,
                 because="from the nearer end"),
    "fmod": Case(lambda x, v: ingot.fmod(x, v)),
    "remainder": Case(lambda x, v: x % v),
    "remainder of a number": Case(lambda x, v: ingot.remainder(v, steady(x))),
    "floor division": Case(lambda x, v: x * 0.5 + x // v),
    "quotient of a number": Case(lambda x, v: v / steady(x)),
    "pow": Case(lambda x, v: steady(x) ** v),
    "pow of a number": Case(lambda x, v: v ** x),
    "float_power": Case(lambda x, v: ingot.float_power(steady(x), v)),
    "xlogy": Case(lambda x, v: ingot.xlogy(x, v)),
    "atan2": Case(lambda x, v: ingot.atan2(x, ingot.full_like(x, v))),
    "copysign": Case(lambda x, v: ingot.copysign(x, v)),
    "trapezoid": Case(lambda x, v: ingot.trapezoid(x, dx=v)),
    # losses
    "huber_loss": Case(lambda x, v: F.huber_loss(x, other(x), delta=v)),
    "smooth_l1_loss": Case(lambda x, v: F.smooth_l1_loss(x, other(x), beta=v)),
    "label smoothing": Case(lambda x, v: F.cross_entropy(x, labels(x), label_smoothing=v), PORTIONS),
    "label smoothing of portions": Case(lambda x, v: F.cross_entropy(x, other(x).softmax(1), label_smoothing=v), PORTIONS),
    "triplet margin": Case(lambda x, v: F.triplet_margin_loss(x, other(x), x.flip(0), margin=v)),
    "margin_ranking_loss": Case(lambda x, v: F.margin_ranking_loss(x, other(x), x.detach().sign(), margin=v)),
    "hinge_embedding_loss": Case(lambda x, v: F.hinge_embedding_loss(x, other(x).sign(), margin=v)),
    "cosine_embedding_loss": Case(lambda x, v: F.cosine_embedding_loss(x, other(x), labels(x) % 2 * 2 - 1, margin=v), PORTIONS),
    "multi_margin_loss": Case(lambda x, v: F.multi_margin_loss(x, labels(x), margin=v)),
    "gaussian_nll_loss": Case(lambda x, v: F.gaussian_nll_loss(x, other(x), steady(x), eps=v)),
    "distillation": Case(lambda x, v: F.kl_div((x / v).log_softmax(1), (other(x) / v).softmax(1), reduction="sum") * v * v),
    # norms
    "layer_norm": Case(lambda x, v: F.layer_norm(x, (7,), eps=v), SMALL),
    "layer_norm with weights": Case(lambda x, v: F.layer_norm(x, (7,), other(x)[0], other(x)[1], eps=v), SMALL),
    "rms_norm": Case(lambda x, v: F.rms_norm(x, (7,), eps=v), SMALL),
    "group_norm": Case(lambda x, v: F.group_norm(x, 1, eps=v), SMALL),
    "instance_norm": Case(lambda x, v: F.instance_norm(x, eps=v), SMALL, (2, 3, 5)),
    "batch_norm": Case(lambda x, v: F.batch_norm(x, None, None, training=True, eps=v), SMALL, bound=True),
    "batch_norm momentum": Case(statistics, PORTIONS),
    "local_response_norm": Case(lambda x, v: F.local_response_norm(x, 2, alpha=v), SMALL, (2, 3, 5)),
    "normalize": Case(lambda x, v: F.normalize(x, eps=v)),
    "normalize by an order": Case(lambda x, v: F.normalize(x, p=v), ORDERS),
    "norm": Case(lambda x, v: x.norm(v), ORDERS),
    "vector_norm": Case(lambda x, v: ingot.linalg.vector_norm(x, v, dim=1), ORDERS),
    "cdist": Case(lambda x, v: ingot.cdist(x, other(x), p=v), ORDERS),
    "pairwise_distance": Case(lambda x, v: F.pairwise_distance(x, other(x), p=v), ORDERS),
    "renorm": Case(lambda x, v: ingot.renorm(x, 2, 0, v)),
    "cosine_similarity": Case(lambda x, v: F.cosine_similarity(x, other(x), eps=v)),
    "var": Case(lambda x, v: x.var(correction=v), PORTIONS),
    # random numbers
    "dropout": Case(lambda x, v: F.dropout(x, v), PORTIONS),
    "dropout of nearly all": Case(lambda x, v: F.dropout(x, v), (0.5, 0.99, 1 - 2.0 ** -33, 1e-12, 0.25)),
    "alpha_dropout": Case(lambda x, v: F.alpha_dropout(x, v, training=True), PORTIONS),
    "dropout of channels": Case(lambda x, v: F.dropout2d(x, v), PORTIONS, (2, 3, 4, 4)),
    "normal_ mean": Case(filled_by("normal_", None, 1.0)),
    "normal_ deviation": Case(filled_by("normal_", 0.0, None)),
    "uniform_": Case(filled_by("uniform_", -1.0, None)),
    "bernoulli_": Case(filled_by("bernoulli_", None), PORTIONS),
    "exponential_": Case(filled_by("exponential_", None)),
    "geometric_": Case(filled_by("geometric_", None), PORTIONS),
    "cauchy_": Case(filled_by("cauchy_", 0.0, None)),
    "log_normal_": Case(filled_by("log_normal_", 0.0, None)),
    "trunc_normal_": Case(lambda x, v: x * nn.init.trunc_normal_(ingot.empty(5, 7), 0.0, 1.0, -v, v), low=False),
    # what is made of numbers
    "full": Case(lambda x, v: x * ingot.full((5, 7), v, dtype=x.dtype)),
    "tensor": Case(lambda x, v: x * ingot.tensor(v)),
    "linspace": Case(lambda x, v: x * ingot.linspace(0, v, 7)),
    "linspace from": Case(lambda x, v: x * ingot.linspace(v, 7.0, 7)),
    "logspace": Case(lambda x, v: x * ingot.logspace(0, v, 7)),
    "arange": Case(lambda x, v: x * ingot.arange(v, v + 6.5)),
    "arange by steps": Case(lambda x, v: x * ingot.arange(0.0, 6.5 * v, v)),
    "pad": Case(lambda x, v: F.pad(x, (1, 2), value=v)),
    "quantile": Case(lambda x, v: ingot.quantile(x, v, dim=1), PORTIONS, low=False),
    "nanquantile": Case(lambda x, v: ingot.nanquantile(x, v), PORTIONS, low=False),
    "searchsorted": Case(lambda x, v: x * ingot.searchsorted(other(x)[0].sort()[0], v)),
    "histc": Case(lambda x, v: x.sum() + ingot.histc(x, 5, -v, v)),
    # contractions, whose scale goes to the queries
    "attention": attend(scale=None),
    "attention, causal": attend(scale=None, is_causal=True),
    "attention with a mask": attend(scale=None, attn_mask=drawn(3, 6, 6) > -1),
    "attention with dropout": attend(dropout_p=None),
}


def arguments(case, kind, requires_grad):
    x = drawn(0, *case.shape).to(kind)
    return x.requires_grad_() if requires_grad else x


def compare(case, step, kind, requires_grad):
    """Calls both on all values; returns the traced one."""
    traced = jit.trace(step)
    for i, v in enumerate(case.values):
        ingot.manual_seed(i)
        want = step(arguments(case, kind, requires_grad), v)
        ingot.manual_seed(i)
        got = traced(arguments(case, kind, requires_grad), v)
        if case.close:
            for w, g in zip(want, got):
                bound = case.close * float(w.float().abs().max()) if kind is ingot.float32 else 2e-2
                assert w.dtype is g.dtype and ingot.allclose(g.float(), w.float(), rtol=0, atol=bound), (v, w, g)
        else:
            assert plain(got) == plain(want), f"value {v}: {got} is to be {want}"
    return traced


def listed(x):
    return x if isinstance(x, tuple) else (x,)


def gradient_inside(case):
    def step(x, v):
        out = listed(case.fn(x, v))
        return *out, ingot.autograd.grad((out[0] * out[0]).sum(), x)[0]

    return step


def check_work(case, traced):
    """Few recordings, one compilation, and nothing made anew for a number unless it must be put in."""
    assert traced.stats()["compiles"] <= case.compiles, traced.stats()["misses"]
    for job in traced._jobs():
        assert len(getattr(job, "variants", ())) <= 1
        assert case.bound or getattr(job, "bindings", 0) <= 1


@pytest.mark.drawn
@pytest.mark.parametrize("name", CASES)
def test_numbers_of_each_call(name):
    case = CASES[name]
    check_work(case, compare(case, lambda x, v: listed(case.fn(x, v)), ingot.float32, False))


@pytest.mark.drawn
@pytest.mark.parametrize("name", CASES)
def test_gradients_of_numbers_of_each_call(name):
    case = CASES[name]
    check_work(case, compare(case, gradient_inside(case), ingot.float32, True))


@pytest.mark.drawn
@pytest.mark.parametrize("kind", KINDS, ids=str)
@pytest.mark.parametrize("name", CASES)
def test_numbers_beside_other_floats(name, kind):
    """A lower precision takes the number that it has itself."""
    case = CASES[name]
    if case.low or kind is ingot.float64:
        compare(case, gradient_inside(case), kind, True)


@pytest.mark.parametrize("kind", [np.float64, np.float32])
@pytest.mark.parametrize("name", ["dropout", "elu", "hardtanh", "huber_loss", "layer_norm", "pad", "quantile", "uniform_"])
def test_numbers_of_numpy(name, kind):
    case = CASES[name]
    traced = compare(replace(case, values=tuple(map(kind, case.values))), gradient_inside(case), ingot.float32, True)
    check_work(case, traced)


@pytest.mark.parametrize("fn", [
    lambda x, n: F.leaky_relu(x, n), lambda x, n: x.clamp(-n, n), lambda x, n: x * ingot.full((7,), n), lambda x, n: x % n,
    lambda x, n: F.pad(x, (1, 1), value=n), lambda x, n: F.huber_loss(x * 9, x, delta=n),
    lambda x, n: x * n + (x * 9).long() * n])
def test_whole_numbers(fn):
    case = Case(fn, (2, 3, 5, 4, 7, 6))
    check_work(case, compare(case, gradient_inside(case), ingot.float32, True))


def second_order(fn):
    def step(x, v):
        first, = ingot.autograd.grad((fn(x, v) * x).sum(), x, create_graph=True)
        return first, ingot.autograd.grad((first * first).sum(), x)[0]

    return step


def by_samples(fn):
    return lambda x, v: func.vmap(func.grad(lambda row: (fn(row[None], v) * row).sum()))(x.detach())


def in_low_precision(fn):
    def step(x, v):
        with ingot.autocast("cpu", dtype=ingot.bfloat16):
            return fn(x @ x.T @ x, v).detach()

    return step


@pytest.mark.parametrize("how", [second_order, by_samples, in_low_precision])
@pytest.mark.parametrize("name", ["leaky_relu", "elu", "hardtanh", "huber_loss", "layer_norm", "group_norm", "vector_norm",
                                  "fmod", "pow", "rms_norm"])
def test_numbers_in_transformed_functions(name, how):
    case = CASES[name]
    step = how(lambda x, v: listed(case.fn(x, v))[0].sum())
    assert compare(case, lambda x, v: listed(step(x, v)), ingot.float32, True).stats()["compiles"] == 2


@pytest.mark.parametrize("name", ["elu", "quotient of a number", "dropout", "huber_loss", "layer_norm", "label smoothing"])
def test_backward_after_the_call(name):
    """Large enough for compiled gradient rules; the call that is recorded has a history of its own."""
    case = CASES[name]
    traced, data = jit.trace(case.fn), drawn(9, 490, 80)
    for i, v in enumerate(case.values):
        found = []
        for fn in (case.fn, traced):
            x = data.clone().requires_grad_()
            ingot.manual_seed(i)
            out = fn(x.view(-1, 7), v)
            found.append([plain(ingot.autograd.grad(out.sum(), x, retain_graph=True)[0]) for _ in range(3)])
        assert found[0] == found[1], v
    assert traced.stats()["compiles"] == 2


def test_special_values_are_recordings_of_their_own():
    """No dropout at all is other work; so is all of it."""
    traced = jit.trace(lambda x, p: F.dropout(x, p))
    x = drawn(1, 40, 9)
    for i, p in enumerate((0.2, 0.0, 0.3, 1.0, 0.4, 0.0, 1.0, 0.45, 0.6)):
        ingot.manual_seed(i)
        want = F.dropout(x, p)
        ingot.manual_seed(i)
        assert plain(traced(x, p)) == plain(want), p
    assert traced.stats()["compiles"] <= 4
    with pytest.raises(ingot.IngotError, match="within 0 and 1"):
        traced(x, 1.5)


def test_orders_for_which_other_work_is_compiled():
    """Conditions of a body on a number: code for each answer, and recordings for infinities."""
    traced, x = jit.trace(lambda x, ord: ingot.linalg.vector_norm(x, ord, dim=1)), drawn(1, 40, 9)
    for ord in (1.5, 2.5, 2.0, 3.0, 1.0, 2.0, math.inf, 1.25, 1.0, 2.0, -math.inf, 4.0, math.inf):
        assert plain(traced(x, ord)) == plain(ingot.linalg.vector_norm(x, ord, dim=1)), ord
    assert traced.stats()["compiles"] <= 4
    assert max(len(getattr(job, "variants", ())) for job in traced._jobs()) <= 5


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.body = nn.Sequential(nn.Linear(5, 7), nn.LeakyReLU(), nn.LayerNorm(7), nn.Dropout(0.1), nn.Linear(7, 3))
        self.tau = 1.0

    def forward(self, x):
        return self.body(x) / self.tau


OPTIONS = {
    "momentum": (lambda p: optim.SGD(p, 0.1, momentum=0.9), lambda net, opt, v: opt.param_groups[0].update(momentum=v)),
    "weight decay": (lambda p: optim.AdamW(p, 0.1), lambda net, opt, v: opt.param_groups[0].update(weight_decay=v)),
    "betas": (lambda p: optim.Adam(p, 0.1), lambda net, opt, v: opt.param_groups[0].update(betas=(v, 0.99))),
    "rho": (lambda p: optim.Adadelta(p, 0.1), lambda net, opt, v: opt.param_groups[0].update(rho=v)),
    "dropout": (lambda p: optim.SGD(p, 0.1), lambda net, opt, v: setattr(net.body[3], "p", v)),
    "slope": (lambda p: optim.SGD(p, 0.1), lambda net, opt, v: setattr(net.body[1], "negative_slope", v)),
    "eps": (lambda p: optim.SGD(p, 0.1), lambda net, opt, v: setattr(net.body[2], "eps", v)),
    "temperature": (lambda p: optim.SGD(p, 0.1), lambda net, opt, v: setattr(net, "tau", v)),
    "limit of gradients": (lambda p: optim.SGD(p, 0.1), lambda net, opt, v: opt.limits.update(norm=v)),
    "decay of an average": (lambda p: optim.SGD(p, 0.1), lambda net, opt, v: opt.limits.update(decay=v)),
}


@pytest.mark.parametrize("name", OPTIONS)
def test_options_of_a_training_step_that_a_schedule_changes(name):
    make, change = OPTIONS[name]
    found = []
    for wrap in (lambda f: f, jit.trace):
        ingot.manual_seed(0)
        net = Net()
        opt = make(net.parameters())
        opt.limits = {"norm": 1.0, "decay": 0.9}
        means = [p.detach().clone() for p in net.parameters()]

        def step(x, y, net=net, opt=opt, means=means):
            opt.zero_grad()
            loss = F.cross_entropy(net(x), y)
            loss.backward()
            nn.utils.clip_grad_norm_(net.parameters(), opt.limits["norm"])
            opt.step()
            with ingot.no_grad():
                for mean, p in zip(means, net.parameters()):
                    mean.lerp_(p, 1 - opt.limits["decay"])
            return loss.item()

        run = wrap(step)
        for i, v in enumerate(PORTIONS):
            change(net, opt, v if name != "decay of an average" else 1 - v)
            ingot.manual_seed(i)
            found.append(run(drawn(2, 8, 5), ingot.arange(8) % 3))
        found.append(plain([*net.parameters(), *means]))
    half = len(found) // 2
    assert found[:half] == found[half:]
    assert run.stats()["compiles"] <= 2, run.stats()["misses"]
