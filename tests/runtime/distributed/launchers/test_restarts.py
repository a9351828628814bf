"""Runs that start again after a failure, from their last checkpoint."""

import os
import queue
import re
import subprocess
import sys
import threading

import numpy as np
import pytest

import train_with_checkpoints
from ingot import distributed as dist
from ingot.runtime.distributed.launchers import command_line, error_files, launcher, rank_processes
from ingot.runtime.distributed.launchers.rounds import RUNNING, Machine, Round


def losses(tmp_path, failure, *options, size: int | str = 2):
    """Return {step: loss} of a run, as printed last, and what it says."""
    folder = tmp_path / failure.replace(" ", "-")
    folder.mkdir()
    command = [sys.executable, "-m", "ingot.distributed.run", "--nproc-per-node", str(size), *options,
               train_with_checkpoints.__file__]
    environment = {k: v for k, v in os.environ.items() if k != "INGOT_ENGINE"}
    done = subprocess.run([*command, str(folder), failure], capture_output=True, text=True, timeout=110, env=environment)
    assert done.returncode == 0, done.stderr
    found = re.findall(r"step (\d+) loss (\S+)", done.stdout)
    return {int(step): float(loss) for step, loss in found}, len(found), done.stderr


@pytest.mark.slow
@pytest.mark.parametrize("failure", ["raises", "is killed"])
def test_a_run_that_starts_again_has_the_losses_of_an_undisturbed_one(failure, tmp_path):
    undisturbed, steps, _ = losses(tmp_path, "never")
    disturbed, repeated, said = losses(tmp_path, failure, "--max-restarts=1")
    assert steps == len(undisturbed) == 8 and repeated == 10       # steps 5 and 6 come after the last checkpoint
    assert disturbed == undisturbed and "all processes start again (1 left)" in said


@pytest.mark.slow
@pytest.mark.parametrize(("failure", "words"), [("is killed", "2 of 3 processes start again"),
                                                ("raises", "all processes start again")])
def test_a_range_of_processes_goes_on_without_those_that_were_killed(failure, words, tmp_path):
    undisturbed, steps, _ = losses(tmp_path, "never", size="1:3")
    disturbed, repeated, said = losses(tmp_path, failure, "--max-restarts=1", size="1:3")
    assert steps == 8 and repeated == 10 and f"{words} (1 left)" in said
    np.testing.assert_allclose([disturbed[step] for step in range(8)], [undisturbed[step] for step in range(8)], rtol=1e-5)
    same_bits = disturbed == undisturbed
    assert same_bits == (failure == "raises")      # two ranks add up in another order


COUNTED = """
import os, signal, sys
from pathlib import Path
rank, size, attempt = (int(os.environ[name]) for name in ("RANK", "WORLD_SIZE", "TORCHELASTIC_RESTART_COUNT"))
Path(sys.argv[1], f"{attempt}-{rank}-of-{size}").touch()
dying = eval(sys.argv[2])[attempt:attempt + 1]
while dying and len(list(Path(sys.argv[1]).glob(f"{attempt}-*"))) < size:
    pass
if dying and rank in dying[0]:
    os.kill(os.getpid(), signal.SIGKILL)
if dying:
    signal.pause()
"""


@pytest.mark.parametrize(("counts", "dying", "sizes"), [("2:4", [[3]], [4, 3]), ("2:4", [[0], [1], [0]], [4, 3, 2, 2]),
                                                        ("3", [[1]], [3, 3]), ("1:2", [], [2])])
def test_the_processes_of_each_attempt(counts, dying, sizes, tmp_path, capfd):
    path, folder = tmp_path / "program.py", tmp_path / "seen"
    path.write_text(COUNTED)
    folder.mkdir()
    words = ["--nproc-per-node", counts, "--max-restarts", "4", str(path), str(folder), repr(dying)]
    assert launcher.main(words) == 0, capfd.readouterr().err
    want = {f"{attempt}-{rank}-of-{size}" for attempt, size in enumerate(sizes) for rank in range(size)}
    assert {p.name for p in folder.iterdir()} == want


FAILING = """
import os, signal, sys, time
from ingot import distributed as dist
import ingot

ENDS = {"exits": lambda: sys.exit(3), "exits with 1": lambda: sys.exit(1), "is killed": lambda: os.kill(os.getpid(), 9),
        "leaves at once": lambda: os._exit(3), "raises": lambda: {}["key"]}
if sys.argv[1] == "raises before" and os.environ["RANK"] == "2":
    raise KeyError("key")
dist.init_process_group()
for step in range(100):
    if step == 3 and dist.get_rank() == 2:
        ENDS[sys.argv[1]]()
    dist.all_reduce(ingot.ones(2))
"""


@pytest.mark.parametrize(("end", "words"), [
    ("exits", "failed with exit code 3"), ("exits with 1", "failed with exit code 1"), ("is killed", "was ended by SIGKILL"),
    ("leaves at once", "failed with exit code 3"), ("raises", "failed with exit code 1 (KeyError: 'key')"),
    ("raises before", "failed with exit code 1 (KeyError: 'key')")])
def test_the_rank_that_made_others_fail_is_named(end, words, tmp_path):
    path = tmp_path / "program.py"
    path.write_text(FAILING)
    command = [sys.executable, "-m", "ingot.distributed.run", "--nproc-per-node", "3", str(path), end]
    done = subprocess.run(command, capture_output=True, text=True, timeout=110,
                          env={k: v for k, v in os.environ.items() if k != "INGOT_ENGINE"})
    assert done.returncode == 1 and f"rank 2 (local rank 2) of {path} {words}; the others" in done.stderr, done.stderr
    lines = [line for line in done.stderr.splitlines() if not line.startswith("distributed.run: ")]
    assert all(re.match(r"\[rank[012]\]: ", line) for line in lines) or end == "raises before", done.stderr


class Process:
    """Process that ends when it is told to."""

    def __init__(self):
        self.code = queue.SimpleQueue()

    def wait(self):
        return self.code.get(timeout=60)


def test_failures_that_follow_from_others_wait_for_those():
    ends, processes = rank_processes.Ends(), [Process() for _ in range(3)]
    for number, process in enumerate(processes):
        ends.watch(number, process)
    processes[0].code.put(1)
    threading.Timer(0.2, processes[2].code.put, (3,)).start()
    assert {number: code for number, (code, _) in ends.failed(lambda number: number == 0).items()} == {0: 1, 2: 3}
    assert ends.failed(lambda number: number == 2).keys() == {0, 2}
    processes[1].code.put(0)


@pytest.mark.parametrize(("failed", "first"), [
    ({0: (1, 5.0), 1: (1, 4.0), 2: (1, 6.0)}, 1), ({0: (1, 1.0), 2: (-9, 6.0)}, 2), ({0: (1, 1.0), 3: (1, 6.0)}, 3),
    ({0: (1, 1.0), 4: (1, 2.0), 5: (1, 3.0)}, 5), ({4: (1, 2.0), 2: (3, 9.0)}, 2), ({0: (1, 1.0), 4: (1, 2.0)}, 0)])
def test_the_first_failure_is_that_which_follows_from_no_other(failed, first, tmp_path):
    """Ranks 0 and 4 have an error of communication, ranks 3 and 5 their own, the others none that they could write."""
    for local, (error, seconds) in {0: (dist.DistError("gone"), 1.0), 4: (dist.DistNetworkError("gone"), 2.0),
                                    3: (ValueError("a\nb"), 3.0), 5: (KeyError("k"), 1.5)}.items():
        with pytest.MonkeyPatch.context() as patch:
            patch.setenv(error_files.VARIABLE, rank_processes.error_file(str(tmp_path), local))
            patch.setattr(error_files.time, "time", lambda seconds=seconds: seconds)
            error_files.write_error(error)
            error_files.write_error(TypeError("later"))
    args = launcher.parse_args(["program.py"])
    share = Round(1, RUNNING, 0, "", (Machine(0, "a", 6, "default"),)).share(0)
    said = launcher._failure(args, command_line.plan_of(args), share, failed, str(tmp_path))
    assert said.startswith(f"rank {first} (") and ("ValueError: a)" in said) is (first == 3)
