"""Process groups: stores, joining, collectives, messages, and errors."""

import contextlib
import os
import socket
import subprocess
import sys
import threading
import time
from datetime import timedelta

import numpy as np
import pytest

import ingot
import private_names  # noqa: F401
import ranks
from ingot import distributed as dist
from ingot import multiprocessing as mp
from ingot.distributed import _functional_collectives as functional_collectives
from ingot.ir.errors import AutogradError, DTypeError, ShapeError
from ingot.runtime.distributed.stores import meeting

SIZE = 3
OPS = dist.ReduceOp
OF_OP = {OPS.SUM: np.add, OPS.PRODUCT: np.multiply, OPS.MIN: np.minimum, OPS.MAX: np.maximum, OPS.BAND: np.bitwise_and,
         OPS.BOR: np.bitwise_or, OPS.BXOR: np.bitwise_xor}


def values(rank, shape, dtype):
    """Return the initial values of a rank."""
    rng = np.random.default_rng(100 + rank)
    return (rng.standard_normal(shape) * 4).astype(dtype)


# Stores.


@pytest.fixture(params=["hash", "file", "tcp", "prefix"])
def store(request, tmp_path):
    limit = timedelta(seconds=5)
    if request.param == "hash":
        return dist.HashStore(limit)
    if request.param == "file":
        return dist.FileStore(tmp_path / "store", 1, limit)
    if request.param == "prefix":
        return dist.PrefixStore("p", dist.HashStore(limit))
    return dist.TCPStore("127.0.0.1", 0, 1, True, limit)


def test_waiting_takes_no_longer_than_it_was_given(store):
    """The timeout of the call counts, though the store itself would wait for 5 s."""
    start = time.monotonic()
    with pytest.raises(dist.DistStoreError, match="waited"):
        store.wait(["never"], timedelta(seconds=0.05))
    assert time.monotonic() - start < 4
    store.set("there", "x")
    store.wait(["there"], timedelta(seconds=0.05))
    store.set_timeout(timedelta(seconds=0.05))
    with pytest.raises(dist.DistStoreError, match="waited"):
        store.wait(["never"])
    store.wait(["there"])


def test_stores_keep_and_wait(store):
    store.set("a", "text")
    store.set("b", b"\0\xff")
    assert store.get("a") == b"text" and store.get("b") == b"\0\xff" and store.check(["a", "b"]) and not store.check(["a", "c"])
    assert store.add("n", 2) == 2 and store.add("n", 5) == 7 and store.get("n") == b"7"
    store.append("a", "!")
    assert store.multi_get(["a", "n"]) == [b"text!", b"7"]
    assert store.compare_set("a", "other", "x") == b"text!" and store.compare_set("a", "text!", "x") == b"x"
    assert store.compare_set("new", "", "y") == b"y" and store.compare_set("none", "z", "y") == b"z"
    assert store.delete_key("a") and not store.delete_key("a") and not store.check(["a"])
    late = threading.Timer(0.1, lambda: store.set("late", "v"))
    late.start()
    assert store.get("late") == b"v"
    late.join()
    with pytest.raises(dist.DistTimeoutError, match=r"nobody\b.*has set it"):
        store.wait(["never"], timedelta(seconds=0.05))
    with pytest.raises(ValueError, match="strings and bytes"):
        store.set("k", 3)


def test_a_store_serves_many_threads_and_a_file_many_handles(tmp_path):
    server = dist.TCPStore("127.0.0.1", 0, None, True)
    path = tmp_path / "f"
    threads = [threading.Thread(target=lambda: [server.add("n", 1) + dist.FileStore(path).add("n", 1) for _ in range(20)])
               for _ in range(4)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert server.add("n", 0) == 80 and dist.FileStore(path).get("n") == b"80"


# Collectives, each against NumPy on all ranks' values.


def _reductions(rank, shape, dtype):
    every = [values(r, shape, dtype) for r in range(SIZE)]
    for op, ufunc in OF_OP.items():
        if op in (OPS.BAND, OPS.BOR, OPS.BXOR) and not np.issubdtype(every[0].dtype, np.integer):
            with pytest.raises(TypeError, match="works on bits"):
                dist.all_reduce(ingot.tensor(every[rank]), op)
            continue
        want = ufunc(ufunc(every[0], every[1]), every[2])
        t = ingot.tensor(every[rank])
        version = t._version
        assert dist.all_reduce(t, op) is None and np.array_equal(t.numpy(), want) and t._version > version
        t = ingot.tensor(every[rank])
        dist.reduce(t, 1, op)
        assert np.array_equal(t.numpy(), want if rank == 1 else every[rank])
        parts = [ingot.tensor(every[rank] + i) for i in range(SIZE)]
        out = ingot.zeros_like(parts[0])
        dist.reduce_scatter(out, parts, op)
        assert np.array_equal(out.numpy(), ufunc(ufunc(every[0] + rank, every[1] + rank), every[2] + rank))
    if every[0].dtype.kind == "f":
        t = ingot.tensor(every[rank])
        dist.all_reduce(t, OPS.AVG)
        assert np.array_equal(t.numpy(), (every[0] + every[1] + every[2]) / every[0].dtype.type(3))
    else:
        with pytest.raises(TypeError, match="AVG"):
            dist.all_reduce(ingot.tensor(every[rank]), OPS.AVG)


@pytest.mark.parametrize(("shape", "dtype"), [((), "float32"), ((0, 3), "float64"), ((5, 3), "int64"), ((70, 301), "float32"),
                                              ((2, 11_003), "int32")])
def test_reductions(shape, dtype):
    ranks.run(SIZE, _reductions, shape, dtype)


def _movements(rank):
    a = ingot.tensor(values(rank, (4, 3), "float32"))
    every = [values(r, (4, 3), "float32") for r in range(SIZE)]
    got = [ingot.zeros(4, 3) for _ in range(SIZE)]
    dist.all_gather(got, a)
    assert all(np.array_equal(g.numpy(), e) for g, e in zip(got, every))
    whole = ingot.zeros(12, 3)
    dist.all_gather_into_tensor(whole, a)
    assert np.array_equal(whole.numpy(), np.concatenate(every))
    for source in range(SIZE):
        t = a.clone().t()       # memory that is not row-major
        dist.broadcast(t, source)
        assert np.array_equal(t.numpy(), every[source].T)
        got = [ingot.zeros(4, 3) for _ in range(SIZE)] if rank == source else None
        dist.gather(a, got, source)
        assert got is None or all(np.array_equal(g.numpy(), e) for g, e in zip(got, every))
        t = ingot.zeros(4, 3)
        dist.scatter(t, [ingot.full((4, 3), 10.0 * source + r) for r in range(SIZE)] if rank == source else None, source)
        assert (t == 10 * source + rank).all()
    out = [ingot.zeros(r + 1) for r in range(SIZE)]
    dist.all_to_all(out, [ingot.full((rank + 1,), 10.0 * rank + r) for r in range(SIZE)])
    assert [o.tolist() for o in out] == [[10.0 * r + rank] * (r + 1) for r in range(SIZE)]
    for kind in (ingot.float64, ingot.bfloat16, ingot.int8):
        out = [ingot.zeros(r, 3, dtype=kind) for r in range(SIZE)]          # (0, 3) has no bytes
        dist.all_to_all(out, [ingot.full((rank, 3), 10 * rank + r, dtype=kind) for r in range(SIZE)])
        assert [o.tolist() for o in out] == [[[10 * r + rank] * 3] * r for r in range(SIZE)]
    single = ingot.zeros(6)
    dist.all_to_all_single(single, ingot.arange(6.0) + 100 * rank)
    assert single.tolist() == [100 * r + 2 * rank + k for r in range(SIZE) for k in range(2)]
    part = ingot.zeros(2)
    dist.reduce_scatter_tensor(part, ingot.arange(6.0))
    assert part.tolist() == [3.0 * (2 * rank), 3.0 * (2 * rank + 1)]
    dist.barrier()


def test_movements():
    ranks.run(SIZE, _movements)


def _layouts(rank):
    every = [values(r, (6, 700), "float32") for r in range(SIZE)]
    total, whole = every[0] + every[1] + every[2], ingot.zeros(700 * SIZE, 6).t()
    t = ingot.tensor(every[rank].T.copy()).t()
    dist.all_reduce(t)
    assert np.array_equal(t.numpy(), total) and t.stride() == (1, 6)
    dist.all_gather_into_tensor(whole.reshape(-1), ingot.tensor(every[rank]))
    flat, part = ingot.zeros(2, SIZE * 6 * 700)[0], ingot.zeros(700, 2).t()
    dist.all_gather_into_tensor(flat, ingot.tensor(every[rank].T.copy()).t())
    assert np.array_equal(flat.numpy(), np.concatenate(every).reshape(-1))
    dist.reduce_scatter_tensor(part, ingot.tensor(every[rank].T.copy()).t())
    assert np.array_equal(part.numpy(), total.reshape(SIZE, 2, 700)[rank])
    out = ingot.zeros(700, 6).t()
    dist.all_to_all_single(out, ingot.tensor(every[rank].T.copy()).t())
    assert np.array_equal(out.numpy(), np.concatenate([e[2 * rank:2 * rank + 2] for e in every]))
    x = ingot.ones(3)
    version, saved = x._version, ingot.ones(3, requires_grad=True) * x
    dist.all_reduce(x)
    assert x._version > version
    with pytest.raises(RuntimeError, match=r"changed|written|modified"):
        saved.sum().backward()


def test_tensors_of_any_layout_are_filled():
    ranks.run(SIZE, _layouts)


def _narrow(rank, dtype, size, count):
    every = [np.random.default_rng(r).standard_normal(count) for r in range(size)]
    parts = [ingot.tensor(e).to(dtype) for e in every]
    exact = sum(p.double().numpy() for p in parts)
    mine, gathered = parts[rank].clone(), [ingot.zeros(count, dtype=dtype) for _ in range(size)]
    dist.all_reduce(mine)
    got, step = mine.double().numpy(), ingot.finfo(dtype).eps
    assert (np.abs(got - exact) <= step * np.maximum(np.abs(exact), ingot.finfo(dtype).tiny)).all()
    dist.all_gather(gathered, mine)
    assert all(np.array_equal(g.view(ingot.int16).numpy(), mine.view(ingot.int16).numpy()) for g in gathered)
    average = parts[rank].clone()
    dist.all_reduce(average, OPS.AVG)
    assert (np.abs(average.double().numpy() - exact / size) <= step * np.abs(exact / size) + 1e-30).all()


@pytest.mark.parametrize("dtype", [ingot.bfloat16, ingot.float16])
@pytest.mark.parametrize("count", [7, 50_001])
def test_sums_of_16_bit_floats_are_rounded_once(dtype, count):
    ranks.run(8, _narrow, dtype, 8, count)


def _rows_with_gradients(rank):
    sent, received = [rank + 1] * SIZE, [r + 1 for r in range(SIZE)]
    x = ingot.full((sum(sent), 2), 1.0 + rank, requires_grad=True)
    out = functional_collectives.wait_tensor(functional_collectives.all_to_all_single_autograd(x, received, sent, None))
    assert out[:, 0].tolist() == [1.0 + r for r in range(SIZE) for _ in range(r + 1)]
    (out * (10.0 + rank)).sum().backward()
    assert x.grad[:, 1].tolist() == [10.0 + r for r in range(SIZE) for _ in range(rank + 1)]
    even = functional_collectives.all_to_all_single_autograd(ingot.arange(2.0 * SIZE) + 100 * rank, None, None, None)
    assert even.tolist() == [100.0 * r + 2 * rank + k for r in range(SIZE) for k in range(2)]


def test_rows_that_change_places_take_their_gradients_back():
    ranks.run(SIZE, _rows_with_gradients)


def _messages(rank):
    right, left = (rank + 1) % SIZE, (rank - 1) % SIZE
    first, second = ingot.zeros(2), ingot.zeros(2)
    waiting = [dist.irecv(first, left), dist.irecv(second, left)]     # before anything is sent
    dist.isend(ingot.tensor([1.0, rank]), right)
    dist.send(ingot.tensor([2.0, rank]), right)
    assert waiting[1].wait() and waiting[0].wait()
    assert first.tolist() == [1, left] and second.tolist() == [2, left]
    tagged = ingot.zeros(1)
    dist.send(ingot.tensor([5.0]), right, tag=5)
    dist.send(ingot.tensor([4.0]), right, tag=4)
    dist.recv(tagged, left, tag=4)
    assert tagged.item() == 4 and dist.recv(tagged, left, tag=5) == left and tagged.item() == 5
    if rank == 0:
        senders = {dist.recv(tagged, tag=6) for _ in range(SIZE - 1)}       # a tag of its own: a rank may be two ahead
        assert senders == {1, 2}
    else:
        dist.send(ingot.ones(1), 0, tag=6)
    big = ingot.zeros(1 << 20)
    ops = [dist.P2POp(dist.isend, ingot.full((1 << 20,), float(rank)), right), dist.P2POp(dist.irecv, big, left)]
    for work in dist.batch_isend_irecv(ops):
        work.wait()
    assert (big == left).all()


def test_messages():
    ranks.run(SIZE, _messages)


def _objects(rank):
    got = [None] * SIZE
    dist.all_gather_object(got, {"rank": rank, "text": "x" * rank * 1000})
    assert [g["rank"] for g in got] == [0, 1, 2]
    box = [rank, "r"]
    dist.broadcast_object_list(box, 1)
    assert box == [1, "r"]
    got = [None] * SIZE if rank == 2 else None
    dist.gather_object(rank ** 2, got, 2)
    assert got in (None, [0, 1, 4])
    mine = [None]
    dist.scatter_object_list(mine, ["a", {"b": 1}, ingot.ones(2)] if rank == 0 else None, 0)
    assert mine[0] == "a" if rank == 0 else mine[0] == {"b": 1} if rank == 1 else mine[0].tolist() == [1, 1]
    if rank == 0:
        dist.send_object_list(["hello", 3], 1)
    elif rank == 1:
        box = [None, None]
        assert dist.recv_object_list(box) == 0 and box == ["hello", 3]


def test_objects():
    ranks.run(SIZE, _objects)


def _overwritten(rank):
    x = ingot.ones(3, requires_grad=True)
    y = x.exp()
    dist.all_reduce(y, async_op=True).wait()        # the line that errors name
    with pytest.raises(AutogradError, match=r"overwritten by all_reduce at .*test_process_groups\.py:"):
        y.sum().backward()


def test_asynchronous_writes_are_found_with_their_line():
    ranks.run(2, _overwritten)


def _side_by_side(rank):
    works = [dist.all_reduce(ingot.full((1000,), float(i)), async_op=True) for i in range(20)]
    t = ingot.ones(1)
    dist.all_reduce(t)                  # runs after those in progress
    assert t.item() == SIZE and all(w.is_completed() for w in works)
    assert [w.result()[0][0].item() for w in works] == [SIZE * i for i in range(20)]
    pair = dist.new_group([0, 2])
    assert dist.get_rank() == rank and dist.get_world_size() == SIZE
    if rank == 1:
        assert dist.get_rank(pair) == -1 and dist.all_reduce(ingot.ones(1), group=pair) is None
    else:
        assert dist.get_rank(pair) == rank // 2 and dist.get_process_group_ranks(pair) == [0, 2]
        t = ingot.full((2,), rank + 1.0)
        dist.broadcast(t, 2, pair)
        assert t[0].item() == 3 and dist.get_global_rank(pair, 1) == 2 and dist.get_group_rank(pair, 2) == 1
        with pytest.raises(ValueError, match="rank 1 is not in the group"):
            dist.broadcast(t, 1, pair)
    mine, groups = dist.new_subgroups(1)
    assert len(groups) == SIZE and mine.size() == 1


def test_pending_work_and_groups():
    ranks.run(SIZE, _side_by_side)


# Errors.


def _mismatch(rank):
    with pytest.raises(dist.DistBackendError, match=r"(is in (all_reduce of 3 float32|broadcast of 3 float32)|has gone)"):
        if rank:
            dist.all_reduce(ingot.ones(3))
        else:
            dist.broadcast(ingot.ones(3), 1)


def test_ranks_that_disagree_are_told():
    ranks.run(2, _mismatch)


def _sizes(rank):
    with pytest.raises(dist.DistBackendError, match=r"of \d float32 sum, where"):
        dist.all_reduce(ingot.ones(3 + rank))


def test_tensors_of_different_sizes_are_told():
    ranks.run(2, _sizes)


BETWEEN_DTYPES = {      # of an operand and a result, or None where both are one tensor
    "all_reduce": lambda x, out: dist.all_reduce(x),
    "reduce": lambda x, out: dist.reduce(x, 1),
    "broadcast": lambda x, out: dist.broadcast(x, 0),
    "all_gather": lambda x, out: dist.all_gather([out, ingot.zeros_like(out)], x),
    "all_gather_into_tensor": lambda x, out: dist.all_gather_into_tensor(out.repeat(2), x),
    "gather": lambda x, out: dist.gather(x, [out, out.clone()] if dist.get_rank() else None, 1),
    "scatter": lambda x, out: dist.scatter(out, None if dist.get_rank() else [x, x.clone()], 0),
    "reduce_scatter": lambda x, out: dist.reduce_scatter(out, [x, x.clone()]),
    "reduce_scatter_tensor": lambda x, out: dist.reduce_scatter_tensor(out, x.repeat(2)),
    "all_to_all": lambda x, out: dist.all_to_all([out, out.clone()], [x, x.clone()]),
    "all_to_all_single": lambda x, out: dist.all_to_all_single(out, x),
    "send": lambda x, out: dist.recv(out, 0) if dist.get_rank() else dist.send(x, 1),
}
IN_PLACE = ("all_reduce", "reduce", "broadcast")


def _of_two_dtypes(rank, name):
    one, other = ingot.ones(4), ingot.ones(4, dtype=ingot.int32)        # elements of one size
    if name not in (*IN_PLACE, "send"):
        uses_both = rank == {"gather": 1, "scatter": 0}.get(name, rank)
        if uses_both:
            with pytest.raises((DTypeError, ShapeError), match=name):
                BETWEEN_DTYPES[name](one, other.clone())
    t = other if rank else one
    with pytest.raises(dist.DistBackendError, match="int32") if rank else contextlib.suppress(dist.DistError):
        BETWEEN_DTYPES[name](t, ingot.zeros_like(t))


@pytest.mark.parametrize("name", BETWEEN_DTYPES)
def test_values_do_not_change_their_dtype(name):
    """The operand and result of a rank have one dtype, and so do those of all ranks."""
    ranks.run(2, _of_two_dtypes, name)


def _uneven(rank):
    with pytest.raises(dist.DistBackendError, match=f"{8 - 4 * rank} bytes arrived from rank {1 - rank} where {4 + 4 * rank}"):
        dist.all_to_all([ingot.zeros(1 + rank), ingot.zeros(1 + rank)], [ingot.ones(1 + rank), ingot.ones(1 + rank)])


def test_pieces_of_another_size_are_told_with_their_rank():
    ranks.run(2, _uneven)


def _gone(rank):
    if rank == 1:
        dist.destroy_process_group()
        os._exit(0)
    while_waiting = "rank 1 has gone while rank 0 waited for it in barrier"
    while_sending = "rank 0 cannot send barrier to rank 1"
    with pytest.raises((dist.DistBackendError, dist.DistNetworkError), match=f"{while_waiting}|{while_sending}: it has gone"):
        dist.barrier()


def test_a_rank_that_ends_is_noticed():
    ranks.run(2, _gone)


def test_a_rank_that_does_not_come_is_named():
    with pytest.raises(mp.ProcessRaisedException) as caught:
        ranks.run(2, _never)
    assert "waited 0.4 s in barrier for rank 1" in str(caught.value)


def _late(rank):
    if rank == 0:
        with pytest.raises(dist.DistTimeoutError, match=r"monitored_barrier: rank 0 waited 0.2 s for ranks \[1, 3\]"):
            dist.monitored_barrier(timeout=timedelta(seconds=0.2), wait_all_ranks=True)
    elif rank == 2:
        with pytest.raises(dist.DistTimeoutError, match=r"for rank 1"):
            dist.monitored_barrier(timeout=timedelta(seconds=0.2))
    store = dist.group.WORLD.store
    store.set(f"late{rank}", "done")
    store.wait([f"late{r}" for r in range(4)])


def test_all_ranks_that_are_late_are_named():
    ranks.run(4, _late)


def _never(rank):
    dist.group.WORLD.timeout = 0.4      # joining may take longer
    if rank == 0:
        dist.barrier()
    else:
        threading.Event().wait(3)


def test_rendezvous_names_missing_ranks(tmp_path):
    with pytest.raises(dist.DistTimeoutError, match=r"for ranks \[1, 2\] to connect.*world size 3"):
        dist.init_process_group(init_method=f"file://{tmp_path}/s", rank=0, world_size=3, timeout=0.2)
    assert not dist.is_initialized()


def _on_several_machines(rank, path, engine):
    meeting.machine = lambda: f"machine {rank}"
    if engine:
        os.environ["INGOT_ENGINE"] = engine
        dist.init_process_group(init_method=path, rank=rank, world_size=2, timeout=20)
        assert dist.group.WORLD.engine.name == engine
        dist.barrier()
        dist.destroy_process_group()
        return
    begin = time.monotonic()
    with pytest.raises(dist.DistBackendError, match=r"no engine connects .*mpiexec -n 2.*install .mpi4py.*INGOT_ENGINE=tcp"):
        dist.init_process_group(init_method=path, rank=rank, world_size=2, timeout=20)
    assert time.monotonic() - begin < 5 and not dist.is_initialized()


@pytest.mark.parametrize("engine", ["", "tcp"])
def test_several_machines_need_an_engine(engine, tmp_path):
    mp.start_processes(_on_several_machines, (f"file://{tmp_path}/store", engine), 2, start_method="fork")


@pytest.mark.parametrize(("arguments", "text"), [
    ({}, "environment variable RANK"), ({"rank": 0, "world_size": 1}, "MASTER_ADDR"),
    ({"init_method": "tcp://127.0.0.1:1"}, "needs rank= and world_size="), ({"init_method": "abc"}, "env://, tcp:// or file://"),
    ({"backend": "nccl"}, "not available"), ({"store": dist.HashStore(), "rank": 2, "world_size": 2}, "rank must be within")])
def test_bad_beginnings(arguments, text, monkeypatch):
    for name in ("RANK", "WORLD_SIZE", "MASTER_ADDR", "MASTER_PORT"):
        monkeypatch.delenv(name, raising=False)
    with pytest.raises(ValueError, match=text):
        dist.init_process_group(**arguments)


def test_nothing_works_before_the_beginning():
    assert dist.is_available() and not dist.is_initialized() and dist.group.WORLD is None
    assert dist.get_default_backend_for_device("cpu") == "gloo"
    assert dist.get_default_backend_for_device(ingot.device("cuda:1")) == ("nccl" if dist.is_nccl_available() else "gloo")
    with pytest.raises(ValueError, match="init_process_group"):
        dist.get_rank()
    with pytest.raises(ValueError, match="init_process_group"):
        dist.all_reduce(ingot.ones(1))


@pytest.mark.parametrize("method", ["environment", "arguments", "file", "store"])
@pytest.mark.parametrize(("rank", "size"), [(2, 2), (5, 2), (0, 0)])
def test_a_rank_that_is_none_of_the_run_waits_for_nobody(rank, size, method, monkeypatch, tmp_path):
    for name, value in (("RANK", rank), ("WORLD_SIZE", size), ("MASTER_ADDR", "127.0.0.1"), ("MASTER_PORT", 9)):
        monkeypatch.setenv(name, str(value))
    arguments = {"environment": {}, "store": {"store": dist.HashStore(), "rank": rank, "world_size": size},
                 "file": {"init_method": f"file://{tmp_path}/store", "rank": rank, "world_size": size},
                 "arguments": {"init_method": "tcp://127.0.0.1:9", "rank": rank, "world_size": size}}[method]
    with pytest.raises(ValueError, match=f"got rank {rank} and world_size {size}.*RANK|needs rank= and world_size="):
        dist.init_process_group(timeout=5, **arguments)
    assert not dist.is_initialized()


def test_futures_have_the_methods_of_pythons():
    done, failed = ingot.futures.Future(), ingot.futures.Future()
    with pytest.raises(TimeoutError):
        done.result(0)
    done.set_result(3)
    failed.set_exception(KeyError("a"))
    assert done.result() == done.result(timeout=1) == 3 and done.exception() is None
    assert isinstance(failed.exception(1), KeyError)
    with pytest.raises(KeyError):
        failed.result()


def test_one_rank_alone_by_environment(monkeypatch):
    with socket.create_server(("127.0.0.1", 0)) as probe:
        port = probe.getsockname()[1]
    for name, value in (("RANK", "0"), ("WORLD_SIZE", "1"), ("MASTER_ADDR", "127.0.0.1"), ("MASTER_PORT", str(port))):
        monkeypatch.setenv(name, value)
    for _ in range(2):
        dist.init_process_group()
        with pytest.raises(ValueError, match="twice"):
            dist.init_process_group()
        t = ingot.ones(2)
        dist.all_reduce(t)
        got = [ingot.zeros(2)]
        dist.all_gather(got, t)
        assert t.tolist() == [1, 1] and got[0].tolist() == [1, 1] and dist.get_backend() == "gloo"
        assert ingot.jit.trace(lambda x: dist.all_reduce(x * 2))(t) is None
        with pytest.raises(ingot.jit.TraceError, match="all_gather_object"):
            ingot.jit.trace(lambda x: dist.all_gather_object([None], 1))(t)
        dist.destroy_process_group()


# Launchers.

PROGRAM = """
import os, sys
import ingot
from ingot import distributed as dist
dist.init_process_group("gloo", timeout=30)
total = ingot.tensor([float(dist.get_rank() + 1)])
dist.all_reduce(total)
if "--fails" in sys.argv and os.environ["TORCHELASTIC_RESTART_COUNT"] == "0" and dist.get_rank() == 1:
    os._exit(7)
rank, local = os.environ["RANK"], os.environ["LOCAL_RANK"]
with open(os.path.join(sys.argv[1], rank), "w") as file:
    print(total.item(), dist.get_world_size(), local, dist.is_torchelastic_launched(), *sys.argv[2:], file=file)
dist.destroy_process_group()
"""


@pytest.fixture
def program(tmp_path):
    (tmp_path / "program.py").write_text(PROGRAM)
    (tmp_path / "out").mkdir()

    def start(*options, command="run", arguments=()):
        words = [sys.executable, "-m", f"ingot.distributed.{command}", *options]
        if "-m" not in options:
            words.append(str(tmp_path / "program.py"))
        done = subprocess.run([*words, str(tmp_path / "out"), *arguments], capture_output=True, text=True, timeout=100,
                              cwd=tmp_path)
        return done, [p.read_text().split() for p in sorted((tmp_path / "out").iterdir())]

    return start


def test_a_program_is_started_as_several_processes(program):
    done, output = program("--nproc-per-node=2", arguments=["--lr", "3"])
    assert done.returncode == 0, done.stderr
    assert output == [["3.0", "2", str(r), "True", "--lr", "3"] for r in range(2)]


def test_a_module_is_started_and_told_its_local_rank(program):
    done, output = program("--standalone", "--nproc_per_node", "2", "-m", "program", command="launch")
    assert done.returncode == 1 and not output        # its first argument is the rank, where the folder should be
    done, output = program("--standalone", "--nproc_per_node", "2", "--use-env", "-m", "program", command="launch")
    assert done.returncode == 0 and [s[:3] for s in output] == [["3.0", "2", "0"], ["3.0", "2", "1"]], done.stderr


def test_failures_end_all_processes_or_start_them_again(program):
    done, output = program("--nproc-per-node=2", arguments=["--fails"])
    assert done.returncode == 1 and "rank 1" in done.stderr and "exit code 7" in done.stderr
    done, output = program("--nproc-per-node=2", "--max-restarts=1", arguments=["--fails"])
    assert done.returncode == 0 and len(output) == 2 and "start again" in done.stderr


def test_operations_run_in_order():
    """An operation that the caller waits for runs after all in progress, however many there were."""
    dist.init_process_group(store=dist.HashStore(), rank=0, world_size=1)
    try:
        group, order, gate = dist.group.WORLD, [], threading.Event()
        for _ in range(3):
            group.run(lambda: None, True).wait()
        time.sleep(0.05)            # their ends are counted a little later
        late = group.run(lambda: order.append(gate.wait(20)), True)
        threading.Timer(0.1, gate.set).start()
        group.run(lambda: order.append("next"), False)
        late.wait()
        assert order == [True, "next"]
    finally:
        dist.destroy_process_group()


@pytest.mark.parametrize("place", [-1, 1, 3])
def test_a_place_must_be_in_the_group(place):
    dist.init_process_group(store=dist.HashStore(), rank=0, world_size=1)
    try:
        with pytest.raises(ValueError, match=f"the group has no rank {place}"):
            dist.broadcast_object_list([1], group_src=place)
        with pytest.raises(ValueError, match="not both"):
            dist.broadcast_object_list([1], src=0, group_src=0)
    finally:
        dist.destroy_process_group()
