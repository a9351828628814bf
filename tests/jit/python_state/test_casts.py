"""`int(t)`, `float(t)` and `t.item()` in plain Python arithmetic: few recordings, and the bits, errors and types of eager
mode."""

import contextlib
import json
import math
import statistics
import sys
import threading

import numpy as np
import pytest

import ingot
import ingot.nn.functional as F
from ingot import jit
from side_by_side import numbers, vec
from state_programs import Holder

PROGRAMS: list = []


def few(enough):
    """A program (of what outlives the calls, a float tensor, a mask) that may be recorded `enough` times."""
    def note(fn):
        PROGRAMS.append(pytest.param(fn, enough, id=fn.__name__))
        return fn
    return note


@few(1)
def mean_of_chosen(o, x, m):
    return (x * m).sum() / max(1, int(m.sum()))


@few(1)
def decayed(o, x, m):
    o.step += 1
    return x * 0.9 ** int(o.step) / (1 - 0.99 ** o.step.item())


@few(2)
def warmed_up(o, x, m):
    o.step += 1
    return x * min(1.0, int(o.step) / 10)


@few(1)
def scaled(o, x, m):
    return x / math.sqrt(int(m.sum()) + 1), x * float(x.mean()), ingot.add(x, x, alpha=float(x.mean()))


@few(2)
def filled(o, x, m):
    y = x.clone()
    y[0] = float(x.sum())
    return y, ingot.full((2,), float(x.mean())), ingot.full((), int(m.sum())), x.clone().fill_(x.max().item())


@few(1)
def gathered(o, x, m):
    return ingot.tensor([x.mean().item(), float(x.sum()), 2]), ingot.tensor([int(m.sum()), 3]), ingot.tensor(float(x.max()))


@few(2)
def interpolated(o, x, m):
    return ingot.lerp(x, x * 2, float(m.float().mean())), x.clamp(-float(x.std()), float(x.std()))


@few(3)
def told(o, x, m):
    o.info = {"loss": float((x * x).mean()), "n": int(m.sum()), "q": x.mean().item()}
    return o.info


@few(3)
def metered(o, x, m):
    o.total += float((x * x).mean()) * len(x)
    o.count += int(m.sum())
    o.log.append(float(x[0]))
    return o.total / max(o.count, 1)


@few(6)
def stopping_early(o, x, m):
    loss = float((x * x).mean())
    if loss < o.best - 1e-4:
        o.best, o.bad = loss, 0
    else:
        o.bad += 1
    return o.bad >= 3


@few(1)
def detecting(o, x, m):
    found = int((x > 0.3).sum().item())
    return F.binary_cross_entropy_with_logits(x, m.float(), reduction="sum") / max(1, found)


@few(3)
def scored(o, x, m):
    tp, fp = int((m & (x > 0.5)).sum()), int((~m & (x > 0.5)).sum())
    precision = tp / (tp + fp) if tp + fp else 0.0
    recall = tp / int(m.sum()) if m.any() else 0.0
    return round(100 * precision, 2), 2 * precision * recall / (precision + recall) if precision + recall else 0.0


@few(1)
def perplexed(o, x, m):
    return math.exp(float((x * x).mean())), round(100.0 * int(m.sum()) / len(m), 2), math.floor(x.sum().item())


@few(2)
def clipped(o, x, m):
    norm = float(x.norm())
    return x * (1.0 / (norm + 1e-6)) if norm > 1.0 else x


@few(2)
def averaged(o, x, m):
    o.mean = 0.9 * o.mean + 0.1 * float(x.mean())
    return x * o.mean


@few(1)
def listed(o, x, m):
    return [float(v) for v in x[:3]], sum(int(v * 10) for v in x), {k: float(v) for k, v in {"a": x.sum()}.items()}


@few(1)
def of_truths(o, x, m):
    return x * int(x.mean() > 0.5) + float(m.all()), int(m[0]) + int(m[1])


@few(4)
def repeated(o, x, m):
    for _ in range(int(m.sum()) % 4):
        x = x * 2
    return x


def doubled(v):
    return type(v) is float or v * 2


def kinds():
    return {int: "int", float: "float"}[int], int is int, float is float, ingot.zeros(1, dtype=int).dtype


def own(n):
    class Own(int):
        pass
    return Own.__mro__[1] is type(n), Own(n) + 1


@few(1)
def with_others(o, x, m):
    n = int(m.sum())
    seen = kinds()
    half = float(x.sum()) / 2
    return n, seen, half, own(3), isinstance(n, int), isinstance(half, (int, float))


@few(4)
def generating(o, x, m):
    def parts():
        for i in range(3):
            yield float(x[i]) * 2
    return sum(parts()), max(v for v in parts())


@pytest.mark.parametrize("fn, enough", PROGRAMS)
def test_numbers_in_plain_arithmetic(fn, enough):
    def fresh():
        return Holder(step=ingot.tensor(0), total=0.0, count=0, log=[], best=1e9, bad=0, mean=1.0)

    one, other, traced, r = fresh(), fresh(), jit.trace(fn), np.random.default_rng(1)
    for i in range(30):
        x, m = r.random(16).astype(np.float32), r.random(16) > r.random()
        want = fn(one, ingot.tensor(x), ingot.tensor(m))
        got = traced(other, ingot.tensor(x), ingot.tensor(m))
        assert repr(numbers([got, vars(other)])) == repr(numbers([want, vars(one)])), i
    assert traced.stats()["compiles"] <= enough, traced.stats()["misses"]
    assert not {"int", "float"} & vars(math).keys() | {"int", "float"} & globals().keys()


@pytest.mark.parametrize("use", [
    lambda x: int(x.sum()), lambda x: math.sqrt(x.sum().item()), lambda x: 2.0 ** float(x.sum()),
    lambda x: float(x.sum()) ** 0.5, lambda x: 1 // int(x.sum()), lambda x: math.log(float(x.sum())),
    lambda x: round(x.sum().item()), lambda x: float(x.sum()) % 0, lambda x: math.exp(float(x.sum())),
    lambda x: int(x.sum()) ** 30, lambda x: (-2) ** int(x[1])])
@pytest.mark.parametrize("edge", [0.0, -0.0, -2.5, 1e38, 2000.0, math.inf, -math.inf, math.nan])
def test_numbers_that_python_cannot_compute(use, edge):
    """Errors, complex numbers and large integers are Python's, and nothing was written when they come."""
    total = ingot.zeros(1)

    def fn(x):
        total.add_(x.sum())
        return use(x), total.sum()

    def outcome(call, v):
        try:
            return repr(call(vec(v, 0.0))[0])
        except (ArithmeticError, ValueError) as e:
            return f"{type(e).__name__}: {e}"

    traced = jit.trace(fn)
    for v in (1.0, 4.0, edge, 2.0, edge, 3.0):
        before = total.clone()
        want, after = outcome(fn, v), total.clone()
        total.copy_(before)
        assert outcome(traced, v) == want and repr(total) == repr(after), v


@pytest.mark.parametrize("use", [
    lambda x: doubled(float(x.sum())), lambda x: doubled(x.sum().item()), lambda x: doubled([int(x.sum())]),
    lambda x: type(x.sum().item()) is float, lambda x: (type(int(x.sum())), int(x.sum())), lambda x: doubled(v=x.sum().item()),
    lambda x: json.dumps([float(x.sum()), {"n": (int(x.sum()),)}]), lambda x: statistics.mean([float(x.sum()), 2.0])])
def test_code_that_looks_at_types_gets_plain_numbers(use):
    traced = jit.trace(use)
    for v in (1.0, 2.0, 3.0, 2.0):
        assert repr(traced(vec(v))) == repr(use(vec(v)))


def test_host_functions_see_the_types():
    seen = []
    note = jit.host(lambda v: seen.append((int is int, {float: 1}[float], type(v) is float)))

    @jit.trace
    def fn(x):
        n = float(x.sum())
        note(n)
        return n + int(x.sum())

    assert [fn(vec(float(i))) for i in range(4)] == [0.0, 2.0, 4.0, 6.0] and seen == [(True, 1, True)] * 4


def test_other_threads_never_see_patched_types():
    wrong, stop, is_there = [], threading.Event(), threading.Event()

    def look():
        while not stop.is_set():
            if kinds()[:3] != ("int", True, True) or "int" in globals():
                wrong.append(1)
            is_there.set()

    thread = threading.Thread(target=look)
    thread.start()
    is_there.wait()
    try:
        for k in range(5):
            traced = jit.trace(lambda x, k=k: x * float(x.sum()) + int(x[0]) * k)
            for i in range(5):
                assert traced(vec(float(i))).item() == i * i + i * k
    finally:
        stop.set()
        thread.join()
    assert not wrong


def test_a_thread_that_starts_inside_sees_the_types():
    seen = []

    def fn(x):
        n = int(x.sum())
        thread = threading.Thread(target=lambda: seen.append((kinds(), "int" in globals())))
        thread.start()
        thread.join()
        return n

    with contextlib.suppress(jit.TraceError):       # (threads are no part of a trace)
        jit.trace(fn)(vec(300.0))
    assert seen and all(looked == (("int", True, True, ingot.int64), False) for looked in seen)


def test_sizes_are_not_pinned_by_casts():
    traced = jit.trace(lambda x: x * float(x.shape[0]) / int(x.shape[0] * 2))
    for n in range(2, 12):
        assert traced(ingot.ones(n)).tolist() == [0.5] * n
    assert traced.stats()["compiles"] <= 2, traced.stats()["misses"]


def causal(n):
    seen = ingot.triu(ingot.ones(n, n)) == 1
    return seen.float().masked_fill(seen, 0.0).masked_fill(~seen, float("-inf"))


def test_names_of_a_module_that_code_reaches_are_as_they_were():
    """`.float()` asks for the name, of which `float()` puts something into the module."""
    here = sys.modules[__name__]
    traced = jit.trace(lambda x: x + here.causal(x.shape[0]))
    for n in (3, 3, 4, 5, 3):
        assert traced(ingot.ones(n, n)).tolist() == (1 + causal(n)).tolist()
    assert traced.stats()["compiles"] <= 2 and "float" not in vars(here), traced.stats()["misses"]


def chosen_rows(x):
    return x.new_zeros((len(x),) + x.shape[1:]).index_add(0, ingot.arange(len(x)), x)


def first_longest(x):
    rows = sorted([x[:1], x[1:]], key=len)
    return rows[-1] * len(rows) / len(x)


@pytest.mark.parametrize(("use", "enough"), [
    (chosen_rows, 2), (lambda x: x.sum(0) / len(x), 2), (lambda x: (x.view(len(x), 1), type(len(x)) is int), 2),
    (lambda x: [len(v) * x for v in (x, [1, 2], "ab")], 2), (first_longest, 9),
    (lambda x: [x[i] * i for i in range(len(x))], 9)])
def test_the_length_of_a_tensor_is_its_first_size(use, enough):
    traced = jit.trace(use)
    for n in (5, 2, 9, 4, 7, 3, 5):
        x = ingot.arange(n) * 0.5
        assert repr(traced(x)) == repr(use(x))
    assert traced.stats()["compiles"] <= enough, traced.stats()["misses"]


def test_a_tensor_without_dims_has_no_length():
    traced = jit.trace(lambda x, n: x[:n].sum() * len(x.sum()))
    for n in (2, 3):
        with pytest.raises(TypeError, match="0-d tensor"):
            traced(ingot.ones(4), n)


# The largest and the smallest of sizes.

EXTREMES = {
    "two": (lambda x, a, b: x[:max(a, b)], 3),
    "of_a_list": (lambda x, a, b: x * max([a, b, 3]), 3),
    "smallest": (lambda x, a, b: (x[:min(a, b)], min((a, b)) - max(a, b)), 3),
    "nested": (lambda x, a, b: (x, max([max(a, b), min(b, a), a + 1]) // 2, -max(-a, b) % 3), 3),
    "with_sizes": (lambda x, a, b: (x, max(x.shape[0], a), min(x.shape[0] // 2, b, 7)), 3),
    "as_steps": (lambda x, a, b: ingot.arange(max(a, b)) % min(a, b), 3),
    "compared": (lambda x, a, b: (x, max(a, b) == a), 6),
    "with_a_default": (lambda x, a, b: x * max((a, b), default=4), 6),
    "by_a_key": (lambda x, a, b: x * max((a, b), key=lambda n: -n), 6),
    "with_floats": (lambda x, a, b: (x, max(a, 2.5), max([1.5, b])), 6),
    "with_flags": (lambda x, a, b: (x, max(True, a), max("abc")), 6),
    "as_a_key": (lambda x, a, b: {max(a, b): x}, 8),
    "as_text": (lambda x, a, b: (x, f"{max(a, b)}"), 8),
    "its_type": (lambda x, a, b: (x, type(max(a, b)) is int, isinstance(min(a, b), int)), 6),
}


@pytest.mark.parametrize("name", EXTREMES)
def test_the_largest_of_sizes_is_a_size(name):
    fn, enough = EXTREMES[name]
    traced = jit.trace(fn)
    for a, b in ((2, 5), (3, 4), (5, 2), (6, 6), (4, 7), (8, 1), (1, 2), (7, 3)):
        x = ingot.arange(float(a + b + 8))
        got, want = numbers(traced(x, a, b)), numbers(fn(x, a, b))
        assert repr(got) == repr(want), (a, b)
    assert traced.stats()["compiles"] <= enough, traced.stats()["misses"]


def test_a_largest_that_a_module_defines_is_its_own():
    space = {"max": lambda a, b: a * b}
    exec("def fn(x, a, b):\n    return x * max(a, b)", space)
    traced = jit.trace(space["fn"])
    for a in (2, 3, 4):
        assert traced(ingot.ones(1), a, 5).tolist() == [5.0 * a]
