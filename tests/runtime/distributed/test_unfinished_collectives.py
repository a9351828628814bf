"""Collectives that end in the middle, by an interrupt or a time limit: later messages are never taken for the rest of them."""

import contextlib
import os
import signal
import time

import pytest

import ingot
import mpi_seats
import ranks
from ingot import distributed as dist

SIZE = 3


class StopError(Exception):
    """Raised by a handler of a signal, as a time limit does."""


def _handler(kind):
    def handle(number, frame):
        raise kind("now") if kind is StopError else kind
    return handle


def _gathered():
    found = [None] * SIZE
    dist.all_gather_object(found, dist.get_rank())


COLLECTIVES = {
    "all_reduce": lambda: dist.all_reduce(ingot.ones(3)),
    "all_reduce of many": lambda: dist.all_reduce(ingot.ones(300_000)),
    "all_gather": lambda: dist.all_gather_into_tensor(ingot.ones(3 * SIZE), ingot.ones(3)),
    "reduce_scatter": lambda: dist.reduce_scatter_tensor(ingot.ones(3), ingot.ones(3 * SIZE)),
    "broadcast": lambda: dist.broadcast(ingot.ones(3), 2),
    "barrier": lambda: dist.barrier(),
    "all_gather_object": _gathered,
}


def _interrupted(kind, work):
    """Call work that waits, and send a signal meanwhile."""
    signal.signal(signal.SIGALRM, _handler(kind))
    signal.setitimer(signal.ITIMER_REAL, 0.2)
    with pytest.raises(kind):
        work()
        raise AssertionError("nothing has interrupted it")


def _in_collective(rank, name, kind):
    COLLECTIVES[name]()         # what it needs is loaded
    dist.group.WORLD.timeout = 1.0
    if rank == 2:       # comes late
        time.sleep(0.6)
        with pytest.raises(dist.DistError):
            for _ in range(3):
                COLLECTIVES[name]()
        os._exit(0)
    if rank == 1:
        with pytest.raises(dist.DistError):
            for _ in range(3):
                COLLECTIVES[name]()
        os._exit(0)
    _interrupted(kind, COLLECTIVES[name])
    for again in (COLLECTIVES[name], lambda: dist.barrier(), lambda: dist.send(ingot.ones(1), 1)):
        with pytest.raises(dist.DistBackendError, match=rf"communicate any more: {kind.__name__} has interrupted it"):
            again()
    os._exit(0)


@pytest.mark.parametrize("engine", ["local", "mpi"])
@pytest.mark.parametrize(("name", "kind"), [*[(name, KeyboardInterrupt) for name in COLLECTIVES], ("all_reduce", StopError)])
def test_an_interrupted_collective_is_not_followed_by_others(name, kind, engine):
    if engine == "mpi":
        mpi_seats.mpiexec()
    ranks.run(SIZE, _in_collective, name, kind, by_mpi=engine == "mpi")


def _joined_again(rank, path):
    dist.barrier()
    dist.group.WORLD.timeout = 1.0
    if rank == 0:
        _interrupted(KeyboardInterrupt, dist.barrier)
    else:
        time.sleep(0.5)
        with pytest.raises(dist.DistError):
            for _ in range(3):
                dist.all_reduce(ingot.ones(3))
    dist.destroy_process_group()
    dist.init_process_group("gloo", init_method=f"file://{path}", rank=rank, world_size=2, timeout=20)
    t = ingot.ones(3)
    dist.all_reduce(t)
    assert t.tolist() == [2, 2, 2]


@pytest.mark.parametrize("engine", ["local", "mpi"])
def test_ranks_join_again_after_an_interrupt(engine, tmp_path):
    if engine == "mpi":
        mpi_seats.mpiexec()
    ranks.run(2, _joined_again, str(tmp_path / "store"), by_mpi=engine == "mpi")


def _in_recv(rank, kind):
    t = ingot.zeros(1)
    dist.barrier()
    if rank == 1:
        time.sleep(0.5)
        for k in range(3):
            dist.send(ingot.full((1,), k + 1.0), 0)
    if rank == 0:
        _interrupted(kind, lambda: dist.recv(t, 1))
        if dist.group.WORLD.engine.interrupt:       # (rare) it came while the engine `mpi` took in a message
            with pytest.raises(dist.DistBackendError, match="has interrupted it in the middle"):
                dist.recv(t, 1)
            os._exit(0)
        got = []
        for source in (1, None, 1):
            dist.recv(t, source)
            got.append(t.item())
        assert got == [1, 2, 3]
    with contextlib.suppress(dist.DistError):       # rank 0 may have ended
        dist.barrier()


@pytest.mark.parametrize("engine", ["local", "mpi"])
@pytest.mark.parametrize("kind", [KeyboardInterrupt, StopError])
def test_the_message_of_an_interrupted_recv_is_the_next_one_received(kind, engine):
    if engine == "mpi":
        mpi_seats.mpiexec()
    ranks.run(2, _in_recv, kind, by_mpi=engine == "mpi")


def _timed_out(rank):
    dist.barrier()
    if rank == 1:
        time.sleep(0.5)
        dist.send(ingot.ones(1), 0)
        dist.send(2 * ingot.ones(1), 0)
    else:
        t = ingot.zeros(1)
        dist.group.WORLD.timeout = 0.1
        with pytest.raises(dist.DistTimeoutError):
            dist.recv(t, 1)
        dist.group.WORLD.timeout = 10
        for want in (1, 2):
            dist.recv(t, 1)
            assert t.item() == want
    dist.barrier()


def test_the_message_of_a_recv_that_waited_too_long_is_the_next_one_received():
    ranks.run(2, _timed_out, by_mpi=False)


def _late(rank, engine, path):
    if engine == "tcp":
        dist.destroy_process_group()
        dist.init_process_group("tcp", store=dist.FileStore(path), rank=rank, world_size=2, timeout=20)
    t = ingot.ones(300_000)
    dist.all_reduce(t)
    assert (t == 2).all()
    if rank == 1:
        time.sleep(0.6)
    dist.group.WORLD.timeout = 0.3 if rank == 0 else 2.0
    for attempt in range(3):
        t = ingot.full((300_000,), rank + attempt + 1.0)
        if rank == 1:
            try:
                dist.all_reduce(t)
            except dist.DistError:
                break
            assert (t == 2 * attempt + 3).all(), f"rank 1 got {set(t.tolist())} in attempt {attempt}"
        else:
            with pytest.raises(dist.DistError, match="waited 0.3 s" if attempt == 0 else "communicate any more"):
                dist.all_reduce(t)
    os._exit(0)


@pytest.mark.parametrize("engine", ["local", "tcp", "mpi"])
def test_a_collective_that_waited_too_long_is_not_followed_by_others(engine, tmp_path):
    if engine == "mpi":
        mpi_seats.mpiexec()
    ranks.run(2, _late, engine, str(tmp_path / "store"), by_mpi=engine == "mpi")
