"""Writes of users inside of traced training steps: `.data`, learning rates, schedules."""

import copy

import pytest

import ingot
from ingot import jit, nn, optim
from side_by_side import numbers, plain, vec

L = optim.lr_scheduler


def train(wrap, prepare, calls=10):
    ingot.manual_seed(3)
    net = nn.Linear(3, 2)
    step, look = prepare(net)
    step, got = wrap(step), []
    for i in range(calls):
        x = ingot.arange(6, dtype=ingot.float32).view(2, 3) / (i + 1)
        got.append((plain(step(x, 0.1 / (i + 1)).detach()), numbers(look()), [plain(p.detach()) for p in net.parameters()]))
    return got, step


def fit(net, opt, x):
    opt.zero_grad()
    loss = ((net(x) - 1) ** 2).mean()
    loss.backward()
    opt.step()
    return loss


def rate_as_an_argument(net):
    opt = optim.SGD(net.parameters(), lr=1.0, momentum=0.9)

    def step(x, lr):
        for group in opt.param_groups:
            group["lr"] = lr * 0.5
        return fit(net, opt, x)
    return step, lambda: opt.param_groups[0]["lr"]


def rate_of_adam_as_a_constant(net):
    opt = optim.AdamW(net.parameters(), lr=1.0)

    def step(x, lr):
        for group in opt.param_groups:
            group["lr"] = 0.01
        return fit(net, opt, x)
    return step, lambda: opt.param_groups[0]["lr"]


def rates_of_several(net):
    class Trainer:
        def __init__(self):
            self.optimizers = [optim.SGD([p], lr=1.0) for p in net.parameters()]

        def step(self, x, lr):
            loss = ((net(x) - 1) ** 2).mean()
            for o in self.optimizers:
                o.zero_grad()
            loss.backward()
            for o in self.optimizers:
                for group in o.param_groups:
                    group["lr"] = lr * 2
                o.step()
            return loss
    trainer = Trainer()
    return trainer.step, lambda: [o.param_groups[0]["lr"] for o in trainer.optimizers]


def rate_after_the_step(net):
    opt = optim.SGD(net.parameters(), lr=0.1)

    def step(x, lr):
        loss = fit(net, opt, x)
        opt.param_groups[0]["lr"] *= 0.9
        return loss
    return step, lambda: opt.param_groups[0]["lr"]


def momentum_encoder(net):
    slow, opt = copy.deepcopy(net).requires_grad_(False), optim.SGD(net.parameters(), lr=0.1)

    def step(x, lr):
        with ingot.no_grad():
            for q, k in zip(net.parameters(), slow.parameters()):
                k.data = k.data * 0.9 + q.data * 0.1
        return fit(net, opt, x) + slow(x).mean()
    return step, lambda: [p.clone() for p in slow.parameters()]


def data_of_what_was_stepped(net):
    opt = optim.SGD(net.parameters(), lr=0.1)
    olds: list = []

    def step(x, lr):
        loss = fit(net, opt, x)
        for p in net.parameters():
            p.data = p.data * 0.99
        return loss

    def look():
        olds.append(net.weight.detach())
        return [o.clone() for o in olds]
    return step, look


def data_shared_with_another(net):
    other = nn.Linear(3, 2)

    def step(x, lr):
        other.weight.data = net.weight.data
        with ingot.no_grad():
            net.weight.mul_(0.9)
        return (other(x) ** 2).mean()
    return step, lambda: other.weight.detach().clone()


def data_swapped(net):
    other = nn.Linear(3, 2)

    def step(x, lr):
        a, b = net.weight.data, other.weight.data
        net.weight.data, other.weight.data = b, a
        return (other(x) - net(x)).mean()
    return step, lambda: other.weight.detach().clone()


@pytest.mark.parametrize("prepare, most", [
    (rate_as_an_argument, 4), (rates_of_several, 4),
    (rate_of_adam_as_a_constant, 4), (rate_after_the_step, 4), (momentum_encoder, 2),
    (data_of_what_was_stepped, 2), (data_shared_with_another, 3), (data_swapped, 2)],
    ids=lambda v: getattr(v, "__name__", ""))
def test_training_steps_that_write(prepare, most):
    want, _ = train(lambda f: f, prepare)
    got, traced = train(jit.trace, prepare)
    for i, (a, b) in enumerate(zip(got, want)):
        assert a == b, i
    assert traced.stats()["compiles"] <= most, traced.stats()["misses"]


SCHEDULES = {
    "exponential": lambda o: L.ExponentialLR(o, 0.9), "cosine": lambda o: L.CosineAnnealingLR(o, 5),
    "plateau": lambda o: L.ReduceLROnPlateau(o, patience=0, factor=0.5, threshold=0.5),
    "sequence": lambda o: L.SequentialLR(o, [L.LinearLR(o, 0.1, total_iters=3), L.CosineAnnealingLR(o, 5)], [3]),
    "restarts": lambda o: L.CosineAnnealingWarmRestarts(o, 3), "cycle": lambda o: L.OneCycleLR(o, max_lr=0.1, total_steps=20),
    "lambda": lambda o: L.LambdaLR(o, lambda s: 0.9 ** s),
    "chained": lambda o: L.ChainedScheduler([L.ExponentialLR(o, 0.9), L.StepLR(o, 2)])}


@pytest.mark.parametrize("name", SCHEDULES)
@pytest.mark.parametrize("optimizer", [optim.SGD, optim.AdamW])
def test_a_schedule_inside_steps_at_every_call(name, optimizer):
    def prepare(net):
        opt = optimizer(net.parameters(), lr=0.1)
        schedule = SCHEDULES[name](opt)

        def step(x, lr):
            loss = fit(net, opt, x)
            schedule.step(*([loss] if name == "plateau" else []))
            return loss
        return step, lambda: (opt.param_groups[0]["lr"], schedule.get_last_lr())
    want, _ = train(lambda f: f, prepare)
    got, traced = train(jit.trace, prepare)
    for i, (a, b) in enumerate(zip(got, want)):
        assert a == b, i
    assert traced.stats()["compiles"] <= 3, traced.stats()["misses"]


@pytest.mark.parametrize("new", [lambda p: ingot.zeros(5), lambda p: p.data.double(), lambda p: p.data.t().contiguous().t()])
def test_data_of_another_kind(new):
    """It is refused for a parameter."""
    def life(wrap):
        p, got = ingot.ones(3, 2), []

        def fn(x):
            p.data = new(p)
            return x * 2 + p.sum()
        fn = wrap(fn)
        for _ in range(4):
            try:
                got.append((plain(fn(vec())), plain(p), p.stride()))
            except jit.TraceError as e:
                assert "is a view" in str(e)        # which it is from the call before on
                got.append(None)
        return got
    assert all(a is None or a == b for a, b in zip(life(jit.trace), life(lambda f: f)))
    weight = nn.Parameter(ingot.ones(3, 2))

    def fn(x):
        weight.data = new(weight)
        return x
    with pytest.raises(jit.TraceError, match=r"sets \.data"):
        jit.trace(fn)(vec())


@pytest.mark.parametrize("is_inside", [True, False])
def test_gradients_after_data_was_set(is_inside):
    def life(wrap):
        ingot.manual_seed(1)
        net, got = nn.Linear(3, 2), []
        opt = optim.SGD(net.parameters(), lr=0.1)

        def step(x):
            for p in net.parameters():
                p.data = p.data.clamp(-0.3, 0.3)
            loss = (net(x) ** 2).mean()
            if is_inside:
                opt.zero_grad()
                loss.backward()
                opt.step()
            return loss
        step = wrap(step)
        for i in range(6):
            kept = net.weight.detach()
            loss = step(ingot.arange(6, dtype=ingot.float32).view(2, 3) / (i + 1))
            if not is_inside:
                opt.zero_grad()
                loss.backward()
                opt.step()
            got.append((plain(loss.detach()), plain(net.weight.detach()), plain(net.weight.grad), plain(kept)))
        return got
    assert life(jit.trace) == life(lambda f: f)


def test_data_on_one_branch():
    p = ingot.zeros(3)

    def fn(x):
        if x.sum() > 5:
            p.data = p.data + x
        return p * 2
    traced, q = jit.trace(fn), []
    for i in range(8):
        before = p.clone()
        got = plain(traced(vec(1.0 * i, 1.0, 1.0)))
        after = p.clone()
        p.data = before
        assert got == plain(fn(vec(1.0 * i, 1.0, 1.0))) and plain(after) == plain(p)
        q.append(plain(p))
    assert len(set(q)) > 2
