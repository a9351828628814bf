"""The engine of MPI: launchers, collectives of all kinds, ranks that end, stop or stay away. Needs mpi4py and mpiexec."""

import os
import random
import re
import signal
import subprocess
import sys
import time
from collections import defaultdict, deque

import ml_dtypes
import numpy as np
import pytest

import ingot
import mpi_seats
import ranks
from ingot import distributed as dist
from ingot import multiprocessing as mp
from ingot.ir.errors import ArgumentError
from ingot.runtime.distributed.engines import mpi_channel
from ingot.runtime.distributed.engines.engine import Channel, Run
from ingot.runtime.distributed.engines.mpi_engine import MPIEngine
from ingot.runtime.distributed.groups.choose_engine import joins_by_mpi
from ingot.runtime.distributed.stores import launch_variables
from ingot.runtime.distributed.stores.launch_variables import address, first_host, launch

VARIABLES = ["RANK", "WORLD_SIZE", "MASTER_ADDR", "MASTER_PORT", "PMIX_RANK",
             *[name for row in launch_variables._LAUNCHERS for name in row[1:3]]]
OPS = dist.ReduceOp
ENDS = ["raise ValueError('no data')", "sys.exit(3)", "os._exit(0)", "os.kill(os.getpid(), signal.SIGKILL)"]


def run(size, body, *args, timeout=30):
    mpi_seats.mpiexec()
    ranks.run(size, body, *args, timeout=timeout, by_mpi=True)


@pytest.fixture
def plain(monkeypatch):
    """Environment of a process that no launcher has started."""
    for name in VARIABLES:
        monkeypatch.delenv(name, raising=False)
    return monkeypatch


# Launchers.


@pytest.mark.parametrize(("given", "missing"), [
    ({"PMI_RANK": "0"}, "PMI_SIZE"), ({"PMI_SIZE": "2"}, "PMI_RANK"), ({"OMPI_COMM_WORLD_RANK": "1"}, "OMPI_COMM_WORLD_SIZE"),
    ({"OMPI_COMM_WORLD_SIZE": "1"}, "OMPI_COMM_WORLD_RANK"), ({"SLURM_PROCID": "1"}, "SLURM_NTASKS"),
    ({"PMI_RANK": "x", "PMI_SIZE": "2"}, "PMI_RANK"), ({"RANK": "0"}, "WORLD_SIZE"), ({"WORLD_SIZE": "2"}, "RANK")])
def test_an_environment_that_is_half_set_is_an_error(given, missing, plain):
    for name, value in given.items():
        plain.setenv(name, value)
    with pytest.raises(ArgumentError, match=rf"variable {missing}\b"):
        dist.init_process_group()


def test_launchers_are_found(plain):
    assert launch() is None
    plain.setenv("SLURM_NTASKS", "4")       # salloc sets the size alone
    assert launch() is None
    plain.setenv("SLURM_PROCID", "3")
    assert launch() == ("srun", 3, 4, False, False) and MPIEngine.preference() < 0 and not joins_by_mpi("mpi")
    plain.setenv("PMIX_RANK", "3")          # srun --mpi=pmix: by MPI where that is asked for, or no other engine fits
    assert launch() == ("srun", 3, 4, True, False) and MPIEngine.preference() == 0
    assert joins_by_mpi("mpi") and not joins_by_mpi("")
    plain.setenv("PMI_RANK", "1")
    plain.setenv("PMI_SIZE", "4")
    assert launch()[1:] == (1, 4, True, True) and joins_by_mpi("") and MPIEngine.preference() == 2
    plain.setenv("RANK", "0")               # another launcher in between
    assert MPIEngine.preference() < 0


@pytest.mark.parametrize(("nodes", "first"), [
    ("one", "one"), ("one,two", "one"), ("node[03-05,7]", "node03"), ("node[1,4]", "node1"), ("a[10-12]-ib,b", "a10-ib"),
    ("rack-2-n[001-9]", "rack-2-n001"), ("", "")])
def test_the_first_machine_of_a_list(nodes, first):
    assert first_host(nodes) == first


def test_ranks_of_one_step_of_slurm_meet_at_one_place(plain):
    for name, value in (("SLURM_JOB_ID", "77"), ("SLURM_STEP_ID", "1"), ("SLURM_PROCID", "0"), ("SLURM_NTASKS", "2"),
                        ("SLURM_STEP_NODELIST", "n[1-2]"), ("SLURM_STEP_NUM_NODES", "2"), ("SLURM_LOCALID", "1")):
        plain.setenv(name, value)
    here = address()
    assert here[0] == "n1" and 15_000 <= here[1] < 30_000 and dist.get_node_local_rank() == 1
    plain.setenv("SLURM_STEP_ID", "2")
    assert address() != here, "the next step is another run"
    plain.setenv("SLURM_STEP_NUM_NODES", "1")
    assert address()[0] == "127.0.0.1"
    plain.setenv("MASTER_ADDR", "n9")
    with pytest.raises(ArgumentError, match="MASTER_PORT"):
        address()
    plain.setenv("MASTER_PORT", "http")
    with pytest.raises(ArgumentError, match="MASTER_PORT is not a number: 'http'"):
        address()
    plain.setenv("MASTER_PORT", "123")
    assert address() == ("n9", 123)


def _as_step_of_slurm(rank):
    names = {"SLURM_JOB_ID": str(os.getppid()), "SLURM_STEP_ID": "0", "SLURM_PROCID": str(rank),
             "SLURM_NTASKS": "2", "SLURM_STEP_NODELIST": "here", "SLURM_STEP_NUM_NODES": "1"}
    os.environ.update(names)
    dist.init_process_group()
    t = ingot.full((2,), rank + 1.0)
    dist.all_reduce(t)
    assert t.tolist() == [3, 3] and dist.get_world_size() == 2
    dist.destroy_process_group()


def test_a_program_runs_under_srun(plain):
    mp.start_processes(_as_step_of_slurm, (), 2, start_method="fork")


def test_refusals_say_what_to_do(plain):
    pytest.importorskip("mpi4py")
    assert "mpiexec -n 3 python" in MPIEngine.refusal(Run(0, 3, None, 1))
    plain.setenv("PMI_RANK", "1")
    plain.setenv("PMI_SIZE", "2")
    assert "has started 2 processes, and the world size is 3" in MPIEngine.refusal(Run(0, 3, None, 1))
    assert MPIEngine.refusal(Run(0, 2, None, 1)) == ""


def test_without_mpi4py_errors_name_the_packages(plain):
    plain.setattr("ingot.runtime.distributed.engines.mpi_library.importlib.util.find_spec", lambda name: None)
    plain.setenv("PMI_RANK", "0")
    plain.setenv("PMI_SIZE", "2")
    with pytest.raises(dist.DistBackendError, match=r'pip install "mpi4py>=4\.1" "mpich>=5"'):
        dist.init_process_group()
    with pytest.raises(ArgumentError, match=r'pip install "mpi4py>=4\.1" "mpich>=5"'):
        dist.init_process_group("mpi")
    assert not dist.is_mpi_available() and not dist.is_backend_available("mpi")


def program(tmp_path, text, size, *words, timeout=60, **variables):
    """Run a program by mpiexec; return (exit status, output, seconds)."""
    path = tmp_path / "program.py"
    path.write_text("import os, signal, sys, time\nimport ingot\nfrom ingot import distributed as dist\n" + text)
    begin, command = time.monotonic(), [*mpi_seats.mpiexec(), "-n", str(size), sys.executable, str(path), *words]
    environment = {**{k: v for k, v in os.environ.items() if k not in VARIABLES}, **variables}
    done = subprocess.run(command, capture_output=True, text=True, timeout=timeout, env=environment, check=False)
    return done.returncode, done.stdout + done.stderr, time.monotonic() - begin


def test_a_program_needs_no_address_under_mpiexec(tmp_path):
    code, said, _ = program(tmp_path, """
for backend in (None, "mpi", "gloo"):
    dist.init_process_group(backend)
    t = ingot.full((3,), dist.get_rank() + 1.0)
    dist.all_reduce(t)
    group = dist.group.WORLD
    group.store.set(f"{backend}{dist.get_rank()}", "there")
    group.store.wait([f"{backend}{r}" for r in range(4)])
    os.write(1, f"{t.tolist()} {group}\\n".encode())      # whole lines
    dist.destroy_process_group()
dist.init_process_group()       # and left without a word
dist.barrier()
""", 4)
    assert code == 0, said
    for backend in ("gloo", "mpi"):
        words = f"[10.0, 10.0, 10.0] <ProcessGroup 'default' of ranks [0, 1, 2, 3]: {backend}, by engine 'mpi'>"
        assert said.count(words) >= 4, said


@pytest.mark.parametrize("binding", ["a core for each", "all on one core", "all cores for all"])
def test_ranks_that_share_cores_let_each_other_run(binding, tmp_path):
    """They do so after each test of a request. Where each has a core, that would take longer."""
    cores, size = len(os.sched_getaffinity(0)), 3
    code, said, _ = program(tmp_path, """
cores, rank = sorted(os.sched_getaffinity(0)), int(os.environ.get("PMI_RANK", os.environ.get("OMPI_COMM_WORLD_RANK")))
chosen = {"a core for each": {cores[rank % len(cores)]}, "all on one core": cores[:1], "all cores for all": cores}
os.sched_setaffinity(0, chosen[sys.argv[1]])
dist.init_process_group()
t = ingot.ones(100_000)
dist.all_reduce(t)
assert (t == 3).all()
os.write(1, f"shares {dist.group.WORLD.engine.progress.shares_cores}\\n".encode())
dist.destroy_process_group()
""", size, binding)
    expected = size > (1 if binding == "all on one core" else cores)
    assert code == 0 and said.count(f"shares {expected}") == size, said


# Collectives.


def is_close(found, want) -> bool:
    """Return whether numbers differ by the order of their sum at most; small integers, whose sums are exact, do not."""
    return np.allclose(found.astype(np.complex128), want.astype(np.complex128), rtol=1e-6, atol=0)


def _reductions(rank, size, seed):
    rng, group = random.Random(seed), dist.group.WORLD
    reference = Channel(group.engine, group)        # by messages, in the order of ranks
    for step in range(40):
        dtype = rng.choice([ingot.float32, ingot.float64, ingot.bfloat16, ingot.float16, ingot.int32, ingot.uint8, ingot.bool,
                            ingot.complex64])
        ops = [OPS.SUM] if dtype is ingot.complex64 else [OPS.SUM, OPS.PRODUCT, OPS.MIN, OPS.MAX]
        op = rng.choice(ops + ([OPS.AVG] if dtype.is_inexact else [OPS.BAND, OPS.BOR, OPS.BXOR]))
        shape = rng.choice([(), (0,), (3,), (size * 5,), (7, 401), (30_001,)])
        draws = [np.random.default_rng(seed + 100 * step + r) for r in range(size)]
        values = [ingot.tensor(draw.integers(-4, 5, shape)).to(dtype) for draw in draws]
        mine, note = values[rank].clone(), f"step {step}"
        want = reference.all_reduce(mine._a, op, note)
        dist.all_reduce(mine, op)
        assert is_close(mine._a, want), (seed, step, op, dtype)
        every = [ingot.zeros(shape, dtype=dtype) for _ in range(size)]
        dist.all_gather(every, mine)
        assert all(e._a.tobytes() == mine._a.tobytes() for e in every), (seed, step, op, dtype)
        pieces = [values[rank] + (r if dtype is not ingot.bool else False) for r in range(size)]
        part = ingot.zeros(shape, dtype=dtype)
        dist.reduce_scatter(part, [p.to(dtype) for p in pieces], op)
        want = reference.reduce_scatter([p.to(dtype)._a for p in pieces], op, note)
        assert is_close(part._a, want), (seed, step, op, dtype)


@pytest.mark.parametrize(("size", "seed"), [(2, 0), (2, 1), (3, 2), (3, 3), (4, 4), (4, 5), (8, 6)])
def test_reductions_match_those_by_messages(size, seed):
    run(size, _reductions, size, seed)


def _layouts(rank, size, seed):
    """Sizes differ from rank to rank, and results lie in strided memory on some ranks only, or in the memory of an operand."""
    rng, group = random.Random(seed), dist.group.WORLD
    channel, reference = group.channel, Channel(group.engine, group)
    mpi_channel._REDUCED_BYTES = 1 << 14        # so that one all-reduce has several pieces
    for step in range(30):
        kind = np.dtype(rng.choice([np.float32, np.float64, ml_dtypes.bfloat16, np.float16, np.int8, np.bool_]))
        counts = [rng.choice([0, 1, 6, 20_000]) for _ in range(size)] if rng.random() < 0.5 else [rng.choice([6, 9000])] * size
        is_strided = [rng.random() < 0.5 for _ in range(size)][rank]
        values = [np.random.default_rng(seed + 100 * step + r).integers(0, 9, sum(counts)).astype(kind) for r in range(size)]
        outs = [np.zeros(2 * n, kind)[::2] if is_strided else np.zeros(n, kind) for n in counts]
        channel.all_gather(values[rank][:counts[rank]], "gather", outs)
        assert all(out.tobytes() == v[:n].tobytes() for out, v, n in zip(outs, values, counts)), (seed, step)
        pieces = np.split(values[rank].copy(), np.cumsum(counts)[:-1])
        want = reference.reduce_scatter(pieces, OPS.MAX, "scatter")
        out = channel.reduce_scatter(pieces, OPS.MAX, "scatter", pieces[rank] if rng.random() < 0.5 else None)
        assert out.tobytes() == want.tobytes(), (seed, step)
        own = values[rank].copy()
        want = reference.all_reduce(own, OPS.MAX, "reduce")
        assert channel.all_reduce(own, OPS.MAX, "reduce", own).tobytes() == want.tobytes(), (seed, step)


@pytest.mark.parametrize("size", [2, 3, 4])
def test_layouts_and_sizes_may_differ_from_rank_to_rank(size):
    run(size, _layouts, size, size)


def _nan(rank):
    t = ingot.tensor([float("nan") if rank == 1 else 1.0, 2.0])
    for op in (OPS.MIN, OPS.MAX):
        found = t.clone()
        dist.all_reduce(found, op)
        assert found[0].isnan() and found[1] == 2


def test_nan_reaches_all_ranks():
    run(3, _nan)


def _cut(rank, size, most):
    """Every call of MPI takes so few bytes as it would take gigabytes where counts have 31 bits."""
    dist.group.WORLD.engine.most_bytes = most
    t, whole = ingot.arange(1000.0) + rank, ingot.zeros(1000 * size)
    dist.all_gather_into_tensor(whole, t)
    assert whole.tolist() == [k + r for r in range(size) for k in range(1000)]
    for dtype in (ingot.float32, ingot.bfloat16):
        total = (ingot.arange(1000.0 * size) % 64 + rank).to(dtype)
        part = ingot.zeros(1000, dtype=dtype)
        dist.reduce_scatter_tensor(part, total)
        dist.all_reduce(total)
        assert total.tolist() == [size * (k % 64) + size * (size - 1) // 2 for k in range(1000 * size)]
        assert part.tolist() == total[1000 * rank:][:1000].tolist()
    dist.broadcast(t, 2)
    assert t.tolist() == [k + 2 for k in range(1000)]
    turned = ingot.zeros(333 * size)
    dist.all_to_all_single(turned, ingot.arange(333.0 * size) + 10_000 * rank)
    assert turned.tolist() == [10_000 * r + 333 * rank + k for r in range(size) for k in range(333)]
    if rank < 2:
        dist.send(ingot.arange(5000.0), 2, tag=rank)
    elif rank == 2:
        for source in (1, 0):
            got = ingot.zeros(5000)
            dist.recv(got, source, tag=source)
            assert got.tolist() == list(range(5000))
    found = [None] * size
    dist.all_gather_object(found, "x" * 10_000 * rank)
    assert [len(f) for f in found] == [10_000 * r for r in range(size)]


@pytest.mark.parametrize(("size", "most"), [(3, 1 << 62), (3, 1 << 10), (4, 1 << 10)])
def test_large_counts_are_cut(size, most):
    run(size, _cut, size, most)


def _traffic(rank, size, seed):
    """Send and receive at random, and reduce at the same time; each message says what it has to be."""
    rng, group = random.Random(seed), dist.group.WORLD
    for step in range(20):
        draws = [[(rng.choice([0, 5, 1990, 2010, 20_000, 300_000]), rng.randrange(2)) for _ in range(size)]
                 for _ in range(size)]
        work = dist.all_reduce(ingot.ones(rng.choice([3, 100_000])), async_op=True)
        for to in range(size):
            n, tag = draws[rank][to]
            group.engine.send([to], (7, tag), f"{step} {n}", np.full(n, (step + rank) % 256, np.uint8))
        sources = list(range(size))
        rng.shuffle(sources)
        for source in sources:
            n, tag = draws[source][rank]
            ticket = group.engine.inbox.ticket(source, (7, tag))
            note, body = group.engine.inbox.receive(source, (7, tag), ticket, 20, "a test")
            assert note == f"{step} {n}" and body.size == n and (body == (step + source) % 256).all(), f"seed {seed}"
        work.wait()
        assert (work.result()[0] == size).all()


@pytest.mark.parametrize("size", [2, 3])
def test_random_traffic(size):
    run(size, _traffic, size, size)


def _reduced(count, dtype=ingot.float32):
    def call(rank, size):
        t = ingot.full((count,), rank + 1, dtype=dtype)
        try:
            dist.all_reduce(t)
        except dist.DistBackendError:
            assert (t == rank + 1).all()        # an error leaves operands as they were
            raise
        assert (t == size * (size + 1) // 2).all()
    return call


def _gathered(count):
    def call(rank, size):
        t = ingot.zeros(size, count)
        dist.all_gather_into_tensor(t, ingot.full((count,), rank + 1.0))
        assert (t == ingot.arange(1.0, size + 1).unsqueeze(1)).all()
    return call


def _scattered(count):
    def call(rank, size):
        t, given = ingot.zeros(count), ingot.arange(1.0, size + 1).repeat_interleave(count)
        dist.reduce_scatter_tensor(t, given)
        assert (t == size * (rank + 1)).all() and given[-1] == size
    return call


def _sent(count):
    def call(rank, size):
        t = ingot.full((count,), rank + 1.0)
        dist.broadcast(t, size - 1)
        assert (t == size).all()
    return call


def _objects(rank, size):
    found = [None] * size
    dist.all_gather_object(found, rank)
    assert found == list(range(size))


CALLS = [_reduced(1), _reduced(0), _reduced(8000), _reduced(16_000), _reduced(200_000), _reduced(30, ingot.bfloat16),
         _reduced(9000, ingot.bfloat16), _reduced(30, ingot.int64), _gathered(1), _gathered(8000), _gathered(200_000),
         _scattered(1), _scattered(7), _scattered(4000), _scattered(90_000), _sent(3), _sent(60_000), _objects,
         lambda rank, size: dist.barrier()]


def _disagreements(rank, size, seed):
    """Ranks that do the same get their results. Of those that do not, each is told of one that does something else, and the
    group goes on."""
    rng = random.Random(seed)
    for step in range(60):
        numbers = [rng.randrange(len(CALLS))] * size
        if rng.random() < 0.6:
            for other in rng.sample(range(size), rng.randrange(1, size)):
                numbers[other] = rng.randrange(len(CALLS))
        call, where = CALLS[numbers[rank]], (seed, step, numbers)
        if len({*numbers}) == 1:
            call(rank, size)
            continue
        try:
            call(rank, size)
        except dist.DistBackendError as e:
            named = re.search(rf"rank (\d) is in .*, where rank {rank} is in .*", str(e))
            assert named is not None and numbers[int(named[1])] != numbers[rank], (where, str(e))
        else:
            raise AssertionError(f"no error in {where}")


@pytest.mark.parametrize(("size", "seed"), [(2, 0), (2, 1), (3, 2), (4, 3), (4, 4), (5, 5), (8, 6)])
def test_collectives_that_differ_are_named_and_the_group_goes_on(size, seed):
    run(size, _disagreements, size, seed, timeout=60)


def _talk(n, rank, sent, heard):
    """Follow the rounds of a rank; yield while it waits."""
    for to, source in mpi_channel._partners(n, rank):
        if to is not None:
            sent[rank, to].append(heard[rank])
        if source is not None:
            while not sent[source, rank]:
                yield
            theirs = sent[source, rank].popleft()
            if len(theirs) < n:         # and not told the outcome
                theirs = heard[rank] + theirs if rank < source else theirs + heard[rank]
            heard[rank] = theirs


@pytest.mark.parametrize("n", range(2, 41))
def test_each_rank_hears_of_all_others_in_their_order(n):
    heard, sent = [[r] for r in range(n)], defaultdict(deque)
    talks = [_talk(n, r, sent, heard) for r in range(n)]
    for _ in range(2 * n):
        for talk in talks:
            next(talk, None)
    assert heard == [[*range(n)]] * n
    counts = [sum(to is not None for to, _ in mpi_channel._partners(n, r)) for r in range(n)]
    assert max(counts) == (n - 1).bit_length()


# Ranks that end or stop.


def _killed(rank):
    if rank == 1:
        os.kill(os.getpid(), signal.SIGKILL)
    begin = time.monotonic()
    with pytest.raises(dist.DistBackendError, match=rf"rank 1 has gone while rank {rank} waited for it in barrier"):
        dist.barrier()
    assert time.monotonic() - begin < 5
    with pytest.raises(dist.DistBackendError, match="cannot communicate any more: barrier has not ended"):
        dist.barrier()
    os.kill(os.getpid(), signal.SIGUSR1)        # a sign that this rank saw it


def test_a_killed_rank_is_named():
    begin = time.monotonic()
    with pytest.raises((mp.ProcessExitedException, mp.ProcessRaisedException), match=r"SIGKILL|SIGUSR1"):
        run(3, _killed)
    assert time.monotonic() - begin < 10


def _stopped(rank):
    dist.group.WORLD.timeout = 0.5      # joining may take longer
    if rank == 1:
        child = os.getpid()
        if os.fork() == 0:      # wakes it
            time.sleep(4)
            os.kill(child, signal.SIGCONT)
            os._exit(0)
        os.kill(child, signal.SIGSTOP)
        os._exit(0)
    begin = time.monotonic()
    with pytest.raises(dist.DistTimeoutError, match=r"waited 0\.5 s in all_reduce of 1 float32 sum for rank 1, which"):
        dist.all_reduce(ingot.ones(1))
    assert time.monotonic() - begin < 5
    os._exit(0)


def test_a_stopped_rank_is_named_with_the_collective():
    run(3, _stopped)


@pytest.mark.parametrize("collective", ["all_reduce of 3 float32 sum", "barrier"])
def test_all_ranks_end_after_the_timeout_when_one_stands_still(collective, tmp_path):
    code, said, _ = program(tmp_path, f"""
dist.init_process_group(timeout=3)
dist.barrier()
if dist.get_rank() == 2:
    os.kill(os.getpid(), signal.SIGSTOP)
    os._exit(1)         # Open MPI wakes it, to end it
os.write(1, f"now {{time.monotonic()}}\\n".encode())
dist.barrier() if {collective == "barrier"} else dist.all_reduce(ingot.ones(3))
""", 4)
    took = since(said)
    named = set(re.findall(rf"DistTimeoutError: rank (\d) waited 3 s in {collective} for rank 2, which has sent nothing", said))
    assert code != 0 and named and 3 < took < 8, f"after {took:.1f} s: {said}"


def _busy(rank):
    dist.barrier()
    dist.group.WORLD.timeout = 1
    store = dist.group.WORLD.store
    if rank == 2:
        store.wait(["0", "1"])
        os._exit(0)
    with pytest.raises(dist.DistTimeoutError, match=r"waited 1 s in barrier for rank 2, which"):
        dist.barrier()
    store.set(str(rank), "late")
    os._exit(0)


def test_a_rank_that_does_something_else_is_named():
    run(3, _busy)


def since(said: str) -> float:
    """Return the seconds since the last rank wrote the time, which leaves out the start of Python and MPI."""
    return time.monotonic() - max(float(moment) for moment in re.findall(r"now (\S+)", said))


@pytest.mark.parametrize("how", ENDS)
def test_all_ranks_end_when_one_does(how, tmp_path):
    code, said, _ = program(tmp_path, f"""
dist.init_process_group(timeout=60)
dist.barrier()
os.write(1, f"now {{time.monotonic()}}\\n".encode())
if dist.get_rank() == 1:
    time.sleep(0.5)     # for the time to be read
    {how}
dist.all_reduce(ingot.ones(3))
""", 3)
    assert since(said) < 10 and (code != 0 or "_exit" in how), said
    if "ValueError" in how:
        assert re.search(r"rank 1 has gone while rank \d waited for it in all_reduce of 3 float32 sum \(its program ended with "
                         "ValueError: no data", said), said
    elif "sys.exit" in how:
        assert "rank 1 has gone" in said


def test_a_rank_that_is_done_waits_for_the_others(tmp_path):
    code, said, _ = program(tmp_path, """
dist.init_process_group()
if dist.get_rank() == 1:
    time.sleep(2)
    print("the last one", flush=True)
""", 3)
    assert code == 0 and "the last one" in said, said


def test_a_rank_that_never_joins_is_waited_for_in_vain(tmp_path):
    code, said, took = program(tmp_path, """
if os.environ.get("PMI_RANK", os.environ.get("OMPI_COMM_WORLD_RANK")) == "1":
    time.sleep(6)
else:
    dist.init_process_group(timeout=1)
""", 2)
    assert code != 0 and "waited 1 s in MPI_Init for all ranks" in said and took < 30, said


# Processes of a rank.

LOADERS = """
import multiprocessing
from ingot.utils import data


class Squares(data.Dataset):
    def __len__(self):
        return 32

    def __getitem__(self, i):
        return ingot.full((100,), float(i * i))


def main():
    dist.init_process_group(timeout=60)
    total, dataset = ingot.zeros(1), Squares()
    sampler = data.DistributedSampler(dataset, shuffle=False)
    for _ in range(2):
        for batch in data.DataLoader(dataset, batch_size=4, num_workers=2, sampler=sampler):
            part = batch[:, 0].sum().reshape(1)
            dist.all_reduce(part)
            total += part
    assert total.item() == 2 * sum(i * i for i in range(32)), total
    print(multiprocessing.get_start_method(), flush=True)
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
"""


@pytest.mark.parametrize("runs", [1, pytest.param(20, marks=[pytest.mark.slow, pytest.mark.timeout(900)])])
def test_loaders_have_workers_in_ranks(runs, tmp_path):
    for _ in range(runs):
        code, said, _ = program(tmp_path, LOADERS, 2, timeout=110)
        assert code == 0 and said.count("forkserver") == 2, said


@pytest.mark.parametrize("chosen", ["for the program", "for the workers"])
def test_workers_by_forks_are_refused(chosen, tmp_path):
    code, said, _ = program(tmp_path, f"""
import multiprocessing
if __name__ == "__main__":
    if {chosen == "for the program"}:
        multiprocessing.set_start_method("fork")
    dist.init_process_group()
    context = {None if chosen == "for the program" else "fork"!r}
    try:
        list(ingot.utils.data.DataLoader(range(4), num_workers=1, multiprocessing_context=context))
    except RuntimeError as error:
        print(error, flush=True)
    dist.destroy_process_group()
""", 2)
    assert code == 0 and said.count("a process cannot start by 'fork' here: MPI runs in this process") == 2, said


def test_the_start_method_of_a_program_stays(tmp_path):
    code, said, _ = program(tmp_path, """
import multiprocessing
if __name__ == "__main__":
    multiprocessing.set_start_method("spawn")
    dist.init_process_group()
    print(multiprocessing.get_start_method(), flush=True)
    dist.destroy_process_group()
""", 2)
    assert code == 0 and said.count("spawn") == 2, said
