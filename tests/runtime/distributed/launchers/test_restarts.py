"""Runs that start again after a failure, from their last checkpoint."""

import os
import re
import subprocess
import sys

import numpy as np
import pytest

import train_with_checkpoints
from ingot.runtime.distributed.launchers import launcher


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
