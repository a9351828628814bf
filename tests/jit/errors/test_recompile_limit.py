"""Limit of what recording costs: the rule on a clock of its own, and programs in which something changes at each call."""

import json
import os
import re
import subprocess
import sys
import time
import warnings
from collections import deque
from itertools import count
from typing import NamedTuple

import numpy as np
import pytest

import ingot
import row_sample
from ever_changing import PROGRAMS
from ingot import jit
from ingot.jit.errors.recompile_limit import (
    FREE,
    LONGEST_PAUSE,
    OVERHEAD,
    PATIENCE,
    Looks,
    RecompileLimit,
    kind_of_reason,
)
from ingot.jit.replay.shared_code import SharedCode
from ingot.jit.replay.symbolic_job import Variant
from ingot.jit.tracing import uncompiled_calls

BOUND, CALLS = 1.3, 100
REASONS = {uncompiled_calls.TIMED, uncompiled_calls.RESTING_LOOKS, uncompiled_calls.RESTING_REPLAYS, uncompiled_calls.TOO_DEAR,
           uncompiled_calls.TOO_DEAR_TO_BIND, uncompiled_calls.TOO_DEAR_TO_COMPILE, uncompiled_calls.TOO_OFTEN}


@pytest.fixture(autouse=True)
def _nothing_is_known(monkeypatch):
    monkeypatch.setattr(RecompileLimit, "_typical", {})


COLD_CALLS = 6


class Costs(NamedTuple):
    """Seconds of what a call may consist of."""

    eager: float = 1.0
    look: float = 0.5           # for a recording that does not fit
    replay: float = 0.2
    recording: float = 20.0
    compiling: float = 300.0
    cold_eager: float = 0.0     # more, for each of the first eager calls
    cold_replay: float = 0.0    # more, for a replay that follows another kind of call


class Function:
    """A function whose call number `i` needs the recording `needs(i)`, driven as `Traced` does it. Compiling a recording that
    has `size(need)` operators takes about as much longer than compiling one with a single operator as in real programs."""

    def __init__(self, needs, costs=Costs(), by_count=False, size=lambda need: 1):
        self.needs, self.costs, self.limit, self.size = needs, costs, RecompileLimit(by_count), size
        self.now = 0.0
        self.limit.clock = lambda: self.now
        self.recorded, self.compiled, self.replays = {}, set(), 0
        self.recordings: list = []          # numbers of calls
        self.resting, self.warned = 0, 0
        self.eager_calls, self.replayed = 0, False

    def call(self, number: int):
        """Return the seconds of a call."""
        start = self.now
        if not self.resting and self.limit.watched:
            self.resting = self.limit.rest(number)
        if self.resting > 1:
            self._run_untimed()
        elif self.resting:
            self._run_eagerly()
            self.resting += self.limit.rest(number + 1)     # the next call does not have to ask
        else:
            begin, invested = self.now, self.limit.invested
            self._look(number)
            self.limit.looked(self.now - begin, invested)
        self.resting = max(0, self.resting - 1)
        return self.now - start

    def _run_untimed(self):
        self.eager_calls, self.replayed = self.eager_calls + 1, False
        self.now += self.costs.eager + (self.costs.cold_eager if self.eager_calls <= COLD_CALLS else 0.0)

    def _run_eagerly(self):
        start = self.now
        self._run_untimed()
        self.limit.ran_eagerly(self.now - start)

    def _look(self, number):
        need = self.needs(number)
        if need in self.recorded:
            size = self.size(need)
            seconds = self.costs.compiling * (size + OVERHEAD) / (1 + OVERHEAD)
            if need not in self.compiled and not self.limit.affords("compiling", size=size):
                self.limit.missed(number)
                self.now += self.costs.look
                return self._run_eagerly()
            if need not in self.compiled:
                self.compiled.add(need)
                self.now += seconds
                self.limit.invest("compiling", seconds, size)
            self.limit.replayed(self.recorded[need])
            self.now += self.costs.replay + (0.0 if self.replayed else self.costs.cold_replay)
            self.replays, self.replayed = self.replays + 1, True
            return None
        self.now += self.costs.look
        self.limit.missed(number)
        if not self.limit.may_record():
            return self._run_eagerly()
        self.recordings.append(number)
        self.recorded[need] = set()       # (weak references take one)
        seconds = self.costs.recording + self.costs.eager
        reason = f"k is {number}; keep it [a.py:3, in f]" if number > 1 else ""
        self.now += seconds
        if self.limit.recorded(reason, seconds, self.recorded[need], self.replays + len(self.recordings)) and not self.warned:
            self.warned = number
        return None

    def run(self, first: int, last: int) -> float:
        """Return the seconds of calls `first` to `last`."""
        return sum([self.call(number) for number in range(first, last + 1)])


EVER_NEW = {
    "a number": lambda i: i,
    "one of two": lambda i: i % 2 and i,
    "rarely the same": lambda i: i * i % 101,
    "in pairs": lambda i: i // 2,
}
KINDS = {
    "small": Costs(), "slow look": Costs(look=9.0), "slow replay": Costs(replay=3.0), "slow all": Costs(look=9.0, replay=4.0),
    "large": Costs(eager=500.0, replay=100.0), "dear": Costs(recording=1e4, compiling=1e5),
}


@pytest.mark.parametrize("costs", KINDS.values(), ids=KINDS)
@pytest.mark.parametrize("needs", EVER_NEW.values(), ids=EVER_NEW)
def test_calls_after_the_first_ten_take_at_most_a_third_more(needs, costs):
    """The first hundred, and so on: what was saved before pays for what comes."""
    function, seconds = Function(needs, costs), 0.0
    function.run(1, FREE)
    for first in range(FREE + 1, 3000, CALLS):
        seconds += function.run(first, first + CALLS - 1)
        assert seconds <= BOUND * costs.eager * (first - FREE - 1 + CALLS)


SIZES = {
    "ever larger": lambda need: need + 1,
    "a large one late": lambda need: 300 if need > 2 * FREE else 1,
    "a large one first": lambda need: 1 if need else 300,
    "in turns": lambda need: 50 if need % 3 else 1,
}


@pytest.mark.parametrize("size", SIZES.values(), ids=SIZES)
@pytest.mark.parametrize("needs", [lambda i: i // 2, lambda i: i // 5, lambda i: i // 40], ids=["pairs", "by five", "by forty"])
def test_a_compilation_is_expected_to_take_as_long_as_its_operators(needs, size):
    """Small graphs that were compiled first do not make a large one look cheap."""
    costs = Costs(compiling=4.0, recording=2.0, look=0.1)
    function, seconds = Function(needs, costs, size=size), 0.0
    function.run(1, FREE)
    for first in range(FREE + 1, 3000, CALLS):
        seconds += function.run(first, first + CALLS - 1)
        assert seconds <= BOUND * costs.eager * (first - FREE - 1 + CALLS), first


def grown(x):
    """Steps of a loop that share their code."""
    while x.sum() < 100:
        x = x.exp().log() * 1.5 + x[:2].sum()
    return x


def test_only_what_is_compiled_counts_as_a_compilation(monkeypatch):
    """Not code that another segment has, nor lists of operators that run one by one."""
    kinds, made = [], []
    for kind in (SharedCode, Variant):
        real = kind.__init__
        monkeypatch.setattr(kind, "__init__", lambda self, *args, real=real: made.append(self) or real(self, *args))
    paid = RecompileLimit.invest
    monkeypatch.setattr(RecompileLimit, "invest", lambda self, kind, *args: kinds.append(kind) or paid(self, kind, *args))
    for lengths in ([4] * 6, [3, 4, 5, 6, 7, 8, 9, 3, 4, 5]):
        traced = jit.trace(grown)
        for i, n in enumerate(lengths):
            traced(ingot.full((n,), 1.0 + i % 3))
    assert kinds.count("compiling") == len(made) > 0
    assert kinds.count("sharing") > 0 and kinds.count("listing") > 0


def test_code_that_another_function_has_is_shared_where_compiling_is_too_dear(monkeypatch):
    first, x = jit.trace(grown), ingot.ones(4)
    for _ in range(4):
        first(x)
    monkeypatch.setattr(RecompileLimit, "affords", lambda self, *kinds, size=None: kinds != ("compiling",))
    shares, is_new = jit.trace(grown), jit.trace(lambda x: x.exp().sin() * 1.5)
    for _ in range(4):
        shares(x)
        is_new(x)
    refused = [uncompiled_calls.TOO_DEAR_TO_COMPILE in traced.stats()["eager"] for traced in (shares, is_new)]
    assert refused == [False, True]


SETTLING = {
    "from the first call": lambda i: 0,
    "after ten calls": lambda i: min(i, 11),
    "after a hundred": lambda i: min(i, 100),
    "after a thousand": lambda i: min(i, 1000),
    "five warm-ups, each a thousand times": lambda i: i % 5 if i < 11 else i // 1000 % 5,
    "five in turns": lambda i: i % 5,
    "branches one after the other": lambda i: i // 2000,
    "fixed, then symbolic": lambda i: i > 1,
}


class Shared(deque):
    """Times to which another thread adds some right after they were read."""

    def __iter__(self):
        yield from list(super().__iter__())
        self.extend([0.0] * 9)


def test_threads_may_add_times_while_their_median_is_found():
    looks = Looks()
    looks._misses = Shared([0.0])
    looks.misses = True
    looks.add(1.0, False)
    assert looks.dearest in (0.0, 1.0)


@pytest.mark.parametrize("needs", SETTLING.values(), ids=SETTLING)
def test_a_function_that_settles_is_recorded(needs):
    costs = Costs(eager=10.0, replay=1.0, look=3.0)
    function = Function(needs, costs)
    whole = function.run(1, 10_000)
    assert function.run(10_001, 11_000) < 0.4 * 1000 * costs.eager
    assert whole < BOUND * 10_000 * costs.eager


def test_a_rest_ends_where_replays_begin_to_pay():
    function = Function(lambda i: i if i < 5000 else 0, Costs(look=5.0, replay=0.3))
    function.run(1, 30_000)
    assert function.run(30_001, 31_000) < 500


@pytest.mark.parametrize("needs", [lambda i: 0, lambda i: i > 1, lambda i: i > 40], ids=["one", "two", "one late"])
@pytest.mark.parametrize("costs", [
    Costs(2e-5, 2e-4, 4e-5, 5e-3, 0.3, cold_eager=6e-4, cold_replay=3e-4),
    Costs(3e-6, 3e-4, 4e-6, 5e-3, 0.3, cold_eager=3e-5, cold_replay=1e-5),
    Costs(2e-6, 3e-4, 3e-6, 5e-3, 0.3)], ids=["small", "tiny", "warm"])
def test_first_eager_calls_are_not_taken_for_what_later_ones_cost(needs, costs):
    """Calls that load code and caches take ten times as long. Replays here never pay."""
    function = Function(needs, costs)
    function.run(1, FREE)
    cold = max(0, COLD_CALLS - function.eager_calls) * costs.cold_eager       # which eager code pays for in its first ten calls
    assert function.run(FREE + 1, FREE + CALLS) <= BOUND * CALLS * costs.eager + cold


def test_a_miss_may_prepare_a_quick_call():
    """A call may write the quick call of one recording before another look finds none."""
    limit = RecompileLimit()
    limit.changes_looks()
    limit.missed(1)
    limit.looked(1.0, 0.0)
    assert limit.looks.missed and not limit.rest(2)


def test_a_replay_that_follows_another_kind_of_call_does_not_stand_for_all():
    """Replays in a row pay, although each one that follows an eager call takes longer than that."""
    costs = Costs(eager=6e-5, look=1e-4, replay=2e-5, recording=5e-3, compiling=0.3, cold_eager=1e-4, cold_replay=1e-4)
    function = Function(lambda i: 0, costs)
    function.run(1, FREE)
    assert function.run(FREE + 1, FREE + CALLS) < 0.6 * CALLS * costs.eager


@pytest.mark.parametrize("is_deterministic", [False, True])
def test_without_costs_the_limit_counts_useless_recordings(is_deterministic):
    function = Function(lambda i: i, by_count=not is_deterministic)
    ingot.use_deterministic_algorithms(is_deterministic)
    try:
        function.run(1, 30_000)
    finally:
        ingot.use_deterministic_algorithms(False)
    assert function.recordings[:PATIENCE] == list(range(1, PATIENCE + 1))
    assert len(function.recordings) < PATIENCE + 12 + 30_000 // LONGEST_PAUSE         # ever more rarely, but never given up
    assert 30_000 - function.recordings[-1] <= LONGEST_PAUSE


def test_a_clock_that_stands_still_makes_recordings_free():
    function = Function(lambda i: i // 2, Costs(0, 0, 0, 0, 0))
    function.run(1, 200)
    assert len(function.recordings) == 101 and function.replays == 99 and not function.warned


def test_a_recording_that_is_used_ends_a_pause():
    function = Function(lambda i: i if i <= PATIENCE else 1 if i == PATIENCE + 1 else i, by_count=True)
    function.run(1, PATIENCE + 3)
    assert function.recordings == [*range(1, PATIENCE + 1), PATIENCE + 2, PATIENCE + 3]


@pytest.mark.parametrize("needs, pays", [
    (lambda i: i, False), (lambda i: i // 2, False), (lambda i: i // 5, False), (lambda i: i % 2 and i, False),
    (lambda i: i // 60, True)])
def test_recordings_that_do_not_pay_are_said_at_the_third(needs, pays):
    function = Function(needs, Costs(compiling=0.0, recording=0.1, look=0.0))
    function.run(1, 500)
    assert function.warned == (0 if pays else function.recordings[2]) and len(function.recordings) > 6


@pytest.mark.parametrize("reason, other, same", [
    ("item() gave 6.0, a value not seen before; keep it [a.py:3, in f]", "item() gave -1e-05, a value not seen before; keep it "
     "[a.py:3, in f]", True),
    ("item() gave 6.0; keep it [a.py:3, in f]", "item() gave 6.0; keep it [a.py:4, in f]", False),
    ("c.kind was 'a', and is 'd'; leave it [a.py:3, in f]", "c.kind was 'b', and is 'c'; leave it [a.py:3, in f]", True),
    ("d['a'] is 2.0; symbolic [a.py:3, in f]", "d['b'] is 2.0; symbolic [a.py:3, in f]", False),
    ("x.shape[0] is 4, and was recorded as 3 [a.py:3, in f]", "x.shape[0] is 5, and was recorded as 4 [a.py:3, in f]", True),
    ("x.shape[0] is 4, and was recorded as 3 [a.py:3, in f]", "x.shape[1] is 4, and was recorded as 3 [a.py:3, in f]", False),
    ("a recording needs k == 2.0; pass [a.py:3, in f]", "a recording needs k == 3.0; pass [a.py:3, in f]", True),
    ("runs [file2.py:3, in f]", "runs [file3.py:3, in f]", False)])
def test_reasons_are_compared_without_their_numbers(reason, other, same):
    assert (kind_of_reason(reason) == kind_of_reason(other)) is same


# Warnings of traced functions.


class Named:
    """State of which a function reads a text."""

    text, number = "", 0


def moved(x):
    Named.number += 1
    return x * len(str(Named.number))


def of_mixture(x):
    """A mixture of experts with a capacity."""
    chosen, start, parts = x[:, :3].argmax(-1), 0, []
    rows = x[chosen.argsort()]
    for n, size in enumerate(ingot.bincount(chosen, minlength=3).tolist()):
        parts.append(rows[start:start + size][:4] * n)
        start += size
    return ingot.cat(parts)


def named_by(i):
    Named.text = f"{i} of many"
    return ingot.ones(2),


# Cause -> (function, arguments of call i, name of what changes).
CAUSES = {
    "number": (lambda x, n: x * len("%d" % n), lambda i: (ingot.ones(2), i), r"\bn\b"),
    "text": (lambda x, name: x * len(name), lambda i: (ingot.ones(2), f"{i}!"), r"\bname\b"),
    "text that is returned": (lambda x, n: (x + 1, f"step {n}"), lambda i: (ingot.ones(2), i), r"\bn\b"),
    "object": (lambda x, f: f(x), lambda i: (ingot.ones(2), lambda v: v * 2), r"\bf\b"),
    "shape": (lambda x: x.reshape(int(str(x.shape[0])), -1) * 2, lambda i: (ingot.ones(4 + i, 4),), r"x\.shape\[0\]"),
    "value": (lambda x: x * float(str(x.sum().item())), lambda i: (ingot.full((2,), float(i)),), r"item\(\)"),
    "length of a result": (lambda x: [x] * int(x.sum().item()), lambda i: (ingot.full((1,), float(i)),), r"item\(\)"),
    "lengths": (lambda x, lengths: [x[:n].sum() for n in lengths.tolist()],
                lambda i: (ingot.ones(40), ingot.tensor([i + 1, 3])), r"tolist\(\)"),
    "mixture": (of_mixture, lambda i: (ingot.randn(20, 3) + ingot.arange(3) * (i % 7),), r"tolist\(\)"),
    "attribute": (lambda x: x * len(Named.text), named_by, r"Named\.text"),
    "number that it moves": (moved, lambda i: (ingot.ones(2),), r"Named\.number"),
}


@pytest.mark.parametrize("turn", [lambda i: i, lambda i: i // 2, lambda i: i if i % 3 else 0],
                         ids=["each call", "in pairs", "with one that comes again"])
@pytest.mark.parametrize("cause", CAUSES)
def test_the_third_recording_says_what_changes_and_where(cause, turn, monkeypatch):
    """All takes the same time, so that each miss is recorded."""
    ticks = count(1)
    monkeypatch.setattr(RecompileLimit, "clock", staticmethod(lambda: next(ticks) * 1e-6))
    function, arguments, name = CAUSES[cause]
    traced = jit.trace(function)
    ingot.manual_seed(0)
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        for i in range(30):
            traced(*arguments(turn(i)))
            if traced.stats()["compiles"] == 3:
                break
    assert [w.category for w in said] == [jit.TracerWarning], traced.stats()["misses"]
    text = str(said[0].message)
    assert re.search(name, text) and f"{os.path.basename(__file__)}:" in text and re.search(
        "[;:] (pass|keep|pad|leave|make|use|return)", text), text


# Programs in which something changes at each call.


def seconds_of(name: str, count: int, trace) -> list:
    """Return the CPU seconds of each call of a program."""
    function, arguments = PROGRAMS[name]()
    called, found = trace(function), []
    for given in map(arguments, range(count)):
        start = time.process_time()
        called(*given)
        found.append(time.process_time() - start)
    return found


def plain(x):
    return x.detach().numpy() if isinstance(x, ingot.Tensor) else x


def test_programs_record_only_among_the_first_calls(pytestconfig, recordings_cost_time):
    """A sample of the programs; the slow test runs all. Results are those of eager calls, however a call runs."""
    drawn = row_sample.some(sorted(PROGRAMS), pytestconfig.option.seed, "ever changing")
    for name in drawn:
        (function, arguments), (other, same) = PROGRAMS[name](), PROGRAMS[name]()
        traced = jit.trace(function)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", jit.TracerWarning)
            for i in range(3 * FREE):
                assert np.allclose(plain(traced(*arguments(i))), plain(other(*same(i))), 1e-4, 1e-5), (name, i)
                if i == FREE - 1:
                    before = traced.stats()["compiles"]
        assert traced.stats()["compiles"] <= before + 1, (name, traced.stats()["misses"])


def test_each_call_that_runs_eagerly_has_a_reason(recordings_cost_time):
    """The counts are right at any time, also while calls rest."""
    for name in ("string_argument", "sizes_of_elementwise", "steady"):
        function, arguments = PROGRAMS[name]()
        traced = jit.trace(function)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", jit.TracerWarning)
            for i in range(40):
                traced(*arguments(i))
                stats = traced.stats()
                assert stats["calls"] == i + 1 and stats["unrecorded"] == sum(stats["eager"].values()), (name, stats["eager"])
        assert set(stats["eager"]) <= REASONS and all(stats["eager"].values()), (name, stats["eager"])


@pytest.mark.slow
@pytest.mark.parametrize("name", PROGRAMS)
def test_a_hundred_calls_take_at_most_a_third_more_than_eager_ones(name, tmp_path):
    """Each side runs in a process of its own, from a cold cache. A call of a traced function is granted a microsecond."""
    seconds = {"eager": [], "traced": []}
    for turn in range(3):
        for way, found in seconds.items():
            folder = str(tmp_path / f"{way} {turn}")
            environment = dict(os.environ, INGOT_CACHE_DIR=folder, PYTHONPATH=os.pathsep.join(sys.path))
            ran = subprocess.run([sys.executable, __file__, name, way], env=environment, capture_output=True, text=True,
                                 check=True, timeout=110)
            found.append(json.loads(ran.stdout))
        if min(seconds["traced"]) <= BOUND * min(seconds["eager"]) + CALLS * 1e-6:
            return
    pytest.fail(f"{name}: {seconds}")


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    found = seconds_of(sys.argv[1], FREE + CALLS, jit.trace if sys.argv[2] == "traced" else lambda function: function)
    print(sum(found[FREE:]))
