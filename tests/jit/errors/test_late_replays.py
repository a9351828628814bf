"""Warnings of traces that replay few of their calls: none for training loops, one if something keeps changing."""

import copy
import random
import re
import warnings

import pytest

import ingot
from ingot import jit, nn, optim
from ingot.jit.errors.recompile_limit import LATE, LATEST, ChangingReasons, RecompileLimit, warms_up
from ingot.nn import functional as F

STEPS = 30


def network():
    ingot.manual_seed(0)
    return nn.Sequential(nn.Linear(16, 32), nn.BatchNorm1d(32), nn.ReLU(), nn.Dropout(0.1), nn.Linear(32, 4))


def batch(n=8):
    return ingot.randn(n, 16), ingot.randint(0, 4, (n,))


class Loop:
    """A training loop, with what its step and its rounds add."""

    def __init__(self, make=optim.AdamW):
        self.net = network()
        self.optimizer = make(self.net.parameters())
        self.step = jit.trace(self.one_step)

    def loss(self, x, y):
        return F.cross_entropy(self.net(x), y)

    def one_step(self, x, y):
        self.optimizer.zero_grad()
        loss = self.loss(x, y)
        loss.backward()
        self.optimizer.step()
        self.after()
        return loss.item()

    def after(self):
        pass

    def round(self, i):
        self.step(*batch())


class Accumulated(Loop):
    def one_step(self, x, y, is_last):
        (self.loss(x, y) / 4).backward()
        if is_last:
            self.optimizer.step()
            self.optimizer.zero_grad()

    def round(self, i):
        self.step(*batch(), i % 4 == 3)


class Mixed(Loop):
    def __init__(self):
        super().__init__()
        self.scaler = ingot.amp.GradScaler("cpu")

    def one_step(self, x, y):
        self.optimizer.zero_grad()
        with ingot.autocast("cpu", dtype=ingot.bfloat16):
            loss = self.loss(x, y)
        self.scaler.scale(loss).backward()
        self.scaler.step(self.optimizer)
        self.scaler.update()


class Averaged(Loop):
    def __init__(self):
        super().__init__()
        self.mean = copy.deepcopy(self.net)

    def after(self):
        with ingot.no_grad():
            for a, b in zip(self.mean.parameters(), self.net.parameters()):
                a.mul_(0.99).add_(b, alpha=0.01)


class Scheduled(Loop):
    def __init__(self):
        super().__init__()
        self.schedule = optim.lr_scheduler.OneCycleLR(self.optimizer, 0.1, total_steps=STEPS + 1)

    def after(self):
        self.schedule.step()


class WarmedUp(Loop):
    count = 0

    def after(self):
        self.count += 1
        for group in self.optimizer.param_groups:
            group["lr"] = 1e-3 * min(1.0, (self.count + 1) / 10)


class Evaluated(Loop):
    def __init__(self):
        super().__init__()
        self.traced = jit.trace(self.net)

    def round(self, i):
        self.net.train()
        self.optimizer.zero_grad()
        x, y = batch()
        F.cross_entropy(self.traced(x), y).backward()
        self.optimizer.step()
        self.net.eval()
        with ingot.no_grad():
            self.traced(x)


class SmallLastBatch(Loop):
    def round(self, i):
        self.step(*batch(5 if i % 6 == 5 else 8))


class Resumed(Loop):
    def round(self, i):
        if i == STEPS // 2:
            saved = copy.deepcopy((self.net.state_dict(), self.optimizer.state_dict()))
            self.net.load_state_dict(saved[0])
            self.optimizer.load_state_dict(saved[1])
        super().round(i)


class ByClosure(Loop):
    def __init__(self):
        super().__init__(lambda parameters: optim.LBFGS(parameters, max_iter=2))
        self.x, self.y = batch()
        self.closure = jit.trace(self.one_loss)

    def one_loss(self):
        self.optimizer.zero_grad()
        loss = self.loss(self.x, self.y)
        loss.backward()
        return loss

    def round(self, i):
        self.optimizer.step(self.closure)


LOOPS = {
    "SGD": lambda: Loop(lambda p: optim.SGD(p, lr=0.1)), "momentum": lambda: Loop(lambda p: optim.SGD(p, lr=0.1, momentum=0.9)),
    "Adam": lambda: Loop(optim.Adam), "AdamW": Loop, "accumulation": Accumulated, "mixed precision": Mixed,
    "moving average": Averaged, "schedule": Scheduled, "warm-up": WarmedUp, "evaluation": Evaluated,
    "small last batch": SmallLastBatch, "resumed": Resumed, "closure": ByClosure,
}


@pytest.mark.parametrize("name", LOOPS)
def test_training_loops_are_told_nothing(name, recordings_cost_time):
    loop = LOOPS[name]()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for i in range(STEPS):
            loop.round(i)


# Programs that trace what keeps changing. Each returns the traced function and a call of it.


def generate():
    layer, cache = nn.Linear(16, 16), []

    @jit.trace
    def token(x):
        q = layer(x)
        cache.append(q)
        return (ingot.stack(cache) * q).sum(0)

    return token, lambda i: token(ingot.randn(16))


def beam_search():
    layer, beams = nn.Linear(16, 50), [[0]] * 3

    @jit.trace
    def extended(h, beams):
        best = layer(h).topk(3).indices
        return [beam + [t] for beam, row in zip(beams, best) for t in row.tolist()][:3]

    def call(i):
        beams[:] = extended(ingot.randn(3, 16), beams)

    return extended, call


def agent():
    policy, seen = nn.Linear(4, 2), {}

    @jit.trace
    def act(observation):
        action = int(policy(observation).argmax())
        seen[len(seen), action] = True
        return action

    return act, lambda i: act(ingot.randn(4))


def counter():
    class State:
        count = 0

    @jit.trace
    def step(x):
        State.count += 1
        return x * 2 if str(State.count).endswith("7") else x

    return step, lambda i: step(ingot.randn(4, 16))


def sizes():
    draws = random.Random(0)

    @jit.trace
    def cut(x):
        return x.reshape(-1)[:int(str(len(x)))] * 2

    return cut, lambda i: cut(ingot.randn(draws.randrange(1, 500), 16))


LATE_PROGRAMS = {generate: "cache was <list of", beam_search: r"beams\[0\] has \d+ parts", agent: "", counter: r"count",
                 sizes: r"x\.shape\[0\]"}


@pytest.mark.parametrize("program", LATE_PROGRAMS, ids=lambda fn: fn.__name__)
def test_programs_that_pay_late_are_told_once(program, recordings_cost_time):
    _, call = program()
    with ingot.no_grad(), warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        for i in range(2 * STEPS):
            call(i)
    assert [type(w.message) for w in said if issubclass(w.category, jit.TracerWarning)] == [jit.TracerWarning]
    text = str(said[0].message)
    assert said[0].filename == __file__ and re.search(LATE_PROGRAMS[program], text)
    assert "for one reason, and" in text or "was replayed at" in text
    assert "stats()['misses']" in text


def few_recordings(monkeypatch, most):
    """Let no function be recorded more often: recordings are dear."""
    recorded = RecompileLimit.recorded
    counts: dict = {}

    def counted(self, *args, **kwargs):
        counts[self] = counts.get(self, 0) + 1
        return recorded(self, *args, **kwargs)

    monkeypatch.setattr(RecompileLimit, "recorded", counted)
    monkeypatch.setattr(RecompileLimit, "may_record", lambda self: counts.get(self, 0) < most)
    monkeypatch.setattr(RecompileLimit, "rest", lambda self, number: 0)


def test_the_share_of_replays_counts_from_the_twentieth_call_on(monkeypatch, recordings_cost_time):
    few_recordings(monkeypatch, 2)
    named = jit.trace(lambda x, name: (x * 2, name))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for i in range(LATE):
            named(ingot.ones(3), f"row {i}")
    pattern = (r"was replayed at 0 of its 20 calls alone, so tracing it gains little\. The most frequent reason, "
               r"of 1[0-9] calls: (.*)\. What keeps changing, at 1[0-9] calls: name is 'row 19', and was 'row 1'.*"
               r"name sizes in dynamic=.*\[.*test_late_replays\.py:\d+, in .*<lambda>\]$")
    with pytest.warns(jit.TracerWarning, match=pattern) as said:
        for i in range(LATE, 3 * LATE):
            named(ingot.ones(3), f"row {i}")
    assert len(said) == 1 and said[0].filename == __file__
    assert re.search(pattern, str(said[0].message))[1] in named.stats()["eager"]


def test_short_functions_are_told_late_and_the_true_reason(recordings_cost_time):
    """A function that is quicker than a look for its recording has one miss and hundreds of calls that rest."""
    policy = nn.Linear(4, 2)

    @jit.trace
    def act(observation, i):
        return policy(observation).argmax().item() + i

    with ingot.no_grad(), warnings.catch_warnings():
        warnings.simplefilter("error")
        for i in range(LATEST - 1):
            act(ingot.randn(4), i)
    with ingot.no_grad(), warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        for i in range(LATEST):
            act(ingot.randn(4), i)
    text, eager = str(said[0].message), act.stats()["eager"]
    assert len(said) == 1 and said[0].filename == __file__
    reason = max(eager, key=eager.__getitem__)
    count = re.search(rf"The most frequent reason, of ([\d,]+) calls: {re.escape(reason)}\. Way out: trace a larger part", text)
    assert LATEST // 2 < int(count[1].replace(",", "")) <= eager[reason]


def test_a_reason_that_stays_the_same_is_not_told(monkeypatch, recordings_cost_time):
    few_recordings(monkeypatch, 2)
    named = jit.trace(lambda x, name: (x * 2, name))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for i in range(3 * LATE):
            named(ingot.ones(3), f"phase {i // 5}" if i < 6 else "phase 2")


def test_the_worst_of_the_changing_reasons():
    reasons = ChangingReasons()
    for reason in ("a was 1, is 2 [f]", "a was 2, is 3 [f]", "flag is True [f]", "flag is False [f]", "flag is True [f]",
                   "the gradient of Linear.weight was None, and is set"):
        reasons.add(reason)
    assert (reasons.worst, reasons.count) == ("", 0)
    reasons.add("a was 3, is 4 [f]")
    assert (reasons.worst, reasons.count) == ("a was 3, is 4 [f]", 3)


def test_first_gradients_and_states_warm_up():
    assert warms_up("the gradient of Linear.weight was None, and is set")
    assert warms_up("the state or the groups of AdamW are other objects than before")
    assert not warms_up("cache was <list of 1>, is <list of 2>")
