"""Runs that start again after a failure, from their last checkpoint."""

import os
import re
import subprocess
import sys

import numpy as np
import pytest

from ingot.ir.errors import ArgumentError
from ingot.runtime.distributed.launchers import launcher

TRAINING = """
import os, signal, sys
import ingot
from ingot import distributed as dist, nn, optim
from ingot.distributed import checkpoint as dcp
from ingot.distributed.checkpoint.state_dict import get_state_dict, set_state_dict

folder, failure = sys.argv[1], sys.argv[2]
dist.init_process_group(timeout=60)
rank, size = dist.get_rank(), dist.get_world_size()
ingot.manual_seed(0)
net = nn.parallel.DistributedDataParallel(nn.Sequential(nn.Linear(20, 32), nn.Tanh(), nn.Linear(32, 3)))
optimizer, draw = optim.AdamW(net.parameters(), lr=0.01), ingot.Generator().manual_seed(1)
batches = [(ingot.randn(24, 20, generator=draw), ingot.randint(0, 3, (24,), generator=draw)) for _ in range(8)]
last = max((int(name) for name in os.listdir(folder) if os.path.exists(os.path.join(folder, name, ".metadata"))), default=-1)
if last >= 0:
    model, state = get_state_dict(net, optimizer)
    dcp.load({"model": model, "optimizer": state}, checkpoint_id=os.path.join(folder, str(last)))
    set_state_dict(net, optimizer, model_state_dict=model, optim_state_dict=state)
for step in range(last + 1, len(batches)):
    x, y = batches[step]
    loss = nn.functional.cross_entropy(net(x[rank::size]), y[rank::size])
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    mean = loss.detach()
    dist.all_reduce(mean, dist.ReduceOp.AVG)
    if rank == 0:
        print("step", step, "loss", repr(mean.item()), flush=True)
    if step % 3 == 1:
        model, state = get_state_dict(net, optimizer)
        dcp.save({"model": model, "optimizer": state}, checkpoint_id=os.path.join(folder, str(step)))
    if step == 6 and rank == size - 1 and os.environ["TORCHELASTIC_RESTART_COUNT"] == "0":
        if failure == "raises":
            raise ValueError("no data")
        if failure == "is killed":
            os.kill(os.getpid(), signal.SIGKILL)
dist.destroy_process_group()
"""


def losses(tmp_path, failure, *options, size: int | str = 2):
    """Return {step: loss} of a run, as printed last, and what it says."""
    path, folder = tmp_path / "program.py", tmp_path / failure.replace(" ", "-")
    path.write_text(TRAINING)
    folder.mkdir()
    command = [sys.executable, "-m", "ingot.distributed.run", "--nproc-per-node", str(size), *options, str(path)]
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


@pytest.mark.parametrize(("words", "text"), [
    (["--nproc-per-node", "4:2"], "the least number of processes comes first"),
    (["--nproc-per-node", "0:2"], "takes a number"), (["--nproc-per-node", "2:"], "takes a number"),
    (["--nproc-per-node", "1:2", "--nnodes", "2", "--node-rank", "0"], "a range is for processes on one machine"),
    (["--nproc-per-node", "1:2", "--hosts", "one,two"], "a range is for processes on one machine"),
    (["--nnodes", "1:4"], "--nproc-per-node takes a range for the processes of one")])
def test_ranges_that_cannot_be_are_errors(words, text):
    with pytest.raises(ArgumentError, match=text):
        launcher.run(launcher.parse_args([*words, "program.py"]))
