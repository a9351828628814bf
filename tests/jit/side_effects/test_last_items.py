"""Lists that functions append to, and whose last item they read."""

import pytest

import ingot
from ingot import jit
from side_by_side import plain


def read_after():
    log: list = []

    def fn(x):
        log.append(x.sum().item())
        return x + log[-1]
    return fn, log, lambda i: None


def read_before():
    log = [1.0]

    def fn(x):
        y = x * log[-1]
        log.append(log[-1] + 1)
        return y
    return fn, log, lambda i: None


def read_twice():
    log = [1.0]

    def fn(x):
        log.append(x.sum().item())
        first = log[-1]
        log.append(first * 2)
        return x + first + log[-1]
    return fn, log, lambda i: None


def written_by_others():
    log = [1.0]

    def fn(x):
        y = x + log[-1]
        log.append(x.sum().item())
        return y
    return fn, log, lambda i: (log.__setitem__(-1, 50.0) if i == 2 else log.__setitem__(0, 7.0) if i == 3 else
                               log.append(9.0) if i == 4 else log.__delitem__(slice(1, None)) if i == 6 else None)


def tensors():
    log = [ingot.zeros(2)]

    def fn(x):
        log.append(log[-1] * 0.5 + x)
        return log[-1] * 1
    return fn, log, lambda i: log.append(ingot.ones(2)) if i == 4 else None


def tensors_that_are_written():
    log = [ingot.zeros(2)]

    def fn(x):
        before = log[-1]
        log.append(before * 0.5 + x)
        before.add_(1)
        return log[-1] - before
    return fn, log, lambda i: None


def in_a_dictionary():
    logs = {"loss": [], "steps": 0}

    def fn(x):
        logs["steps"] += 1
        logs["loss"].append(x.sum().item())
        return x * logs["loss"][-1] + logs["steps"]
    return fn, logs, lambda i: logs.update(loss=[]) if i == 5 else None


def running_maximum():
    log = [0.0]

    def fn(x):
        log.append(max(log[-1], x.sum().item()))
        return x * log[-1]
    return fn, log, lambda i: None


def second_to_last():
    log = [1.0, 2.0]

    def fn(x):
        log.append(x.sum().item())
        return x + log[-2]
    return fn, log, lambda i: log.append(7.0)


def first_and_last():
    log = [1.0]

    def fn(x):
        log.append(x.sum().item())
        return x + log[-1] + log[0]
    return fn, log, lambda i: log.__setitem__(0, i)


def read_by_a_helper():
    log = [1.0]

    def last(values):
        return values[-1]

    def fn(x):
        y = x + last(log)
        log.append(x.sum().item())
        return y
    return fn, log, lambda i: log.__setitem__(-1, i)


def length_read_elsewhere():
    log = [1.0]
    holders = [log]

    def fn(x):
        log.append(x.sum().item())
        for other in holders:
            x = x + len(other)
        return x + log[-1]
    return fn, log, lambda i: None


@pytest.mark.parametrize("make, most", [
    (read_after, 3), (read_before, 3), (read_twice, 3), (written_by_others, 6), (tensors, 2), (tensors_that_are_written, 2),
    (in_a_dictionary, 6), (running_maximum, 4), (second_to_last, 12), (first_and_last, 12), (read_by_a_helper, 12),
    (length_read_elsewhere, 12)], ids=lambda v: getattr(v, "__name__", ""))
def test_last_items_are_those_of_the_call(make, most):
    def life(wrap):
        fn, log, change = make()
        fn, got = wrap(fn), []
        for i in range(10):
            got.append((plain(fn(ingot.tensor([1.0 + i, 2.0]))), [*map(str, log.values() if type(log) is dict else log)]))
            change(i)
        return got, fn
    want, _ = life(lambda f: f)
    got, traced = life(jit.trace)
    assert got == want
    assert traced.stats()["compiles"] <= most, traced.stats()["misses"]
