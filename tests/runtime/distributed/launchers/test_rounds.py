"""Rounds of launchers by a mocked clock: who takes part, when rounds begin and end, and why."""

import itertools

import pytest

from ingot.ir.errors import ArgumentError
from ingot.runtime.distributed.launchers import rounds
from ingot.runtime.distributed.launchers.rounds import Coordinator, Machine, Member, Report, Round, RunSettings
from ingot.runtime.distributed.stores.distributed_errors import DistBackendError, DistStoreError
from ingot.runtime.distributed.stores.store import HashStore

STEP, ENDING = 0.25, 0.5        # seconds between looks, and for processes to end


class Simulated:
    """Launcher that follows rounds: it reports each second, and ends its processes before it is ready again."""

    def __init__(self, host, node_rank=None):
        self.report, self.is_stopped, self.ready_at = Report(host, 1, "default", node_rank), False, None
        self.round = 0

    def change(self, **fields):
        self.report = self.report._replace(beat=self.report.beat + 1, **fields)

    def follow(self, found: Round, number: int, now: float):
        if self.is_stopped or self.report.state == rounds.GONE:
            return
        if now % 1 == 0:
            self.change()
        if self.report.state == rounds.READY:
            if found.phase == rounds.RUNNING and found.has(number):
                self.round = found.number
                self.change(state=rounds.RUNNING)
        elif found.number != self.round and self.ready_at is None:
            self.ready_at = now + ENDING
        elif self.ready_at is not None and now >= self.ready_at:
            self.ready_at = None
            self.change(state=rounds.READY)


def history(events, until=100.0, **settings) -> list:
    """Return (time, phase, hosts, restarts) whenever one of these but the time changes, and the last reason."""
    told = {"rdzv_id": "none", "least_nodes": 1, "most_nodes": 3, "max_restarts": 2, "join_timeout": 20.0,
            "last_call_timeout": 3.0, "keep_alive_timeout": 4.0, **settings}
    coordinator, launchers, seen = Coordinator(RunSettings(**told)), {}, []
    left = sorted(events, key=lambda e: e[0])
    for now in itertools.takewhile(lambda t: t <= until, itertools.count(0.0, STEP)):
        while left and left[0][0] <= now:
            _, host, what, *rest = left.pop(0)
            if what == "comes":
                launchers[len(launchers)] = Simulated(host, *rest)
                continue
            found = next(launcher for launcher in launchers.values() if launcher.report.host == host)
            if what in ("stops", "goes on"):
                found.is_stopped = what == "stops"
            else:
                found.change(state=what, words=f"a rank on {host} failed")
        for number, launcher in launchers.items():
            launcher.follow(coordinator.round, number, now)
        coordinator.decide({number: launcher.report for number, launcher in launchers.items()}, now)
        found = coordinator.round
        hosts = "".join(m.host for m in found.machines) if found.phase == rounds.RUNNING else ""
        if not seen or seen[-1][1:] != (found.phase, hosts, found.restarts):
            seen.append((now, found.phase, hosts, found.restarts))
    return [*seen, coordinator.round.reason]


A, B, C = ((0.0, host, "comes") for host in "abc")
START = [(0.0, "running", "abc", 0)]

# name: (events, settings, history)
ROWS = {
    "the most have come": ([A, (1.0, "b", "comes"), (2.0, "c", "comes")], {},
                           [(0, "open", "", 0), (2, "running", "abc", 0), ""]),
    "the least have come and nobody more": ([A, (1.0, "b", "comes")], {"least_nodes": 2},
                                            [(0, "open", "", 0), (4, "running", "ab", 0), ""]),
    "too few have come": ([A], {"least_nodes": 3}, [(0, "open", "", 0), (20, "failed", "", 0),
                                                    "1 of at least 3 machines joined within 20 s; 2 missing"]),
    "a number is missing": ([(0.0, "a", "comes", 0), (0.0, "c", "comes", 2)], {"least_nodes": 3},
                            [(0, "open", "", 0), (20, "failed", "", 0),
                             "2 of at least 3 machines joined within 20 s; 1 missing: --node-rank [1]"]),
    "a number twice": ([(0.0, "a", "comes", 0), (0.0, "b", "comes", 0)], {"least_nodes": 2, "most_nodes": 2},
                       [(0, "open", "", 0), (20, "failed", "", 0),
                        "1 of at least 2 machines joined within 20 s; 1 missing: --node-rank [1]"]),
    "numbers give the order": ([(0.0, "a", "comes", 2), (0.0, "b", "comes", 0), (0.0, "c", "comes", 1)], {},
                               [(0, "running", "bca", 0), ""]),
    "one left before the round began": ([A, B, (1.0, "a", "gone"), (2.0, "c", "comes")], {"least_nodes": 2, "most_nodes": 3},
                                        [(0, "open", "", 0), (5, "running", "bc", 0), ""]),
    "all are done": ([A, B, C, (9.0, "b", "done"), (11.0, "a", "done"), (12.0, "c", "done")], {},
                     [*START, (12, "done", "", 0), ""]),
    "one is done, then silent": ([A, B, C, (9.0, "b", "done"), (9.0, "b", "stops"), (20.0, "a", "done"),
                                  (20.0, "c", "done")], {}, [*START, (20, "done", "", 0), ""]),
    "a rank failed": ([A, B, C, (9.0, "b", "failed")], {},
                      [*START, (9, "open", "", 1), (9.75, "running", "abc", 1), "a rank on b failed"]),
    "ranks failed too often": ([A, B, C, (9.0, "b", "failed"), (19.0, "a", "failed"), (29.0, "c", "failed")], {},
                               [*START, (9, "open", "", 1), (9.75, "running", "abc", 1), (19, "open", "", 2),
                                (19.75, "running", "abc", 2), (29, "failed", "", 2), "a rank on c failed"]),
    "a launcher is silent": ([A, B, C, (9.5, "b", "stops")], {},
                             [*START, (13, "open", "", 1), (16.75, "running", "ac", 1),
                              "the launcher on b has been silent for 4 s"]),
    "a silent launcher comes back": ([A, B, C, (9.5, "b", "stops"), (30.0, "b", "goes on")], {},
                                     [*START, (13, "open", "", 1), (16.75, "running", "ac", 1), (30.5, "open", "", 1),
                                      (31.25, "running", "acb", 1), "a launcher on b has come"]),
    "a launcher has left": ([A, B, C, (9.0, "a", "gone")], {},
                            [*START, (9, "open", "", 1), (12.75, "running", "bc", 1), "the launcher on a was ended"]),
    "no restart is left": ([A, B, C, (9.0, "a", "gone")], {"max_restarts": 0},
                           [*START, (9, "failed", "", 0), "the launcher on a was ended"]),
    "too few are left": ([A, B, C, (9.0, "a", "gone")], {"least_nodes": 3},
                         [*START, (9, "open", "", 1), (29, "failed", "", 1),
                          "2 of at least 3 machines joined within 20 s; 1 missing"]),
    "another one takes a place": ([(0.0, "a", "comes", 0), (0.0, "b", "comes", 1), (9.5, "b", "stops"),
                                   (11.0, "c", "comes", 1)], {"least_nodes": 2, "most_nodes": 2},
                                  [(0, "running", "ab", 0), (13, "open", "", 1), (13.75, "running", "ac", 1),
                                   "the launcher on b has been silent for 4 s"]),
    "a newcomer": ([A, B, (9.0, "c", "comes")], {},
                   [(0, "open", "", 0), (3, "running", "ab", 0), (9, "open", "", 0), (9.75, "running", "abc", 0),
                    "a launcher on c has come"]),
    "a newcomer at the end": ([A, B, (9.0, "a", "done"), (10.0, "c", "comes"), (11.0, "b", "done")], {},
                              [(0, "open", "", 0), (3, "running", "ab", 0), (11, "done", "", 0), ""]),
    "one more than the most": ([A, B, C, (1.0, "d", "comes"), (9.0, "a", "gone")], {},
                               [*START, (9, "open", "", 1), (9.75, "running", "bcd", 1), "the launcher on a was ended"]),
    "the one too many stays out": ([A, B, C, (1.0, "d", "comes"), (9.5, "b", "stops"), (30.0, "b", "goes on"),
                                    (40.0, "a", "failed")], {},
                                   [*START, (13, "open", "", 1), (13.75, "running", "acd", 1), (40, "open", "", 2),
                                    (40.75, "running", "acd", 2), "a rank on a failed"]),
    "no round begins before processes have ended": (
        [A, B, C, (1.0, "d", "comes"), (9.0, "b", "failed")], {"last_call_timeout": 0.0},
        [*START, (9, "open", "", 1), (9.75, "running", "abc", 1), "a rank on b failed"]),
    "one notices late that its round runs": ([A, (1.0, "b", "comes"), (1.5, "b", "stops"), (4.0, "b", "goes on")],
                                             {"least_nodes": 2, "last_call_timeout": 1.0},
                                             [(0, "open", "", 0), (2, "running", "ab", 0), ""]),
    "processes do not end": ([A, B, C, (9.0, "b", "failed"), (9.0, "c", "running")], {"join_timeout": 0.25},
                             [*START, (9, "open", "", 1), (9.25, "failed", "", 1),
                              "the processes on a, b, c have not ended within 0.25 s, so no new round can begin"]),
}


@pytest.mark.parametrize(("events", "settings", "want"), ROWS.values(), ids=[*ROWS])
def test_rounds_follow_launchers(events, settings, want):
    assert history(events, until=50.0, **settings) == want


@pytest.mark.parametrize("gap", [0.5, 3600.0])
def test_a_coordinator_that_was_stopped_finds_nobody_silent(gap):
    settings = RunSettings("none", 2, 2, 0, 20.0, 3.0, 4.0)
    coordinator, reports = Coordinator(settings), {n: Report(host, 1, "default", None) for n, host in enumerate("ab")}
    assert coordinator.decide(reports, 100.0).phase == rounds.RUNNING
    assert coordinator.decide(reports, 100.0 + gap).phase == rounds.RUNNING
    silent = [coordinator.decide(reports, 100.0 + gap + s).phase for s in range(1, 9)]
    assert silent[-1] == rounds.FAILED


def test_ranks_of_machines_and_of_roles():
    found = Round(3, rounds.RUNNING, 0, "", (Machine(0, "a", 2, "x"), Machine(7, "b", 3, "y"), Machine(4, "c", 1, "x")))
    shares = [tuple(found.share(member)) for member in (0, 7, 4)]
    assert shares == [(0, 3, 2, 0, 6, 0, 3), (1, 3, 3, 2, 6, 0, 3), (2, 3, 1, 5, 6, 2, 3)]
    assert found.has(7) and not found.has(1)


SETTINGS = RunSettings("none", 1, 2, 0, 20.0, 0.0, 4.0)


def members(count, settings=SETTINGS) -> list:
    """Return launchers that meet at a store of this process; the first one decides."""
    store = HashStore(0.2)
    return [Member(store, store.table if i == 0 else None, settings, Report(f"host{i}", i + 1, "default", None))
            for i in range(count)]


def test_launchers_meet_at_a_store_and_end_together():
    first, second = members(2)
    assert first.look() == second.look() and second.round.phase == rounds.RUNNING
    assert second.round.share(second.number)[3:5] == (1, 3)
    for each in (first, second):
        each.report(state=rounds.DONE)
    assert first.look().phase == second.look().phase == rounds.DONE
    first.leave()
    second.leave()


def test_the_end_of_the_serving_launcher_ends_the_run():
    first, second = members(2)
    first.look()
    second.leave()              # (so that nobody is waited for)
    first.leave(DistBackendError("it was ended"))
    assert (first.round.phase, first.round.reason) == (rounds.FAILED, "it was ended")


@pytest.mark.parametrize(("field", "value"), [("rdzv_id", "other"), ("least_nodes", 2), ("most_nodes", 3), ("max_restarts", 1),
                                              ("join_timeout", 1.0), ("last_call_timeout", 1.0), ("keep_alive_timeout", 1.0)])
def test_launchers_of_one_run_have_the_same_settings(field, value):
    store = HashStore(0.2)
    Member(store, store.table, SETTINGS, Report("a", 1, "default", None))
    with pytest.raises(ArgumentError, match=f"{field.replace('_', '-')} is {value!r} here, and {getattr(SETTINGS, field)!r}"):
        Member(store, None, SETTINGS._replace(**{field: value}), Report("b", 1, "default", None))


def test_a_store_without_a_launcher_is_no_place_to_join():
    with pytest.raises(DistStoreError, match="no launcher serves"):
        Member(HashStore(0.05), None, SETTINGS, Report("b", 1, "default", None))
