"""The engine for ranks on one machine: messages of all sizes, lent memory, ranks that end or stop, strangers, leftovers."""

import contextlib
import glob
import os
import random
import signal
import socket
import tempfile
import threading
import time
import tracemalloc
from math import prod
from pathlib import Path

import numpy as np
import pytest

import ingot
import mpi_seats
import ranks
from ingot import distributed as dist
from ingot import multiprocessing as mp
from ingot.runtime.cpu.memory import alloc
from ingot.runtime.distributed.engines import engine as engine_module
from ingot.runtime.distributed.engines import local_channel, local_engine
from ingot.runtime.distributed.engines.engine import COLLECTIVES, Run
from ingot.runtime.distributed.engines.local_engine import LocalEngine
from ingot.runtime.distributed.engines.local_links import INLINE_BYTES
from ingot.runtime.distributed.stores.distributed_errors import DistError
from ingot.runtime.distributed.stores.local_store import LocalStore


@pytest.fixture
def pair():
    """Return the engines of two ranks in one process."""
    store, engines = dist.HashStore(10), {}
    threads = [threading.Thread(target=lambda r=r: engines.update({r: LocalEngine(Run(r, 2, store, 10))})) for r in range(2)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    yield engines[0], engines[1]
    for e in engines.values():
        e.close()


def data(size, seed=0):
    return np.random.default_rng(seed).integers(0, 256, size, np.uint8)


def got(engine, sender, channel=(0, 0), timeout=5):
    inbox = engine.inbox
    return inbox.receive(sender, channel, inbox.ticket(sender, channel), timeout, "a test")


# Messages.


@pytest.mark.parametrize("size", [0, 1, INLINE_BYTES - 1, INLINE_BYTES, INLINE_BYTES + 1, 1 << 16, (1 << 16) + 1, 5_000_000])
@pytest.mark.parametrize("target", [0, 1])
def test_bytes_arrive_as_they_were_when_they_were_sent(pair, size, target):
    first, _ = pair
    body = data(size)
    first.send([target], (3, 4), "a note \u00e9", body)
    want = body.copy()
    body[:] = 0
    note, found = got(pair[target], 0, (3, 4))
    assert note == "a note \u00e9" and np.array_equal(found, want) and not found.flags.writeable


def test_lent_memory_is_used_again_once_nobody_reads_it(pair):
    first, second = pair
    for i in range(50):
        first.send([1], (0, 0), "n", data(1 << 20, i))
        body = got(second, 0).body
        part = body[10:20].view(np.int8)        # a view of a view keeps it
        del body
        assert np.array_equal(part, data(1 << 20, i)[10:20].view(np.int8))
        del part
        second.send([0], (0, 0), "n", data(1))       # returns it
        got(first, 1)
    assert first.blocks._count == 1


def test_memory_that_is_read_is_not_used_again(pair):
    first, second = pair
    kept = []
    for i in range(8):
        first.send([1], (0, 0), "n", data(1 << 17, i))
        kept.append(got(second, 0).body)
    assert all(np.array_equal(k, data(1 << 17, i)) for i, k in enumerate(kept)) and first.blocks._count == 8


def test_what_is_too_much_to_keep_goes_back_to_the_system(pair, monkeypatch):
    monkeypatch.setattr("ingot.runtime.distributed.engines.shared_blocks._KEPT", 1 << 20)
    first, second = pair
    for _ in range(3):
        for i in range(6):
            first.send([1], (0, 0), "n", data((1 << 19) + 1, i))
        for _ in range(6):
            got(second, 0)
        second.send([0], (0, 0), "n", data(1))
        got(first, 1)
        first.send([1], (0, 0), "n", data(1))
        got(second, 0)
    assert first.blocks._kept <= 1 << 20 and len(second.links[0]._theirs) <= 1 and not first.blocks._lent


def test_memory_that_was_used_last_is_kept(pair, monkeypatch):
    """Memory of earlier sizes makes room."""
    monkeypatch.setattr("ingot.runtime.distributed.engines.shared_blocks._KEPT", 1 << 20)
    first, second = pair
    for size in [1 << 19, 1 << 16, *[1 << 20] * 5]:
        first.send([1], (0, 0), "n", data(size, 1))
        assert np.array_equal(got(second, 0).body, data(size, 1))
        second.send([0], (0, 0), "n", data(1))       # returns it
        got(first, 1)
    assert first.blocks._count == 3 and [b.size for b in first.blocks._unused.values()] == [1 << 20]


def _in_pieces(rank):
    found = []
    for local_channel._PIECE in (1 << 30, 1 << 17):
        for op in (dist.ReduceOp.SUM, dist.ReduceOp.MAX, dist.ReduceOp.AVG):
            ingot.manual_seed(rank)
            t = ingot.randn(3, 33_333)
            dist.all_reduce(t, op)
            found.append(t)
    assert all(map(ingot.equal, found[:3], found[3:]))
    assert {b.size for b in dist.group.WORLD.engine.blocks._unused.values()} <= {98 << 12, 1 << 17}      # (whole pages)


def test_large_arrays_are_combined_in_pieces():
    ranks.run(2, _in_pieces, by_mpi=False)


def _arrays(shapes, rank):
    """Return a strided array of each shape."""
    rows = [(rank + 1) * np.arange(2 * prod(shape), dtype=np.float32) for shape in shapes]
    return [row.reshape(*shape[:-1], 2 * shape[-1])[..., ::2] for row, shape in zip(rows, shapes)]


def _by_tcp(rank, size):
    """Leave the run, and join it by the engine `tcp`."""
    store = dist.group.WORLD.store
    dist.destroy_process_group()
    dist.init_process_group("tcp", store=dist.PrefixStore("tcp", store), rank=rank, world_size=size, timeout=20)


def _bytes_held():
    return tracemalloc.get_traced_memory()[1] + alloc.stats()["peak"]


def _in_rounds(rank, size, name, tables):
    """Each round is small: what ranks get is the same as in one, and a rank holds and lends little."""
    if name == "tcp":
        _by_tcp(rank, size)
    channel, engine, held = dist.group.WORLD.channel, dist.group.WORLD.engine, []
    channel.__class__.round_bytes = engine_module._LEAST_WINDOW = local_channel._PIECE = 1 << 15
    assert engine.name == name
    tracemalloc.start()

    def call(collective, *args):
        tracemalloc.reset_peak()
        alloc.reset_peak()
        before = _bytes_held()
        found = collective(*args)
        held.append(_bytes_held() - before)
        return found

    for of_ranks in tables:         # by rank: the shapes of its arrays
        every = [_arrays(shapes, r) for r, shapes in enumerate(of_ranks)]
        outs = [[np.zeros((*shape[:-1], 3 * shape[-1]), np.float32)[..., ::3] for shape in shapes] for shapes in of_ranks]
        call(channel.all_gather_coalesced, every[rank], "gather", outs)
        assert all(np.array_equal(a, out) for r in range(size) for a, out in zip(every[r], outs[r]))
        given = [[_arrays(shapes, r) for shapes in of_ranks] for r in range(size)]
        for op, combine in ((dist.ReduceOp.SUM, sum), (dist.ReduceOp.MAX, lambda arrays: np.maximum.reduce([*arrays]))):
            mine = [a.size for a in every[rank]]
            row = np.empty(sum(mine), np.float32)
            assert call(channel.reduce_scatter_coalesced, given[rank], op, "scatter", row) is row
            want = [combine(given[r][rank][i] for r in range(size)).reshape(-1) for i in range(len(mine))]
            assert np.array_equal(row, np.concatenate(want))
    assert max(held) < 8 * size << 15, held
    dist.barrier()
    if name == "local":
        lent = [*engine.blocks._unused.values(), *engine.blocks._lent.values()]
        assert sum(b.size for b in lent) <= 2 * (size - 1) << 16, [b.size for b in lent]


@pytest.mark.parametrize("name", ["local", "tcp", "mpi"])
@pytest.mark.parametrize("size, tables", [
    (2, [[[(300, 70), (70,)], [(299, 70), (0,)]], [[(1, 3)], [(0, 3)]], [[(50_000,)], [(1,)]],
         [[(2, 3, 20_000)], [(2, 2, 20_000)]]]),
    (3, [[[(40, 999)], [(40, 999)], [(39, 999)]], [[(1, 1)], [(0, 1)], [(0, 1)]],
         [[(9, 30_000)], [(8, 30_000)], [(8, 30_000)]]])])
def test_large_arrays_are_gathered_and_scattered_in_rounds(size, tables, name):
    if name == "mpi":
        mpi_seats.mpiexec()
    ranks.run(size, _in_rounds, size, name, tables, by_mpi=name == "mpi")


def _into_pieces(rank):
    """The result lies where a piece for another rank does."""
    for local_channel._PIECE in (1 << 30, 1 << 15):
        whole = ingot.arange(40_000).reshape(2, -1).float() + rank
        want = 2 * whole[rank] + 1 - 2 * rank
        dist.reduce_scatter_tensor(whole[1 - rank], whole)
        assert ingot.equal(whole[1 - rank], want)


def test_results_may_lie_in_the_pieces_of_other_ranks():
    ranks.run(2, _into_pieces)


def test_a_full_socket_holds_up_nobody(pair):
    """Both send more than sockets take before either receives."""
    def life(engine, other):
        for i in range(4000):
            engine.send([other], (0, 0), str(i), data(300, i))
        for i in range(4000):
            note, body = got(engine, other, timeout=30)
            assert note == str(i) and np.array_equal(body, data(300, i))
        done.append(engine.rank)

    done = []
    threads = [threading.Thread(target=life, args=(e, 1 - e.rank)) for e in pair]
    for t in threads:
        t.start()
    for t in threads:
        t.join(60)
    assert sorted(done) == [0, 1]


def _traffic(rank, size, seed):
    """Send and receive at random; each message says what it has to be."""
    engine, rng = dist.group.WORLD.engine, random.Random(seed)
    for step in range(60):
        draws = [[(rng.choice([0, 5, 9000, 20_000, 200_000, 3_000_000]), rng.randrange(2), rng.random()) for _ in range(size)]
                 for _ in range(size)]
        for to in range(size):
            n, tag, _ = draws[rank][to]
            engine.send([to], (7, tag), f"{step} {n}", data(n, step * 100 + rank * 10 + to))
        sources = list(range(size))
        rng.shuffle(sources)
        for source in sources:
            n, tag, _ = draws[source][rank]
            note, body = got(engine, source, (7, tag), 20)
            assert note == f"{step} {n}" and np.array_equal(body, data(n, step * 100 + source * 10 + rank)), f"seed {seed}"


@pytest.mark.parametrize("size", [2, 3, 5])
def test_random_traffic(size):
    ranks.run(size, _traffic, size, size)


# Ranks that end or stop.


def _killed(rank, with_child, moment):
    dist.barrier()
    if rank == 1:
        if with_child and os.fork() == 0:
            time.sleep(5)           # keeps nothing of the rank open
            os._exit(0)
        moment.touch()
        os.kill(os.getpid(), signal.SIGKILL)
    begin = time.monotonic()
    with pytest.raises(dist.DistBackendError, match=f"rank 1 has gone while rank {rank} waited for it in barrier"):
        dist.barrier()
    assert time.monotonic() - begin < 3
    os.kill(os.getpid(), signal.SIGUSR1)        # a sign that this rank saw it


@pytest.mark.parametrize("with_child", [False, True])
def test_a_killed_rank_is_named_at_once(with_child, tmp_path):
    moment = tmp_path / "killed"
    with pytest.raises((mp.ProcessExitedException, mp.ProcessRaisedException), match=r"SIGKILL|SIGUSR1"):
        ranks.run(3, _killed, with_child, moment)
    assert time.time() - moment.stat().st_mtime < 10


def _end_in_turn(rank, engine):
    """Rank 1 ends, rank 0 fails since that has gone, and rank 2 comes when both have gone."""
    if engine == "tcp":
        _by_tcp(rank, 3)
    dist.barrier()
    if rank == 1:
        os._exit(0)
    if rank == 2:
        deadline, gone = time.monotonic() + 20, dist.group.WORLD.engine.inbox.gone
        while len(gone) < 2 and time.monotonic() < deadline and engine == "tcp":
            time.sleep(0.01)
        time.sleep(0.3 if engine == "local" else 0)
    with pytest.raises(dist.DistError, match=r"rank 1 has gone|to rank 1|ranks \[1\]"):
        dist.barrier()
    os._exit(0)


@pytest.mark.parametrize("engine", ["local", "tcp"])
def test_the_rank_that_ended_first_is_named_after_others_have_left(engine):
    ranks.run(3, _end_in_turn, engine, by_mpi=False)


def _stopped(rank):
    dist.group.WORLD.timeout = 0.5      # joining may take longer
    store = dist.group.WORLD.store
    if rank == 1:
        store.wait(["seen"])
        os._exit(0)
    with pytest.raises(dist.DistTimeoutError, match=r"waited 0\.5 s in all_reduce of 1 float32 sum for rank 1"):
        dist.all_reduce(ingot.ones(1))
    store.set("seen", "")
    os._exit(0)


def test_a_rank_that_stands_still_is_named_with_the_collective():
    ranks.run(2, _stopped)


def test_a_rank_that_takes_nothing_in_is_an_error(pair):
    first, _ = pair
    first.patience = 0.3
    with pytest.raises(dist.DistTimeoutError, match=r"rank 1 takes nothing in"):
        for _ in range(10_000):
            first.send([1], (0, 0), "n", data(1000))


# Strangers, and what is left.


def test_strangers_are_turned_away(monkeypatch):
    store, engines, folder = dist.HashStore(10), {}, []
    made = tempfile.mkdtemp
    monkeypatch.setattr(local_engine.tempfile, "mkdtemp", lambda **how: folder.append(made(**how)) or folder[0])
    first = threading.Thread(target=lambda: engines.update({0: LocalEngine(Run(0, 2, store, 10))}))
    first.start()
    while not folder or not os.path.exists(f"{folder[0]}/0"):
        time.sleep(0.01)
    assert os.stat(folder[0]).st_mode & 0o777 == 0o700
    strangers = [socket.socket(socket.AF_UNIX) for _ in range(4)]
    for s, said in zip(strangers, (b"", b"\1\0\0\0" + bytes(32), os.urandom(36), b"x" * 7)):
        with contextlib.suppress(OSError):
            s.connect(f"{folder[0]}/0")
            s.sendall(said)
            s.shutdown(socket.SHUT_WR)
    engines[1] = LocalEngine(Run(1, 2, store, 10))
    first.join()
    engines[1].send([0], (0, COLLECTIVES), "note", data(3))
    assert got(engines[0], 1, (0, COLLECTIVES)).note == "note"
    for e in (*engines.values(), *strangers):
        e.close()
    assert not os.path.exists(folder[0])


@pytest.mark.parametrize("seed", range(20))
def test_frames_that_are_none_end_the_link_with_an_error(pair, seed):
    """Bytes that no rank sends: an error of this package or the end of the link, no crash, no memory beyond their size."""
    first, second = pair
    rng = random.Random(seed)
    second.links[0].sock.setblocking(True)
    second.links[0].sock.sendall(rng.randbytes(rng.choice([40, 100, 5000])))
    second.links[0].sock.shutdown(socket.SHUT_WR)
    with pytest.raises(DistError):
        got(first, 1, timeout=0.5)


def _listening() -> set:
    """Return the sockets of this machine that listen over TCP."""
    lines = [line.split() for path in glob.glob("/proc/net/tcp*") for line in Path(path).read_text().splitlines()[1:]]
    return {(fields[1], fields[9]) for fields in lines if fields[3] == "0A"}


def _by_environment(rank, port, before):
    os.environ.update(RANK=str(rank), WORLD_SIZE="2", MASTER_ADDR="127.0.0.1", MASTER_PORT=str(port))
    dist.init_process_group(timeout=20)
    t = ingot.ones(1 << 16)
    dist.all_reduce(t)
    assert (t == 2).all() and dist.group.WORLD.engine.name == "local"
    inodes = {fd for fd in map(_socket_of, glob.glob("/proc/self/fd/*")) if fd}
    assert not {inode for _, inode in _listening() - before} & inodes
    dist.destroy_process_group()


def _socket_of(path):
    with contextlib.suppress(OSError):
        target = os.readlink(path)
        return target[8:-1] if target.startswith("socket:[") else None


@pytest.mark.skipif(not os.path.exists("/proc/net/tcp"), reason="needs Linux")
def test_a_run_on_one_machine_listens_on_no_port_and_leaves_nothing():
    folders = set(glob.glob(os.path.join(tempfile.gettempdir(), "ingot-run-*")))
    port = 20_000 + os.getpid() % 10_000
    for _ in range(2):          # the same port again
        mp.start_processes(_by_environment, (port, _listening()), 2, start_method="fork")
    assert set(glob.glob(os.path.join(tempfile.gettempdir(), "ingot-run-*"))) <= folders
    assert not glob.glob(os.path.join(tempfile.gettempdir(), "ingot-stores-*", str(port)))


def test_a_store_takes_the_place_of_one_that_was_killed(tmp_path, monkeypatch):
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    child = os.fork()
    if not child:
        LocalStore(7, True)
        os.kill(os.getpid(), signal.SIGKILL)
    os.waitpid(child, 0)
    store = LocalStore(7, True, 5)
    store.set("k", "v")
    assert LocalStore(7, False, 5).get("k") == b"v"
    with pytest.raises(dist.DistNetworkError, match="another run meets"):
        LocalStore(7, True)
    store.close()


def test_the_folder_of_stores_belongs_to_this_user_alone(tmp_path, monkeypatch):
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    folder = tmp_path / f"ingot-stores-{os.geteuid()}"
    folder.mkdir(mode=0o777)
    folder.chmod(0o777)
    with pytest.raises(dist.DistStoreError, match="the store's folder"):
        LocalStore(7, True)


@pytest.mark.parametrize("engine", ["abc", "LOCAL"])
def test_an_engine_that_does_not_exist_is_an_error(engine, monkeypatch):
    monkeypatch.setenv("INGOT_ENGINE", engine)
    with pytest.raises(ValueError, match="INGOT_ENGINE must be one of 'local', "):
        dist.init_process_group(store=dist.HashStore(), rank=0, world_size=1)
    assert not dist.is_initialized()
