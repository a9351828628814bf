"""Printing in traced functions: every call prints the eager text, in as few recordings as the branches need."""

import contextlib
import io
import logging
import random

import pytest

import ingot
from ingot import jit

LOG: list = []


def total(x):
    return (x * x).sum()


def kept(x, i):
    text = f"{total(x).item():.3f}"
    print(text)
    LOG.append(text)
    del LOG[:]


def own_print(x, i, print=LOG.append):
    print(f"{total(x).item()}")
    del LOG[:]


def in_branches(x, i):
    if i % 2:
        print(f"odd {i} {total(x).item():.2f}")
    elif i > 3:
        print(f"even {i}", total(x).item())


def in_a_loop(x, i):
    for k in range(2):
        print(f"{k} of {i}: {x[k].item():+.3f}")


def in_a_comprehension(x, i):
    print(f"{[round(v, 2) for v in x.tolist()]} {i}")


# (what prints a tensor and a number, how many recordings are enough for 8 calls; None where each has its own)
PRINTS = [
    (lambda x, i: print(f"{total(x).item()}"), 1), (lambda x, i: print(f"loss {total(x).item():.3f} at"), 1),
    (lambda x, i: print(f"step {i}: {total(x).item():>12.4e}!", end="|\n"), 2), (lambda x, i: print(f"{i:03d}", i, f"{i}"), 2),
    (lambda x, i: print(f"{total(x)}", f"{total(x):.3f}", f"{x}", x), 1), (lambda x, i: print(f"{i / 3:.2f} {i * 0.1}"), 2),
    (lambda x, i: print(total(x).item(), i, sep=f"<{x[0].item():.1f}>", end=f"{i}\n"), 2),
    (lambda x, i: print(f"{(x > 0).sum().item()} of {x.shape[0]}, {x.mean().double().item():.17g}"), 1),
    (lambda x, i: print(f"\0{i}\0{total(x).item():.1f}\0"), 2), (lambda x, i: print(f"{total(x).item():{8}.{2}f}"), 1),
    (in_branches, 5), (in_a_loop, 2),
    (lambda x, i: print(f"{total(x).item()!r}"), None), (lambda x, i: print("%.3f" % total(x).item()), None),
    (lambda x, i: print("{:.3f}".format(total(x).item())), None),  # noqa: UP032
    (lambda x, i: print(f"{f'{total(x).item():.2f}':>9}"), None),
    (lambda x, i: print(f"{total(x).item()}".upper()), None), (lambda x, i: print("a" + f"{total(x).item():.2f}"), None),
    (lambda x, i: print(*[f"{total(x).item():.2f}"]), None), (lambda x, i: print(len(f"{total(x).item()}")), None),
    (lambda x, i: print(f"{(x > 0).any().item()} {i}"), None), (kept, None), (own_print, None), (in_a_comprehension, None),
]


def printed(fn, *args):
    out = io.StringIO()
    with contextlib.redirect_stdout(out):
        fn(*args)
    return out.getvalue()


@pytest.mark.parametrize("is_counted", [False, True], ids=["one-number", "numbers"])
@pytest.mark.parametrize("number", range(len(PRINTS)))
def test_every_call_prints_its_own_values(number, is_counted):
    fn, enough = PRINTS[number]
    traced, r = jit.trace(fn), random.Random(number)
    for k in range(8):
        x = ingot.tensor([r.uniform(-1, 1) for _ in range(3)])
        i = k if is_counted else 1
        assert printed(traced, x, i) == printed(fn, x, i), (number, k)
    if enough is not None:
        assert traced.stats()["compiles"] <= enough + is_counted, traced.stats()["misses"]


def test_a_host_function_gets_numbers_as_they_are_at_each_call():
    seen = []

    @jit.host
    def note(i, scale, x):
        seen.append((i, type(i), scale, type(scale), x.tolist()))

    @jit.trace
    def fn(x, i, scale):
        note(i, scale * 2, x)
        return x

    for i in range(1, 7):
        fn(ingot.full((2,), float(i)), i, i / 4)
    assert seen == [(i, int, i / 2, float, [i, i]) for i in range(1, 7)]
    assert fn.stats()["compiles"] <= 3


def test_results_of_a_host_function_follow_its_numbers():
    @jit.host
    def made(i, x):
        return x + i

    fn = jit.trace(lambda x, i: made(i, x) * 2)
    assert [fn(ingot.zeros(1), i).item() for i in (1, 5, 2, 7, 7)] == [2, 10, 4, 14, 14]


def test_prints_of_a_training_loop_cost_no_recordings():
    net = ingot.nn.Linear(3, 1)
    optimizer = ingot.optim.SGD(net.parameters(), lr=0.01)

    @jit.trace
    def step(x, y, i):
        loss = ((net(x) - y) ** 2).mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        if i % 10 == 0:
            print(f"step {i:4d} loss {loss.item():.4f}")
        return loss

    def train():
        for i in range(50):
            step(ingot.randn(8, 3), ingot.randn(8, 1), i)

    lines = printed(train).splitlines()
    assert [line[:9] for line in lines] == [f"step {i:4d}" for i in range(0, 50, 10)] and len({x[15:] for x in lines}) > 3
    assert step.stats()["compiles"] <= 4, step.stats()["misses"]


@pytest.mark.parametrize("write, most", [
    (lambda log, x: log.debug(f"shape {x.shape}"), 2), (lambda log, x: log.info(f"{x.shape} {x.shape[0]:>4}"), 2),
    (lambda log, x: log.info(f"loss {x.sum().item():.3f}"), 2), (lambda log, x: log.warning(f"{x.shape[0] / 3:.2f}"), 2),
    (lambda log, x: log.info(f"{x.shape[0]}".upper()), None), (lambda log, x: log.info(*[f"{x.shape[0]}"]), None)])
def test_logged_texts_have_the_numbers_of_each_call(write, most):
    log, seen = logging.getLogger("texts"), []
    log.handlers, log.propagate = [logging.Handler()], False
    log.handlers[0].emit = lambda record: seen.append(record.getMessage())
    log.setLevel(logging.INFO)
    eager, traced = lambda x: (write(log, x), x * 2)[1], jit.trace(lambda x: (write(log, x), x * 2)[1])
    for n in (3, 7, 5, 9):
        for fn in (eager, traced):
            fn(ingot.ones(n, 2))
        half = len(seen) // 2
        assert seen[:half] == seen[half:]
        seen.clear()
    assert most is None or traced.stats()["compiles"] <= most, traced.stats()["misses"]
