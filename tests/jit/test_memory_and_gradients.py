"""Tracing and memory, shapes, random numbers, gradients and threads: each program gives what eager gives, at every call."""

import gc
import threading
import weakref

import numpy as np
import pytest

import ingot
from ingot import jit, nn
from ingot.runtime.cpu.memory import alloc
from side_by_side import plain, same, vec

# Memory.


def test_writing_into_an_argument():
    def make():
        def fn(x):
            x.add_(1)
            return x * 2

        return fn

    same(make, lambda i: (vec(float(i), 2.0),))


def test_writing_through_a_view():
    def make():
        def fn(x):
            y = x[1:]
            y.mul_(3)
            x[0] = 7.0
            return x + 0, y

        return fn

    same(make, lambda i: (vec(float(i), 2.0, 3.0),))


def test_a_view_sees_a_later_write():
    def make():
        def fn(x):
            y = x.clone()
            v = y.view(3)
            y.add_(10)
            return v * 1

        return fn

    same(make, lambda i: (vec(float(i), 2.0, 3.0),))


def test_memory_made_inside_is_fresh_at_every_call():
    def make():
        def fn(x):
            acc = ingot.zeros(3)
            for k in range(3):
                acc += x * k
            return acc

        return fn

    same(make, lambda i: (vec(float(i), 2.0, 3.0),))


def test_a_constant_made_from_python_data_is_fresh():
    def make():
        def fn(x):
            c = ingot.tensor([1.0, 2.0, 3.0])
            c.add_(x)
            return c

        return fn

    same(make, lambda i: (vec(float(i), 2.0, 3.0),))


def test_results_do_not_share_memory_with_the_next_call():
    traced = jit.trace(lambda x: x * 2)
    first = traced(vec(1.0, 2.0))
    before = plain(first)
    second = traced(vec(3.0, 4.0))
    third = traced(vec(5.0, 6.0))
    assert plain(first) == before
    third.add_(1)
    assert plain(second) == plain(vec(6.0, 8.0))


def test_the_same_result_twice_is_two_tensors_or_one_as_in_eager():
    def make():
        def fn(x):
            y = x * 2
            return y, y

        return fn

    traced = jit.trace(make())
    for _ in range(3):
        a, b = traced(vec())
        assert plain(a) == plain(b)


def test_returning_an_argument_returns_that_very_tensor():
    traced = jit.trace(lambda x: x)
    for _ in range(3):
        x = vec()
        assert traced(x) is x


def test_returning_a_view_of_an_argument():
    traced = jit.trace(lambda x: x[1:])
    for _ in range(3):
        x = vec()
        y = traced(x)
        y.fill_(0.0)
        assert plain(x) == plain(vec(1.0, 0.0, 0.0))


def test_one_tensor_as_two_arguments():
    def make():
        def fn(x, y):
            x.add_(1)
            return x * y

        return fn

    eager, traced = make(), jit.trace(make())
    for i in range(4):
        a, b = vec(float(i), 2.0), vec(float(i), 2.0)
        assert plain(traced(a, a)) == plain(eager(b, b))
        c, d = vec(float(i), 3.0), vec(float(i), 3.0)
        assert plain(traced(c, vec(1.0, 1.0))) == plain(eager(d, vec(1.0, 1.0)))


def test_a_captured_tensor_that_is_updated():
    def make():
        state = vec(0.0, 0.0, 0.0)

        def fn(x):
            state.add_(x)
            return state * 2

        return fn

    same(make, lambda i: (vec(float(i), 2.0, 3.0),))


# Shapes, dtypes, modes.


def test_each_shape_and_dtype_has_its_own_path():
    def args(i):
        return (ingot.ones(i % 3 + 1, dtype=ingot.float64 if i % 2 else ingot.float32),)

    t = same(lambda: lambda x: x * 2 + x.shape[0], args, calls=12)
    assert t.stats()["compiles"] == 4     # two for each dtype


def test_grad_mode_is_part_of_the_key():
    w = vec().requires_grad_()
    traced = jit.trace(lambda x: x * w)
    for i in range(4):
        if i % 2:
            with ingot.no_grad():
                assert not traced(vec()).requires_grad
        else:
            assert traced(vec()).requires_grad


def test_exceptions_come_through():
    def fn(x, fail):
        if fail:
            raise KeyError("mine")
        return x + 1

    traced = jit.trace(fn)
    traced(vec(), False)
    for _ in range(2):
        with pytest.raises(KeyError, match="mine"):
            traced(vec(), True)
    assert plain(traced(vec(), False)) == plain(vec() + 1)
    with pytest.raises(ingot.IngotError):
        jit.trace(lambda x, y: x @ y)(vec(), ingot.ones(4, 4))


def test_structures_of_arguments_and_results():
    def make():
        return lambda d, pair: {"sum": d["a"] + pair[0], "rest": [pair[1], (d["a"],)]}

    same(make, lambda i: ({"a": vec(float(i))}, (vec(1.0), vec(2.0))))


# Randomness.


def test_random_numbers_are_fresh_and_those_of_eager():
    def make():
        return lambda x: x + ingot.randn(3) + ingot.rand(3)

    same(make, lambda i: (vec(),))
    traced = jit.trace(make())
    ingot.manual_seed(3)
    assert len({plain(traced(vec())) for _ in range(4)}) == 4


# Gradients.


def test_backward_outside_of_the_trace():
    w1, w2 = vec().requires_grad_(), vec().requires_grad_()
    traced = jit.trace(lambda x, w: (x * w).exp().sum())
    for i in range(4):
        x = vec(float(i) / 4, 0.5, 0.25)
        traced(x, w1).backward()
        (x * w2).exp().sum().backward()
        np.testing.assert_array_equal(w1.grad.numpy(), w2.grad.numpy())


@pytest.mark.parametrize("asked", [(0,), (1,), (2,), (3,), (0, 1), (0, 3), (2, 3)])
def test_backward_of_some_results(asked):
    """Leaves that no differentiated result depends on get no gradient, rather than zeros that optimizers would use."""
    def life(wrap):
        w, v, u = (vec().requires_grad_() for _ in range(3))
        fn, seen = wrap(lambda x: (x * w, (x * v).exp(), (w * v).sum(), u * 2)), []
        for i in range(3):
            w.grad = v.grad = u.grad = None
            results = fn(vec(float(i), 0.5, 0.25))
            sum(results[k].sum() for k in asked).backward()
            seen.append(plain([w.grad, v.grad, u.grad]))
            results = fn(vec(1.0, 0.5, float(i)))
            total = sum(results[k].sum() for k in asked)
            seen.append(plain(ingot.autograd.grad(total, [w, v, u], allow_unused=True)))
        return seen

    assert life(jit.trace) == life(lambda fn: fn)


def test_gradients_that_results_have_kept():
    def make():
        w = vec().requires_grad_()

        def fn(x):
            y, z = x * w, (x * w).exp()
            y.retain_grad()
            z.retain_grad()
            (y * z).sum().backward()
            return y, z * 2, z, y.grad

        def call(x):
            y, _, z, g = call.fn(x)
            return y.grad, z.grad, g, y.grad is g

        call.fn = fn
        return call

    eager, traced = make(), make()
    traced.fn = jit.trace(traced.fn)
    for i in range(3):
        assert plain(traced(vec(float(i), 1.0, 2.0))) == plain(eager(vec(float(i), 1.0, 2.0)))


def test_backward_inside_of_the_trace():
    def step(w, x):
        w.grad = None
        loss = (x * w).exp().sum()
        loss.backward()
        with ingot.no_grad():
            w -= 0.1 * w.grad
        return loss

    traced = jit.trace(step)
    w1, w2 = vec().requires_grad_(), vec().requires_grad_()
    for i in range(5):
        x = vec(float(i) / 4, 0.5, 0.25)
        assert plain(traced(w1, x)) == plain(step(w2, x))
        assert plain(w1) == plain(w2) and plain(w1.grad) == plain(w2.grad)
    assert traced.stats()["compiles"] == 1


def test_gradients_accumulate_over_calls():
    def step(w, x):
        (x * w).sin().sum().backward()

    traced = jit.trace(step)
    w1, w2 = vec().requires_grad_(), vec().requires_grad_()
    for i in range(5):
        x = vec(float(i) / 4, 0.5, 0.25)
        traced(w1, x)
        step(w2, x)
        assert plain(w1.grad) == plain(w2.grad)


@pytest.mark.parametrize("clears", [True, False])
def test_gradients_that_a_function_returns_are_those_of_the_leaves(clears):
    """Also where it accumulates, and where Python reads a value in between."""
    def step(w, x):
        if clears:
            w.grad = None
        y = (x * w).sin().sum()
        y.backward()
        if x[0] > 1:
            return y.detach(), w.grad, [w.grad * 2, w.grad]
        return y.detach(), w.grad, [w.grad]

    traced = jit.trace(step)
    w1, w2 = vec().requires_grad_(), vec().requires_grad_()
    for i in range(6):
        x = vec(float(i % 3), 0.5, 0.25)
        found, wanted = traced(w1, x), step(w2, x)
        assert found[1] is w1.grad
        assert found[2][-1] is w1.grad
        found[1].add_(1)
        wanted[1].add_(1)
        assert plain(found) == plain(wanted)
        assert plain(w1.grad) == plain(w2.grad)


# Threads.


def test_many_threads_share_one_traced_function():
    traced = jit.trace(lambda x: (x * 2 + 1).sum() if x[0] > 0 else x.sum())
    wrong = []

    def work(seed):
        rng = np.random.default_rng(seed)
        for _ in range(20):
            a = rng.standard_normal(5).astype(np.float32)
            x = ingot.tensor(a)
            want = (x * 2 + 1).sum() if a[0] > 0 else x.sum()
            if plain(traced(x)) != plain(want):
                wrong.append((seed, a))

    threads = [threading.Thread(target=work, args=(s,)) for s in range(32)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert not wrong


@pytest.mark.parametrize("learns", [False, True])
def test_a_recording_holds_what_eager_holds(learns):
    def fn(x):
        y = x
        for _ in range(12):
            y = (y * 1.5).tanh() + 0.5
        if learns:
            y.sum().backward()
            return x.grad.sum()
        return y.sum()

    peaks = []
    for run in (fn, jit.trace(fn)):
        x = ingot.ones(200_000, requires_grad=learns)
        alloc.reset_peak()
        before = alloc.stats()["in_use"]
        run(x)
        peaks.append(alloc.stats()["peak"] - before)
        del x
    assert peaks[1] <= 1.25 * peaks[0], f"eager {peaks[0]} bytes, recorded {peaks[1]}"


@pytest.mark.parametrize("clears", [True, False])
def test_gradients_that_a_step_clears_first_are_gone_while_it_runs(clears):
    w = ingot.ones(500, 500, requires_grad=True)

    def step(x):
        if clears:
            w.grad = None
        loss = (x @ w).square().sum()
        w.grad = None
        loss.backward()
        return loss.detach()

    traced, x = jit.trace(step), ingot.ones(2, 500)
    for _ in range(3):
        traced(x)
    want = plain(w.grad)
    alloc.reset_peak()
    before = alloc.stats()["in_use"]
    traced(x)
    assert (alloc.stats()["peak"] - before < w._a.nbytes) == clears
    assert plain(w.grad) == want


def test_a_gradient_that_is_read_before_it_is_cleared():
    def make():
        w = vec().requires_grad_()

        def step(x):
            before = None if w.grad is None else w.grad * 1
            w.grad = None
            (x * w).sin().sum().backward()
            return w.grad if before is None else w.grad + before

        return step

    same(make, lambda i: (vec(float(i), 2.0, 3.0),))


def test_what_a_failing_call_does_to_gradients():
    """Eager and traced steps that fail leave the same behind: cleared before anything was computed, or untouched."""
    for first in (True, False):
        table, index = ingot.ones(4, 3, requires_grad=True), ingot.tensor([1, 2])

        def step(index, table=table, first=first):
            if first:
                table.grad = None
            loss = ingot.nn.functional.embedding(index, table).sum()
            table.grad = None
            loss.backward()
            return loss.detach()

        traced = jit.trace(step)
        for _ in range(3):
            traced(index)
        for run in (traced, step):
            step(index)
            with pytest.raises(ingot.IngotError):
                run(ingot.tensor([1, 9]))
            assert (table.grad is None) is first, run


def test_constants_are_kept_only_if_they_are_read():
    table = np.arange(100_000, dtype=np.float32)

    def fn(x):
        ingot.from_numpy(table)
        unread = ingot.tensor(table)
        unread = None
        return x * 2 if unread is None else unread

    traced = jit.trace(fn)
    traced(vec())
    entry, _ = next(iter(traced._cache.entries.values()))[0]
    assert not entry.tensors.captured


def test_a_constant_written_before_it_is_read():
    def fn(x):
        c = ingot.tensor(np.arange(100, dtype=np.float32))
        c[3:5] = x.sum()
        c += 1
        return c * 2

    same(lambda: fn, lambda i: (vec(1.0, float(i)),))


@pytest.mark.parametrize("calls", [1, 2, 4])
def test_what_a_trace_captures_dies_with_it(calls):
    """A trace is in no circle: what only it refers to lives as long as the trace, and not until the garbage collector runs."""
    was_on = gc.isenabled()
    gc.disable()
    try:
        net = nn.Linear(2, 2)
        alive, traced = weakref.ref(net), jit.trace(lambda x, net=net: net(x))
        del net
        for _ in range(calls):
            traced(ingot.ones(1, 2))
        assert alive() is not None
        del traced
        assert alive() is None
    finally:
        if was_on:
            gc.enable()
