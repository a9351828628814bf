"""Schedules by a counter that goes on from call to call: traced functions settle after a few recordings, and follow them."""

import numpy as np
import pytest

import ingot
from ingot import jit, nn
from side_by_side import plain

# At its limit a schedule writes the value that is already there.


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


@pytest.mark.parametrize("make, most", [
    (rate_that_reaches_a_limit, 3), (rates_of_modules_in_a_loop, 4), (rate_of_two_values, 5), (item_of_two_values, 5)],
    ids=lambda v: getattr(v, "__name__", ""))
def test_state_that_keeps_its_written_value_settles(make, most):
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


# Lists, tuples and arrays that are looked up by the counter.

RATES = [0.01 * i for i in range(60)]


class Trainer:
    def __init__(self, rates):
        self.rates, self.step = rates, 0

    def __call__(self, x):
        self.step += 1
        return x * self.rates[self.step]


class Scheduled(nn.Module):
    def __init__(self, rates):
        super().__init__()
        self.rates, self.step = rates, 0

    def forward(self, x):
        self.step += 1
        return x * self.rates[self.step]


def counted(f):
    """A step that calls `f` with its argument and the number of the call."""
    it = [0]

    def step(x):
        it[0] += 1
        return f(x, it[0])
    return step, lambda: it[0]


def of_an_object(kind):
    trainer = Trainer(kind(RATES))
    return trainer, lambda: (trainer.step, type(trainer.rates))


def of_a_module(kind):
    module = Scheduled(kind(RATES))
    return module, lambda: (module.step, type(module.rates))


def of_a_variable(kind):
    rates = kind(RATES)
    return counted(lambda x, k: x * rates[k] + (1 - rates[k]))


def from_the_end(kind):
    rates = kind(RATES)
    return counted(lambda x, k: x * rates[-k])


def in_a_circle(kind):
    rates = kind(RATES[3:6])
    return counted(lambda x, k: x * rates[k % len(rates)])


def up_to_the_last(kind):
    rates = kind(RATES[3:12])
    return counted(lambda x, k: x * rates[min(k, len(rates) - 1)])


def that_may_be_none(kind):
    rates = kind(RATES)
    return counted(lambda x, k: x * (1.0 if rates is None else rates[k]))


def that_is_returned(kind):
    rates = kind(RATES)
    return counted(lambda x, k: (rates[k], x * 2))


def in_a_table(kind):
    config = {"rates": [kind(RATES), kind(RATES[::-1])]}
    return counted(lambda x, k: x * config["rates"][1][k])


def of_an_optimizer(kind):
    rates, decays, momentum, it = kind(RATES), kind(RATES[::-1]), kind(RATES), [0]
    net, slow = nn.Linear(3, 2), nn.Linear(3, 2)
    opt = ingot.optim.AdamW(net.parameters())

    def step(x):
        for i, group in enumerate(opt.param_groups):
            group["lr"] = rates[it[0]]
            if i == 0:
                group["weight_decay"] = decays[it[0]]
        loss = net(x).pow(2).mean()
        opt.zero_grad()
        loss.backward()
        opt.step()
        with ingot.no_grad():
            m = momentum[it[0]]
            for p, q in zip(net.parameters(), slow.parameters()):
                q.data.mul_(m).add_((1 - m) * p.detach().data)
        it[0] += 1
        return loss
    return step, lambda: (it[0], opt.param_groups[0]["lr"], type(opt.param_groups[0]["lr"]), plain([*slow.parameters()]))


def of_a_helper(kind):
    rates = kind(RATES)

    def rate_at(table, k):
        return table[k]
    return counted(lambda x, k: x * rate_at(rates, k))


def both_runs(make, calls=40):
    """Return the results and state of a step and its traced form, call by call, and the traced form."""
    def run(wrap):
        ingot.manual_seed(3)
        step, look = make()
        step, got = wrap(step), []
        for i in range(calls):
            try:
                found = plain(step(ingot.full((2, 3), i + 1.0)))
            except IndexError:
                found = "IndexError"
            got.append((found, look()))
        return got, step

    got, traced = run(jit.trace)
    want, _ = run(lambda f: f)
    for i, (a, b) in enumerate(zip(got, want)):
        assert a == b, i
    return traced


@pytest.mark.parametrize("kind", [list, tuple, np.array, lambda rates: np.array(rates, np.float32)],
                         ids=["list", "tuple", "float64", "float32"])
@pytest.mark.parametrize("make", [of_an_object, of_a_module, of_a_variable, from_the_end, in_a_circle, up_to_the_last,
                                  that_may_be_none, that_is_returned, in_a_table, of_an_optimizer, of_a_helper])
def test_schedules_in_containers_settle(make, kind):
    traced = both_runs(lambda: make(kind))
    assert traced.stats()["compiles"] <= 4, traced.stats()["misses"]


def test_an_index_past_the_end_of_a_schedule():
    rates = RATES[:20]
    traced = both_runs(lambda: counted(lambda x, k: x * rates[k]))
    assert traced.stats()["compiles"] <= 3, traced.stats()["misses"]


# Other uses of such a container, perhaps in code that runs late, meet the container itself.

def appended_late(rates):
    def more():
        rates.append(7.0)

    def step(x, k):
        if k == 15:
            more()
        return x * rates[k]
    return step


def written_late(rates):
    def more(k):
        rates[k + 1] = 7.0

    def step(x, k):
        if k % 10 == 0:
            more(k)
        return x * rates[k]
    return step


def stored_late(rates):
    kept: dict = {}

    def keep():
        kept["rates"] = rates

    def step(x, k):
        if k == 15:
            keep()
        return x * rates[k] * (1 + (kept.get("rates") is rates))
    return step


def handed_late(rates):
    def look(table):
        return sum(table) if type(table) is list else 0.0

    def step(x, k):
        if k % 8 == 7:
            return x * look(rates)
        return x * rates[k]
    return step


def given_back(rates):
    def step(x, k):
        return (x * rates[k], rates is RATES) if k % 8 else (rates[1:3], len(rates))
    return step


def asked_for_its_type(rates):
    return lambda x, k: x * rates[k] if type(rates) is list else x


def gone_through_late(rates):
    tables = [rates]

    def step(x, k):
        y = x * tables[0][k]
        return y * any_is(tables, rates) if k > 14 else y
    return step


def any_is(tables, wanted):
    for table in tables:
        if table is wanted:
            return 2.0
    return 1.0


def numbers_of_two_kinds(rates):
    rates[::2] = range(30)
    return lambda x, k: x * rates[k]


@pytest.mark.parametrize("make", [appended_late, written_late, stored_late, handed_late, given_back, asked_for_its_type,
                                  gone_through_late, numbers_of_two_kinds])
def test_other_uses_of_a_schedule(make):
    rates: list = []

    def fresh():
        rates[:] = RATES
        step, look = counted(make(rates))
        return step, lambda: (look(), list(rates))
    both_runs(fresh)
    assert type(rates) is list


def test_a_schedule_that_changes_between_calls():
    rates: list = []

    def fresh():
        rates[:] = RATES
        step, look = counted(lambda x, k: x * rates[k])

        def change():
            if look() in (9, 10, 14):
                rates[look() + 1] = 5.0
            return look()
        return step, change
    both_runs(fresh)


# Counters that one function moves on and another reads.

class Log:
    def __init__(self):
        self.rows, self.step = [], 0

    def add(self, name, value, step=None):
        self.rows.append((name, value, self.step if step is None else step))


def logged_with_the_counter(log, x, k):
    log.step += 1
    log.add("sum", x.sum().item())
    return x * log.step


def logged_with_both(log, x, k):
    log.step += 1
    log.add("sum", x.sum().item(), k)
    log.add("mean", float(x.mean()))
    return x


def moved_on_twice(log, x, k):
    log.step += 1
    log.add("first", x.sum().item())
    log.step = log.step * 2
    log.add("second", 0.5)
    return x * log.step


def tensor_that_is_handed_over(log, x, k):
    log.step = x.sum()
    log.add("sum", 1.0)
    return log.rows[-1][2] * 2 + x


@pytest.mark.parametrize("f", [logged_with_the_counter, logged_with_both, moved_on_twice, tensor_that_is_handed_over])
def test_counters_that_another_function_reads_settle(f):
    def program():
        log = Log()
        step, look = counted(lambda x, k: f(log, x, k))
        return step, lambda: (look(), str(plain(log.rows[-3:])), str(plain(log.step)), len(log.rows))
    traced = both_runs(program, calls=14)
    assert f is tensor_that_is_handed_over or traced.stats()["compiles"] <= 5, traced.stats()["misses"]
