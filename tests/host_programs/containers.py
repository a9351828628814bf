"""Programs that read lists, dictionaries, sets and arrays after a host step changed them."""

import collections

import numpy as np

import ingot
from ingot import jit

from .common import READ_AFTER, calls, every, read_after


def _of_list(read, start=()):
    def program(wrap, changes):
        log = list(start)

        def add(v):
            if changes(v):
                log.append(float(v))

        return calls(wrap(read(log, jit.host(add))), every(3, log.clear) if not start else lambda i: None), log
    return program


def _length(log, add):
    def fn(x):
        add(x.sum())
        return x * len(log)
    return fn


def _whether_any(log, add):
    def fn(x):
        add(x.sum())
        return x * 2 if log else x
    return fn


def _last(log, add):
    def fn(x):
        add(x.sum())
        return x * log[-1]
    return fn


def _sum(log, add):
    def fn(x):
        add(x.sum())
        return x * sum(log)
    return fn


def _by_another_name(log, add):
    def fn(x):
        mine = log
        add(x.sum())
        return x * len(mine)
    return fn


def _in_another_function(log, add):
    def total():
        return sum(log)

    def fn(x):
        add(x.sum())
        return x * total()
    return fn


def _before_and_behind(log, add):
    def fn(x):
        y = x * len(log)
        add(x.sum())
        return y + 10 * len(log)
    return fn


def _in_a_loop(log, add):
    def fn(x):
        for _ in range(3):
            x = x + len(log)
            add(x.sum())
        return x
    return fn


def _looped_over(log, add):
    def fn(x):
        for _ in range(2):
            add(x.sum())
            for v in log:
                x = x + v
        return x
    return fn


def _behind_a_branch(log, add):
    def fn(x):
        add(x.sum())
        return x * len(log) if x.sum() > 1.5 else x
    return fn


def _nested(log, add):
    @jit.host
    def twice(v):
        add(v)
        add(v)

    def fn(x):
        twice(x.sum())
        return x * len(log)
    return fn


def _behind_several(log, add):
    @jit.host
    def other(v):
        pass

    def fn(x):
        other(x)
        add(x.sum())
        other(x)
        y = x * 2
        add(y.sum())
        return y + len(log)
    return fn


def _from_a_generator(log, add):
    def fn(x):
        for v in (v for v in (1.0, 2.0)):
            add(x.sum())
            x = x + v * sum(y for y in log)
        return x
    return fn


def _through_a_generator(log, add):
    def fn(x):
        later = (v for v in log)
        add(x.sum())
        return x + sum(later)
    return fn


def _in_a_try(log, add):
    def fn(x):
        try:
            add(x.sum())
        finally:
            x = x + len(log)
        return x
    return fn


def _with_what_it_gives(log, add):
    @jit.host
    def doubled(v):
        add(v.sum())
        return v * 2

    def fn(x):
        return doubled(x) * len(log)
    return fn


for _make in (_length, _whether_any, _sum, _by_another_name, _in_another_function, _before_and_behind, _in_a_loop, _looped_over,
              _behind_a_branch, _nested, _behind_several, _from_a_generator, _through_a_generator, _in_a_try,
              _with_what_it_gives):
    READ_AFTER["list" + _make.__name__] = _of_list(_make)
READ_AFTER["list_last"] = _of_list(_last, (1.0,))


@read_after
def list_filled_by_its_method(wrap, changes):
    log: list = []

    def fn(x):
        jit.host(log.append)(x.sum().item())
        return x * len(log)

    return calls(wrap(fn), every(3, log.clear)), log


@read_after
def list_that_grows_while_it_is_looped_over(wrap, changes):
    log = [1.0]

    @jit.host
    def add(v):
        if changes(v) and len(log) < 4:
            log.append(float(v))

    def fn(x):
        for v in log:
            add(x.sum())
            x = x + v
        return x

    return calls(wrap(fn), lambda i: log.__delitem__(slice(1, None))), log


@read_after
def dict_item(wrap, changes):
    table = {"n": 0}

    def add(v):
        if changes(v):
            table["n"] += 1

    def fn(x):
        jit.host(add)(x.sum())
        return x * table["n"]

    return calls(wrap(fn)), table


@read_after
def dict_keys(wrap, changes):
    table: dict = {}

    def add(v):
        if changes(v):
            table[float(v)] = len(table)

    def fn(x):
        jit.host(add)(x.sum())
        return x * len(table) + (1 if 2.0 in table else 0)

    return calls(wrap(fn), every(4, table.clear)), table


@read_after
def nested_containers(wrap, changes):
    history = {"loss": [[]], "n": 1.0}

    def add(v):
        if changes(v):
            history["loss"][0].append(float(v))

    def fn(x):
        jit.host(add)(x.sum())
        return x * sum(map(sum, history["loss"]))

    return calls(wrap(fn), every(3, lambda: history["loss"][0].clear())), history


@read_after
def set_of_numbers(wrap, changes):
    seen: set = set()

    def add(v):
        if changes(v):
            seen.add(float(v))

    def fn(x):
        jit.host(add)(x.sum())
        return x * len(seen)

    return calls(wrap(fn), every(4, seen.clear)), seen


@read_after
def window(wrap, changes):
    last: collections.deque = collections.deque(maxlen=3)

    def add(v):
        if changes(v):
            last.append(float(v))

    def fn(x):
        jit.host(add)(x.sum())
        return x * sum(last)

    return calls(wrap(fn)), list(last)


def _of_array(read):
    def program(wrap, changes):
        a = np.zeros(1, np.float32)

        def add(v):
            if changes(v):
                a[0] += float(v)

        def fn(x):
            jit.host(add)(x.sum())
            return x * read(a)

        return calls(wrap(fn), lambda i: a.fill(i % 2)), a.tolist()
    return program


READ_AFTER["array_element"] = _of_array(lambda a: float(a[0]))
READ_AFTER["array_as_a_tensor"] = _of_array(lambda a: ingot.tensor(a))
