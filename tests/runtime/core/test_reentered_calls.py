"""Calls inside of `Mode.run`: there a signal handler, or a finaliser, uses tensors in the middle of an operator."""

import gc
import io
import itertools
import signal
import time

import numpy as np
import pytest

import ingot
from ingot import jit, nn
from ingot.runtime.cpu.memory import alloc
from ingot.runtime.state.mode import tls
from interrupts import called_inside_of_locks
from tests.runtime.memo.test_call_memo import CASES, arguments_of, outcome, seed_of


@pytest.mark.drawn
@pytest.mark.parametrize("fn, call", CASES)
def test_functions_give_the_same_inside_of_an_operator(fn, call):
    for i in range(4):
        args, keywords = arguments_of(call, np.random.default_rng(seed_of(fn) + i))
        expected = outcome(fn.__wrapped__, args, keywords)
        assert tls.m.run(outcome, fn, args, keywords) == expected
        assert tls.m.run(outcome, fn.__wrapped__, args, keywords) == expected


def trained(x):
    net, y = nn.Sequential(nn.Linear(3, 3), nn.BatchNorm1d(3), nn.ReLU(), nn.Linear(3, 1)), []
    optimizer = ingot.optim.Adam(net.parameters(), fused=False)
    for _ in range(3):
        optimizer.zero_grad()
        loss = (net(x) ** 2).mean()
        loss.backward()
        nn.utils.clip_grad_norm_(net.parameters(), 0.1)
        optimizer.step()
        y.append(loss.detach())
    return y


def saved(x):
    file = io.BytesIO()
    ingot.save({"x": x}, file)
    file.seek(0)
    return ingot.load(file)["x"]


TRACED = jit.trace(lambda x: (x.sin() * 2).sum() + x.mean())
PROGRAMS = {
    "in place": lambda x: x.clone().add_(1.0).mul_(x).fill_(2.0).copy_(x).clamp_(0, 0.5).zero_().add_(x, alpha=2).exp_(),
    "operators": lambda x: 1.0 - x + 2 * x / (x + 3.0) ** 2 // 0.1 % 0.7,
    "items": lambda x: set_items(x.clone()), "ones": lambda x: ingot.eye(3) + ingot.full((3,), 2.0) + ingot.arange(3),
    "draws": lambda x: (ingot.manual_seed(0), ingot.rand(3), ingot.randn(3), nn.init.trunc_normal_(x.clone()))[1:],
    "training": trained, "a trace": lambda x: [TRACED(x + i) for i in range(4)], "a file": saved,
    "sorting": lambda x: (x.sort(), x.unique(), x.median(), x.topk(2), x.argsort()),
    "second derivatives": lambda x: ingot.autograd.functional.hessian(lambda v: (v ** 3).sum(), x[0]),
}


def set_items(x):
    x[1:3] = 2.0
    x[x > 1] = 3.0
    x[x > 1] = ingot.arange(float((x > 1).sum().item()))
    x[:, 0] = x[:, 1]
    x[[0, 2]] = 5.0
    return x


def plain(x):
    return x.tolist() if isinstance(x, ingot.Tensor) else [plain(v) for v in x] if isinstance(x, (list, tuple)) else x


@pytest.mark.parametrize("row", PROGRAMS)
def test_programs_do_the_same_inside_of_an_operator(row):
    def run():
        ingot.manual_seed(3)
        return plain(PROGRAMS[row](ingot.rand(4, 3)))

    assert tls.m.run(run) == run()


def test_a_signal_handler_may_use_tensors():
    """37 % of the handlers raised an error here before."""
    weight, seen = ingot.ones(2), {"handled": 0}

    def handle(*args):
        weight.add_(1.0)
        seen["handled"] += (ingot.full((3,), 2.0).sum() + saved(weight).mean()).item() == 7.0 + seen["handled"] + 1

    before = signal.signal(signal.SIGALRM, handle)
    try:
        net, end = nn.Sequential(nn.Linear(4, 4), nn.ReLU(), nn.Linear(4, 1)), time.monotonic() + 30
        optimizer = ingot.optim.SGD(net.parameters(), lr=0.1)
        while seen["handled"] < 30 and time.monotonic() < end:
            signal.setitimer(signal.ITIMER_REAL, 0.0005)
            for _ in range(4):
                optimizer.zero_grad()
                (net(ingot.ones(2, 4)) ** 2).mean().backward()
                optimizer.step()
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
    assert weight.tolist() == [1.0 + seen["handled"]] * 2
    assert seen["handled"] == 30


def uses_all(draw):
    """Use storages, the heap, the compiler, and the number of threads, as a handler may that comes while they are changed."""
    x = ingot.ones(3) * draw
    assert (x.numpy().sum() + x[1:].sum().item(), ingot.zeros(1 << 18).add_(1.0)[-1].item()) == (5.0 * draw, 1.0)
    traced = jit.trace(lambda x: (x * draw).sin() + draw)
    assert traced(x).shape == traced(x + 1).shape == (3,)
    ingot.set_num_threads(ingot.get_num_threads())
    alloc.empty_cache()


def cold(x):
    """Take memory that the heap has not, and compile code that no cache has."""
    factor = next(FRESH)
    large = ingot.zeros((1 << 18) + 8 * int(factor)).add_(1.0)
    traced = jit.trace(lambda x: (x * factor).exp() - factor)
    return large[-1], traced(x * 0), traced(x * 0) * 0 + x


FRESH = itertools.count(0.25, 0.25)
MORE_PROGRAMS = PROGRAMS | {"cold": lambda x: [y * 0 if i else y for i, y in enumerate(cold(x))]}


@pytest.mark.timeout(60)
@pytest.mark.parametrize("row", MORE_PROGRAMS)
def test_a_handler_may_use_tensors_while_its_thread_holds_a_lock(row):
    """Otherwise it waits for its own thread, for ever."""
    def run():
        ingot.manual_seed(3)
        return plain(MORE_PROGRAMS[row](ingot.rand(4, 3)))

    def work():
        state = ingot.get_rng_state()
        uses_all(next(FRESH))
        ingot.set_rng_state(state)

    expected = run()
    result, number = called_inside_of_locks(run, work)
    assert result == expected and (number > 10 or row != "cold")


def test_a_finaliser_may_use_tensors():
    weight = ingot.ones(2)

    class Held:
        def __del__(self):
            weight.add_(1.0)

    def frees(x):
        cycle = Held()
        cycle.me = cycle
        del cycle
        gc.collect()
        return x

    for _ in range(5):
        tls.m.run(frees, 1)
    assert weight.tolist() == [6.0, 6.0]
