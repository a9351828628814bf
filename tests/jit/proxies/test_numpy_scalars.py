"""NumPy scalars as arguments and in Python state: numbers that change, with the dtypes and bits of eager code."""

import numpy as np
import pytest

import ingot
from ingot import jit, optim
from side_by_side import plain, vec
from state_programs import Holder

FLOATS, ALL = (np.float32, np.float64), (np.float32, np.float64, np.int64, np.int32)


def outcome(y):
    return tuple(map(outcome, y)) if type(y) is tuple else (type(y), plain(y) if isinstance(y, ingot.Tensor) else repr(y))


def finite_difference(x, e):
    return ((x + e * x).sin() - (x - e * x).sin()) / (2 * e)


@pytest.mark.parametrize("kinds, fn, most", [
    (ALL, lambda x, e: x * e + e * x - e, 2),
    (ALL, finite_difference, 20),
    (FLOATS, finite_difference, 2),
    (FLOATS, lambda x, e: x * (1 - e) + (e * 2.5) / 3 + x / -e, 2),
    (FLOATS, lambda x, e: x * (e * e - e / 7), 2),
    (FLOATS, lambda x, e: x * e if e > 0.5 else x - e, 3),
    (ALL, lambda x, e: x * e if e == 3 else x - e, 4),
    (ALL, lambda x, e: x + e.dtype.itemsize, 20),
    (ALL, lambda x, e: (x * e, e, e * 2, [e][0]), 20),
    (ALL, lambda x, e: x * float(np.sqrt(e)), 20),
    (ALL, lambda x, e: x * np.float32(0.3) * e + np.float64(2) * e, 20),
    (ALL, lambda x, e: x * (e ** 2) + e % 2 + e // 2, 20),
    (ALL, lambda x, e: x * int(e) + round(float(e)), 20),
    ((np.int64, np.int32), lambda x, e: x[: e % 3] * e, 20)], ids=range(14))
def test_scalars_are_numbers(kinds, fn, most):
    for kind in kinds:
        traced = jit.trace(fn)
        for i in range(12):
            e, x = kind((i + 1) * (0.09 if kind in FLOATS else 1)), vec(1.0, 2.0 + i, 3.0)
            assert outcome(traced(x, e)) == outcome(fn(x, e)), (kind, i)
        assert traced.stats()["compiles"] <= most, (kind, traced.stats()["misses"])


@pytest.mark.parametrize("kind", FLOATS)
def test_scalars_in_attributes(kind):
    def life(wrap):
        o = Holder(t=kind(1), seen=0)

        def fn(x):
            o.seen = o.t * kind(2)
            return x * o.t + (1 - o.t)
        fn, got = wrap(fn), []
        for i in range(12):
            got.append((plain(fn(vec(1.0 + i))), type(o.seen), repr(o.seen), type(o.t)))
            o.t = kind(o.t * 0.9)
        return got, fn
    want, _ = life(lambda f: f)
    got, traced = life(jit.trace)
    assert got == want
    assert kind is np.float32 or traced.stats()["compiles"] <= 12, traced.stats()["misses"]


@pytest.mark.parametrize("kind", FLOATS)
@pytest.mark.parametrize("make", [lambda ps: optim.SGD(ps, 0.1), lambda ps: optim.AdamW(ps, 0.1)], ids=("SGD", "AdamW"))
def test_scalars_as_learning_rates(make, kind):
    def life(wrap):
        p = ingot.nn.Parameter(vec(1.0, -2.0, 3.0))
        optimizer = make([p])

        def step(x):
            loss = (p * x).square().sum()
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
        step = wrap(step)
        for i in range(12):
            optimizer.param_groups[0]["lr"] = kind(0.01) * (i + 1)
            step(vec(1.0 + i, 2.0, 3.0))
        return plain(p.detach()), step

    want, _ = life(lambda f: f)
    got, traced = life(jit.trace)
    assert got == want
    assert traced.stats()["compiles"] <= (2 if kind is np.float64 else 13), traced.stats()["misses"]


def test_scalars_that_are_read_are_looked_up():
    o = Holder(t=np.float32(1))
    traced = jit.trace(lambda x: x * o.t)
    for i in range(12):
        assert plain(traced(vec(1.0 + i))) == plain(vec(1.0 + i) * o.t)
        o.t = np.float32(o.t * 0.9)
    assert traced.stats()["compiles"] <= 2, traced.stats()["misses"]


BESIDE = [ingot.tensor(2.0), ingot.tensor(2.0, dtype=ingot.float64), ingot.tensor(2), np.float32(2), True]


@pytest.mark.parametrize("beside", BESIDE)
@pytest.mark.parametrize("make", [float, int, np.float32, np.float64, lambda v: ingot.tensor(v).item()])
def test_numbers_beside_tensors_in_new_tensors(make, beside):
    def fn(n, x):
        return ingot.tensor([n, beside]), ingot.tensor([beside, [n][0]]), ingot.tensor([[n, 1], [beside, n]]), x

    traced = jit.trace(fn)
    for i in range(4):
        n = make(1.5 + i)
        assert plain(traced(n, vec(1.0))) == plain(fn(n, vec(1.0))), i


ERRORS = {
    "a value": lambda x, n: x * (np.float64(1.0) / x.sum().item()),
    "a root": lambda x, n: x * np.sqrt(np.float64(x.sum().item()) - 1),
    "a large value": lambda x, n: x * (np.float32(1e38) * np.float32(x.sum().item())),
    "a number": lambda x, n: x * (np.float64(1.0) / n),
    "a size": lambda x, n: x * np.log(x.shape[0] - 1.0),
}


@pytest.mark.parametrize("name", ERRORS)
def test_floating_point_errors_that_numpy_raises_come_at_each_call(name):
    def life(wrap):
        fn, found = wrap(ERRORS[name]), []
        for v in (5.0, 6.0, 7.0, 0.0, 8.0, 100.0, 0.0, 6.0):
            try:
                with np.errstate(all="raise"):
                    found.append(plain(fn(ingot.ones(3 if v else 1) * v, v)))
            except FloatingPointError as error:
                found.append(str(error).partition(" encountered")[0])       # (numpy names the loop of arrays, or of scalars)
        return found

    assert life(jit.trace) == life(lambda fn: fn)
