"""Schedules by a counter that goes on from call to call: traced functions settle after a few recordings, and follow them."""

import pytest

import ingot
from ingot import jit, nn
from side_by_side import plain

# Where a schedule comes to a limit, it writes what is there already.


def rate_that_reaches_a_limit():
    layer, it = nn.Dropout(0.5), [0]

    def step(x):
        it[0] += 1
        layer.p = max(0.5 * 0.5 ** (it[0] // 3), 0.05)
        return x * 2
    return step, lambda: (layer.p, it[0])


def rates_of_modules_in_a_loop():
    net, it = nn.Sequential(nn.Linear(3, 3), nn.BatchNorm1d(3), nn.Dropout(0.0)), [0]

    def step(x):
        it[0] += 1
        for m in net.modules():
            if isinstance(m, nn.BatchNorm1d):
                m.momentum = max(0.1 * 0.5 ** (it[0] // 3), 0.01)
        return net(x)
    return step, lambda: (net[1].momentum, it[0])


def rate_of_two_values():
    layer, it = nn.BatchNorm1d(3), [0]

    def step(x):
        it[0] += 1
        layer.momentum = 0.01 if it[0] % 12 > 8 else 0.1
        return x * 2
    return step, lambda: (layer.momentum, it[0])


def item_of_two_values():
    table, it = {}, [0]

    def step(x):
        it[0] += 1
        table["rate"] = 0.01 if it[0] > 9 else 0.1
        return x * 2
    return step, lambda: (dict(table), it[0])


@pytest.mark.parametrize("make, most", [(rate_that_reaches_a_limit, 3), (rates_of_modules_in_a_loop, 4), (rate_of_two_values, 5),
                                        (item_of_two_values, 5)], ids=lambda v: getattr(v, "__name__", ""))
def test_what_stays_as_it_was_written_settles(make, most):
    """A counter goes on, and what is written by it stays at a limit, where nothing is left to write."""
    def run(wrap):
        ingot.manual_seed(3)
        step, look = make()
        step, got = wrap(step), []
        for i in range(40):
            got.append((plain(step(ingot.full((2, 3), i + 1.0)).detach()), look()))
        return got, step

    got, traced = run(jit.trace)
    assert got == run(lambda f: f)[0]
    assert traced.stats()["compiles"] <= most, traced.stats()["misses"]
