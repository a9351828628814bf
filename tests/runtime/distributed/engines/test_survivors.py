"""`shrink_group`: runs that go on without ranks that have failed. The loop is that of docs/distributed.md."""

import os
import random
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import ingot
import mpi_seats
import ranks
from ingot import distributed as dist
from ingot.ir.errors import ArgumentError
from ingot.runtime.distributed.groups.process_group import ProcessGroup

PAGE = Path(ingot.__file__).parent / "docs/distributed.md"
STEPS = 12
PROGRAM = """
import os, signal, sys, threading, time
import ingot
from ingot import optim

TRAINING = {"plan": dict(eval(sys.argv[1])), "state": sys.argv[2], "speaks": sys.argv[3] == "True"}
# `plan` is {rank: (its last step, seconds to its end)}; `speaks` says whether the loss has a collective of its own
dist.init_process_group(timeout=60)
first = dist.get_rank()
ingot.manual_seed(0)
net = nn.Sequential(nn.Linear(20, 64), nn.Tanh(), nn.Linear(64, 3))
optimizer, draw = optim.SGD(net.parameters(), lr=0.05, momentum=0.9), ingot.Generator().manual_seed(1)
batches = [(ingot.randn(24, 20, generator=draw), ingot.randint(0, 3, (24,), generator=draw)) for _ in range(STEPS)]


def end():
    os.kill(os.getpid(), signal.SIGKILL)


def loss_of(model, step):
    x, y = batches[step]
    rank, size = dist.get_rank(), dist.get_world_size()
    at, later = TRAINING["plan"].get(first, (-1, 0))
    if step == at and later < 0:
        raise ValueError("no data")
    if step == at:
        threading.Timer(later, end).start() if later else end()
    if not os.path.exists(f"{TRAINING['state']}{size}") and rank == 0 and size < 4:
        ingot.save((step, net.state_dict(), optimizer.state_dict()), f"{TRAINING['state']}{size}")
    if TRAINING["speaks"]:
        assert summed(ingot.full((2,), rank + 1.0)).tolist() == [size * (size + 1.0)] * 2
    value = forward(model, x[rank::size], y[rank::size])
    whole = forward(net, x, y).detach()
    if rank == 0:
        os.write(1, f"size {size} step {step} loss {whole.item()!r}\\n".encode())
    return value


@ingot.jit.trace
def summed(t):
    dist.all_reduce(t)
    return 2 * t


def forward(model, x, y):
    return nn.functional.cross_entropy(model(x), y)


step = 0
if sys.argv[4:]:
    step, model, state = ingot.load(sys.argv[4])
    net.load_state_dict(model)
    optimizer.load_state_dict(state)
fit(net, optimizer, loss_of, STEPS, step)
os.write(1, f"rank {first} is done as {dist.get_rank()} of {dist.get_world_size()}\\n".encode())
dist.destroy_process_group()
"""


def program(tmp_path) -> str:
    """Return the path of a program with the page's loop."""
    blocks = re.findall(r"^```python\n(.*?)^```", PAGE.read_text(), re.MULTILINE | re.DOTALL)
    loop = next(block for block in blocks if "shrink_group" in block)
    path = tmp_path / "program.py"
    path.write_text(f"STEPS = {STEPS}\n{loop}\n{PROGRAM}")
    return str(path)


def losses(path, size, plan, *words) -> tuple:
    """Return {(ranks, step): loss} of a run, and what it says."""
    command = [*mpi_seats.mpiexec_that_goes_on(), "-n", str(size), sys.executable, path, repr(plan), *words]
    done = subprocess.run(command, capture_output=True, text=True, timeout=200, check=False,
                          env={**os.environ, "INGOT_NUM_THREADS": "1"})
    said = done.stdout + done.stderr
    assert said.count("is done as") == size - len(plan), said
    return {(int(n), int(step)): float(loss) for n, step, loss in re.findall(r"size (\d) step (\d+) loss (\S+)", said)}, said


@pytest.mark.slow
@pytest.mark.timeout(500)
@pytest.mark.parametrize("speaks", [False, True], ids=["by gradients alone", "with collectives"])
@pytest.mark.parametrize("victims", [(2,), (0,), "at any time", "raises", (3, 1)])
def test_survivors_go_on_as_a_run_of_so_many_ranks(victims, speaks, tmp_path):
    path, state = program(tmp_path), str(tmp_path / "state")
    seed = random.randrange(1 << 30)
    rng = random.Random(seed)
    plan = {"at any time": {rng.randrange(4): (3, 0.02 * rng.random())}, "raises": {1: (3, -1)}}.get(victims) or \
        {rank: (3 + 4 * i, 0) for i, rank in enumerate(victims)}
    found, said = losses(path, 4, plan, state, str(speaks))
    assert (4, 2) in found and (4, STEPS - 1) not in found, f"seed {seed}: {said}"
    for size in range(3, 3 - len(plan), -1):
        alone, _ = losses(path, size, {}, str(tmp_path / f"other{size}"), str(speaks), f"{state}{size}")
        steps = sorted(step for n, step in found if n == size)
        assert steps and (steps[-1] == STEPS - 1) == (size == 4 - len(plan)), f"seed {seed}: {said}"
        np.testing.assert_allclose([found[size, step] for step in steps], [alone[size, step] for step in steps], rtol=1e-6,
                                   err_msg=f"seed {seed}")


ALIVE = """
import os, sys, time
import ingot
from ingot import distributed as dist
from ingot.ir.errors import ArgumentError
dist.init_process_group(timeout=5)
world, rank = dist.group.WORLD, dist.get_rank()
for wrong, text in (({"ranks_to_exclude": [1]}, "rank 1 has not"), ({"shrink_flags": 7}, "SHRINK_ABORT")):
    try:
        dist.shrink_group(**wrong) if rank == 0 else None
    except ArgumentError as error:
        assert text in str(error), error
        os.write(1, b"refused\\n")
dist.barrier()
work = dist.all_reduce(ingot.ones(3), async_op=True) if rank else None      # rank 0 does not come
try:
    dist.shrink_group(shrink_flags=dist.SHRINK_ABORT) if rank < 2 else time.sleep(30)
except dist.DistTimeoutError as error:
    os.write(1, f"{error}\\n".encode())
    os._exit(0)
"""


@pytest.mark.slow
def test_a_rank_that_does_not_call_it_is_waited_for_in_vain(tmp_path):
    path = tmp_path / "program.py"
    path.write_text(ALIVE)
    command = [*mpi_seats.mpiexec_that_goes_on(), "-n", "3", sys.executable, str(path)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=100, check=False)
    assert done.stdout.count("refused") == 2, done.stdout + done.stderr
    assert done.stdout.count("waited 5 s in shrink_group, which all ranks call that have not failed") == 2, done.stdout


def _refused(rank):
    with pytest.raises(dist.DistBackendError, match=r"shrink_group: the engine '(local|mpi)' does not go on .*--with-ft ulfm"):
        dist.shrink_group()
    part = dist.new_group([0, 1])
    with pytest.raises(ArgumentError, match="takes the group of the whole run"):
        dist.shrink_group(group=part)
    assert isinstance(part, ProcessGroup) and dist.get_world_size() == 2
    dist.barrier()      # the run goes on as it was


@pytest.mark.parametrize("by_mpi", [False, True])
def test_elsewhere_an_error_says_what_to_do(by_mpi):
    if by_mpi:
        mpi_seats.mpiexec()
    ranks.run(2, _refused, by_mpi=by_mpi)


ALL_FAIL = """
import os, signal, sys
import ingot
from ingot import distributed as dist
dist.init_process_group(timeout=30)
for step in range(10):
    if step == 3 and dist.get_rank() == 2:
        os.kill(os.getpid(), signal.SIGKILL)
    try:
        dist.all_reduce(ingot.ones(2))
    except dist.DistBackendError:
        if sys.argv[1] == "at once":
            raise
        dist.shrink_group()
        if sys.argv[1] == "one by one" and dist.get_rank() == 0:
            raise
"""


@pytest.mark.slow
@pytest.mark.timeout(200)
@pytest.mark.parametrize(("fail", "code"), [("at once", 1), ("one by one", 1), ("never", 0)])
def test_mpiexec_says_whether_all_ranks_failed(fail, code, tmp_path):
    path = tmp_path / "program.py"
    path.write_text(ALL_FAIL)
    done = subprocess.run([*mpi_seats.mpiexec_that_goes_on(), "-n", "4", sys.executable, str(path), fail], capture_output=True,
                          text=True, timeout=150, check=False, env={**os.environ, "INGOT_NUM_THREADS": "1"})
    assert done.returncode == code, done.stdout + done.stderr
