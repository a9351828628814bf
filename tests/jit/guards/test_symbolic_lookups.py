"""Containers that a traced function indexes by a counter: members of sets and dictionaries, ints in lists, other uses of a
list."""

import math

import pytest

import ingot
from ingot import jit
from side_by_side import plain

RATES = [0.01 * i for i in range(60)]


def constants(x, k):
    return x * 2 if k in {5, 10, 20} else x


def not_in_constants(x, k):
    return x if k not in {5, 10, 20} else -x


def a_set(milestones={3, 9, 27}):  # noqa: B006
    return lambda x, k: x * 0.5 if k in milestones else x * 2


def a_dictionary():
    rates, now = {5: 0.1, 10: 0.2}, [1.0]

    def step(x, k):
        if k in rates:
            now[0] = rates[k]
        return x * now[0]
    return step


def keys_of_several_kinds():
    table = {5: 1.0, 2.0: 3.0, "name": 4.0, True: 7.0, None: 1.0}
    return lambda x, k: x + table[k] if k in table else x


def a_set_that_is_made_inside():
    return lambda x, k: x * 2 if k in {len(x), len(x) + 4} else x


def with_what_is_no_number():
    odd = {3, float("nan"), float("inf")}
    return lambda x, k: x * 2 if k in odd else x


def zeros_and_ones():
    rates = [0.1, 1, 0.5, 0, 0.25] * 12
    return lambda x, k: x * rates[k]


def ints_alone():
    sizes = [1, 2, 3, 2] * 15
    return lambda x, k: (x * sizes[k], sizes[k])


def ints_as_sizes():
    sizes = [1, 2, 3, 2] * 15
    return lambda x, k: x.repeat(sizes[k]).sum()


def added_up():
    return lambda x, k: x * RATES[k] / sum(RATES)


def the_largest():
    return lambda x, k: x * RATES[k] / max(RATES) + min(RATES) + len(RATES)


def gone_through():
    few = RATES[1:5]

    def step(x, k):
        for r in few:
            x = x * r + few[k % 4]
        return x
    return step


def bools_among_them():
    flags = [True, 0.5, False, 1, 2.0] * 12
    return lambda x, k: (x * flags[k], flags[k])


PROGRAMS = [(lambda: constants, 6), (lambda: not_in_constants, 6), (a_set, 6), (a_dictionary, 7), (keys_of_several_kinds, 6),
            (a_set_that_is_made_inside, None), (with_what_is_no_number, None),
            (zeros_and_ones, 6), (ints_alone, 6), (ints_as_sizes, 6), (added_up, 3), (the_largest, 3), (gone_through, 3),
            (bools_among_them, None)]


@pytest.mark.parametrize("as_argument", [False, True])
@pytest.mark.parametrize("make, most", PROGRAMS)
def test_items_indexed_by_a_counter(make, most, as_argument):
    def run(wrap):
        f, it, got = make(), [0], []

        def step(x):
            it[0] += 1
            return f(x, it[0])
        called = wrap(f if as_argument else step)
        for i in range(30):
            x = ingot.full((3,), i + 1.0)
            found = called(x, i + 1) if as_argument else called(x)
            got.append((plain(found), [type(v) for v in found] if isinstance(found, tuple) else None, it[0]))
        return got, called
    got, traced = run(jit.trace)
    for i, (a, b) in enumerate(zip(got, run(lambda f: f)[0])):
        assert a == b, i
    assert most is None or traced.stats()["compiles"] <= most, traced.stats()["misses"]


def test_members_that_change_between_calls():
    def run(wrap):
        milestones, got = {5}, []
        step = wrap(lambda x, k: x * 2 if k in milestones else x)
        for i in range(20):
            got.append(plain(step(ingot.ones(2), i)))
            if i % 6 == 4:
                milestones.add(i + 2)
        return got
    assert run(jit.trace) == run(lambda f: f)


def shared_by_equal_sizes(x):
    out = []
    made = {}
    for n in (x.shape[0], 3, x.shape[1], 5):
        key = type(n), n, math.copysign(1.0, n)
        if key not in made:
            made[key] = x * n
        out.append(made[key])
    return out[0] + out[1] + out[2] + out[3] + sum([a is b for a in out for b in out])


def found_by_a_constant(x):
    table = {}
    table[x.shape[0]] = 2.0
    return x * (table[8] + 1 if 8 in table else 3.0)


def set_by_a_constant(x):
    table = {}
    for n in (5, x.shape[0], x.shape[0] + 1):
        if n in table:
            x = x + table[n]
        table[n] = n
    table[8] = 7.0
    return x * table[x.shape[0]]


def of_a_float(x):
    table = set()
    table = {}
    table[x.shape[0] / 2] = 1.0
    return x * 5 if 4 in table else x


def deleted(x):
    table = {}
    table[x.shape[0], "a"] = 1.0
    if (8.0, "a") in table:
        del table[8, "a"]
    return x * 2 if (x.shape[0], "a") in table else x


def in_a_loop(x):
    total = 0.0
    for n in (x.shape[0], 8):
        seen = {}
        seen[n] = 1.0
        seen[x.shape[0]] = 2.0
        total = total + seen[n]
    return x * total


def passed_on(x):
    table = {}
    table[x.shape[0]] = 1.0
    return x * sum(table)


def under_two_names(x):
    table = {}
    table[x.shape[0]] = 1.0
    other = table
    return x * 2 if 8 in other else x


def seen_by_another(x):
    table = {}
    table[x.shape[0]] = 1.0
    return x * 2 if (lambda: 8 in table)() else x


@pytest.mark.parametrize("fn", [shared_by_equal_sizes, found_by_a_constant, set_by_a_constant, of_a_float, deleted, in_a_loop,
                                passed_on, under_two_names, seen_by_another], ids=lambda f: f.__name__)
def test_sizes_as_keys_of_tables_that_the_function_makes(fn):
    """Sizes equal to no other key share recordings; those of tables that other code sees have one each."""
    traced = jit.trace(fn)
    for n in (4, 9, 8, 7, 5, 3, 1, 2, 8, 12, 13):
        x = ingot.ones(n, 2)
        assert plain(traced(x)) == plain(fn(x)), n
    assert fn in (passed_on, under_two_names, seen_by_another) or traced.stats()["compiles"] <= 7, traced.stats()["misses"]
