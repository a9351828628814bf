"""Runs of the benchmarks: nothing that one workload does stops the others, and the results are kept."""

import json
import subprocess
import sys

import pytest

import ingot
from ingot.benchmarks import __main__ as program
from ingot.benchmarks import groups, harness, starts, subprocesses, worker
from ingot.benchmarks.harness import Plan
from ingot.benchmarks.result import Result, table


def test_the_worker_reports_results_and_what_broke(monkeypatch):
    def breaks(plan):
        yield Result("first", {"ingot": 1.0})
        raise ValueError("out of luck")

    monkeypatch.setitem(groups.GROUPS["small"].WORKLOADS, "breaks", breaks)
    before, events = ingot.get_num_threads(), []
    order = {"threads": 1, "quick": True, "tiny": True, "peers": [], "work": [("small", "breaks"), ("traced", "five_ops")]}
    try:
        worker.main(order, events.append)
    finally:
        ingot.set_num_threads(before)
    kinds = [next(iter(e)) for e in events]
    assert kinds == ["peaks", "begins", "result", "result", "ends", "begins", "result", "ends", "peaks"]
    first, broke, five = (Result(**e["result"]) for e in events if "result" in e)
    assert (first.name, first.group, first.threads) == ("first", "small", 1)
    assert broke.failed == {"ingot": "ValueError: out of luck"}
    assert set(five.seconds) == {"ingot", "ingot eager"} and not five.failed
    json.dumps(events)


PREAMBLE = """
import json, sys, time
order = json.loads(sys.argv[1])
def say(**event): print(json.dumps(event), flush=True)
"""

def stand_in(monkeypatch, code):
    """Lets `code` be the worker; it sees the order as `order`."""
    code = PREAMBLE + code
    monkeypatch.setattr(program, "command", lambda module, order: [sys.executable, "-c", code, order])


ORDER = {"threads": 1, "quick": True, "peers": [], "work": [("g", "good"), ("g", "bad"), ("g", "after")]}
GOES_ON = """
say(peaks={"flops": 1.0 + len(order["work"])})
for group, name in order["work"]:
    if name == "bad":
        %s
    say(result={"name": name, "seconds": {}, "group": group, "threads": 1})
    say(ends=[group, name], seconds=1.0)
"""


@pytest.mark.parametrize(("how", "why"), [("sys.exit(7)", "the process ended with status 7"),
                                          ("time.sleep(60)", "nothing came for 2 s")])
def test_a_workload_that_kills_or_hangs_does_not_stop_the_others(monkeypatch, capsys, how, why):
    stand_in(monkeypatch, GOES_ON % how)
    results = program.measured(ORDER, limit=2)
    assert [(r.name, r.failed) for r in results] == [("good", {}), ("bad", {"ingot": why}), ("after", {})]
    assert {r.peaks["flops"] for r in results} == {4.0}, "the best of what was measured"


def test_a_run_that_is_interrupted_shows_what_was_measured(monkeypatch, capsys):
    def interrupted(*args, **kwargs):
        raise KeyboardInterrupt

    stand_in(monkeypatch, GOES_ON % "time.sleep(60)")
    monkeypatch.setattr(program, "say", interrupted)
    with pytest.raises(program.Interrupted) as stop:
        program.measured(ORDER, limit=60)
    assert [(r.name, r.peaks["flops"]) for r in stop.value.results] == [("good", 4.0)]

    def stopped(*given):
        raise program.Interrupted([Result("good", {"ingot": 1.0}, "g", 1)])

    monkeypatch.undo()
    monkeypatch.setattr(program, "measured", stopped)
    assert program.main(["five_ops", "--quick", "--threads", "1", "--peers", ""]) == 130
    assert "good" in capsys.readouterr().out


COUNTED = """
say(peaks={"flops": 1.0})
for group, name in order["work"]:
    say(result={"name": name + " once", "seconds": {"ingot": 1.0}, "group": group, "threads": 1})
    if name == "%s":
        time.sleep(60)
    say(ends=[group, name], seconds=1.0)
"""


def test_a_run_out_of_time_can_be_continued(monkeypatch, tmp_path, capsys):
    """The file holds all measurements at any time. A later run measures the rest, and interrupted rows anew."""
    file, work = tmp_path / "run.json", ["five_ops", "guards", "add"]
    given = [*work, "--threads", "1", "--quick", "--peers", "", "--json", str(file), "--resume"]
    stand_in(monkeypatch, COUNTED % "five_ops")
    assert program.main([*given, "--minutes", "0.07"]) == 0
    assert "no time is left for five_ops, guards" in capsys.readouterr().err
    held = json.loads(file.read_text())
    assert [r["name"] for r in held["results"]] == ["add once", "five_ops once"] and held["done"] == [["small", "add", 1]]
    stand_in(monkeypatch, COUNTED % "none")
    assert program.main(given) == 0
    held = json.loads(file.read_text())
    assert [r["name"] for r in held["results"]] == ["add once", "five_ops once", "guards once"] and len(held["done"]) == 3
    assert held["about"]["command"].startswith("python -m benchmarks five_ops") and "numpy" in held["about"]["versions"]
    stand_in(monkeypatch, "sys.exit(3)")
    assert program.main(given) == 0, "nothing is left to do"
    with pytest.raises(SystemExit):
        program.main(["five_ops", "--resume"])


def test_a_device_has_peaks_of_its_own(monkeypatch):
    stand_in(monkeypatch, 'say(peaks={"flops": 1.0})\n'
             'say(result={"name": "a", "seconds": {}, "group": "g", "threads": 1, "peaks": {"flops": 7.0}})\n'
             'say(ends=["g", "good"], seconds=1.0)')
    found = program.measured(dict(ORDER, work=[("g", "good")]), limit=5)
    assert [r.peaks for r in found] == [{"flops": 7.0}]


def test_calls_that_queue_are_waited_for_once():
    log = []
    harness.seconds_of(harness.Queued(lambda: log.append("call"), lambda: log.append("wait")), 3)
    assert log == ["call", "call", "call", "wait"]


def test_a_worker_that_cannot_start_is_an_error(monkeypatch):
    stand_in(monkeypatch, "sys.exit(3)")
    with pytest.raises(RuntimeError, match="does not start: the process ended with status 3"):
        program.measured(ORDER, limit=5)
    assert program.main(["five_ops", "--quick", "--peers", ""]) == 2


def test_a_worker_ends_with_the_process_that_ordered_it():
    order = json.dumps({"threads": 1, "quick": True, "tiny": True, "peers": [], "work": [["training", "gpt_training"]] * 1000})
    worker = subprocess.Popen(subprocesses.command("worker", order), stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
                              cwd=subprocesses.ROOT, env=subprocesses.variables(1))
    try:
        assert "peaks" in worker.stdout.readline()
        worker.stdin.close()
        assert worker.wait(20) == 1
    finally:
        worker.kill()
        worker.stdout.close()


def test_a_run_prints_and_writes(tmp_path, capsys):
    out = tmp_path / "deep" / "run.json"
    status = program.main(["five_ops", "--quick", "--threads", "1", "--peers", "", "--json", str(out),
                           "--picture", str(tmp_path / "run.svg")])
    output = capsys.readouterr().out
    assert status == 0 and "traced, 1 thread\n" in output
    assert "5 ops on 8 floats" in output and "this machine, 1 thread: " in output
    data = json.loads(out.read_text())
    (row,) = data["results"]
    assert row["name"] == "5 ops on 8 floats" and row["seconds"]["ingot"] > 0 and data["about"]["quick"] is True
    assert (tmp_path / "run.svg").exists() and (tmp_path / "run-roofline.svg").exists()


TINY = Plan(threads=1, quick=True, tiny=True)


@pytest.mark.slow
def test_first_calls_are_measured_in_processes_that_share_a_cache():
    name = next(iter(groups.GROUPS["training"].WORKLOADS["mlp"](TINY))).name
    results = [Result(name, {"ingot": 1.0}, "training", 1), Result("other", {"ingot": 1.0}, "small", 1)]
    found, other = starts.with_starts(results, [("training", "mlp"), ("small", "add")], TINY, pytest.fail)
    assert set(found.starts) == {"cold", "warm", "memory"} and not other.starts
    assert 0 < found.starts["warm"] < found.starts["cold"], "the second process compiles nothing"
    assert found.starts["memory"] < 1 << 26
    assert "cold" in table([found, other]) and "first calls" not in table([found, other]), table([found, other])


def test_first_calls_that_break_are_named(monkeypatch):
    def breaks(*args, **kwargs):
        raise RuntimeError("out of luck")

    output = []
    monkeypatch.setattr(starts, "started", breaks)
    assert starts.with_starts([], [("training", "mlp")], TINY, output.append) == []
    assert output == ["first calls of training/mlp: out of luck"]


class Clock:
    """A clock whose processor is at work until a moment."""

    def __init__(self, busy_until):
        self.now, self.busy_until = 0.0, busy_until

    def sleep(self, seconds):
        self.now += seconds

    def perf_counter(self):
        return self.now

    def process_time(self):
        return min(self.now, self.busy_until)


@pytest.mark.parametrize("busy_until, least, ended", [(0.2, 0.01, 0.2), (0.0, 0.01, 0.01), (9.0, 0.01, 1.01), (9.0, 0.0, 0.0)])
def test_rest_waits_for_threads_that_spin(monkeypatch, busy_until, least, ended):
    """Until the processor rests, a second at the most."""
    clock = Clock(busy_until)
    monkeypatch.setattr(harness, "time", clock)
    harness.rest(least)
    assert ended <= clock.now <= ended + 0.011
