"""The engine `nccl` on a mock library and mock GPUs: every collective against that of the host, groups, faults, graphs."""

import os
import time

import pytest

import ingot
import nccl_ranks
from ingot import distributed as dist
from ingot.distributed import ReduceOp
from ingot.ir.errors import DeviceError


def _values(rank, shape=(2, 3), dtype=ingot.float32):
    return (ingot.arange(2 * 3).reshape(*shape) + 10.0 * rank + 1).to(dtype)


def _collectives(rank, size):
    """Every collective, as functions of a place: each returns the tensors that it wrote."""
    def like(n=1):
        return [ingot.zeros(2, 3) for _ in range(n)]

    def reduced(op, dtype=ingot.float32):
        def f(put):
            t = put(_values(rank, dtype=dtype))
            dist.all_reduce(t, op)
            return [t]

        return f

    def turned(put):
        t = put(_values(rank)).t()
        dist.all_reduce(t)
        return [t]

    def reduce_to(op):
        def f(put):
            t = put(_values(rank))
            dist.reduce(t, size - 1, op)
            return [t] if rank == size - 1 else []

        return f

    def broadcast(put):
        t = put(_values(rank)[:, 1:])
        dist.broadcast(t, size - 1)
        return [t]

    def all_gather(put):
        outs = [put(t) for t in like(size)]
        dist.all_gather(outs, put(_values(rank)))
        return outs

    def all_gather_into(put):
        out = put(ingot.zeros(2 * size, 3))
        dist.all_gather_into_tensor(out, put(_values(rank)))
        return [out]

    def gather(put):
        outs = [put(t) for t in like(size)] if rank == 0 else None
        dist.gather(put(_values(rank)), outs, 0)
        return outs or []

    def scatter(put):
        t = put(ingot.zeros(2, 3))
        dist.scatter(t, [put(_values(r)) for r in range(size)] if rank == 0 else None, 0)
        return [t]

    def reduce_scatter(put):
        t = put(ingot.zeros(2, 3))
        dist.reduce_scatter(t, [put(_values(rank + r)) for r in range(size)], ReduceOp.MAX)
        return [t]

    def from_the_host(put):
        t = put(ingot.zeros(2, 3))
        dist.reduce_scatter(t, [_values(rank + r) for r in range(size)])
        dist.scatter(t, [_values(r) + 1 for r in range(size)] if rank == 0 else None, 0)
        return [t]

    def reduce_scatter_tensor(put):
        t = put(ingot.zeros(2, 3))
        dist.reduce_scatter_tensor(t, put(ingot.cat([_values(rank + r) for r in range(size)])), ReduceOp.AVG)
        return [t]

    def all_to_all(put):
        outs = [put(ingot.zeros(1 + r)) for r in range(size)]
        dist.all_to_all(outs, [put(ingot.full((1 + rank,), 10.0 * rank + r)) for r in range(size)])
        return outs

    def all_to_all_single(put):
        out = put(ingot.zeros(sum(range(size)), 2))
        dist.all_to_all_single(out, put(ingot.full((size * rank, 2), 1.0 * rank)), list(range(size)), [rank] * size)
        return [out]

    def messages(put):
        out, to, source = put(ingot.zeros(2, 3)), (rank + 1) % size, (rank - 1) % size
        ops = [dist.P2POp(dist.isend, put(_values(rank)), to), dist.P2POp(dist.irecv, out, source)]
        for work in dist.batch_isend_irecv(ops):
            work.wait()
        return [out]

    def sent(put):
        t = put(_values(rank).t())
        if rank == 0:
            dist.send(t, 1)
        if rank == 1:
            t = put(ingot.zeros(2, 3)).t()
            assert dist.recv(t, 0) == 0
        return [t]

    return {"sum": reduced(ReduceOp.SUM), "mean": reduced(ReduceOp.AVG), "max": reduced(ReduceOp.MAX),
            "product of integers": reduced(ReduceOp.PRODUCT, ingot.int64), "bfloat16": reduced(ReduceOp.AVG, ingot.bfloat16),
            "float16": reduced(ReduceOp.SUM, ingot.float16), "bool": reduced(ReduceOp.SUM, ingot.bool),
            "complex": reduced(ReduceOp.AVG, ingot.complex64), "turned": turned, "reduce": reduce_to(ReduceOp.SUM),
            "reduce mean": reduce_to(ReduceOp.AVG), "broadcast": broadcast, "all_gather": all_gather,
            "all_gather_into": all_gather_into, "gather": gather, "scatter": scatter, "reduce_scatter": reduce_scatter,
            "from the host": from_the_host,
            "reduce_scatter_tensor": reduce_scatter_tensor, "all_to_all": all_to_all, "all_to_all_single": all_to_all_single,
            "messages": messages, "sent": sent}


def _as_on_the_host(rank, nccl, size):
    for name, f in _collectives(rank, size).items():
        want = f(lambda t: t)
        before = len(nccl.calls)
        got = f(lambda t: t.cuda())
        assert len(nccl.calls) > before or (name == "sent" and rank > 1), name
        for w, g in zip(want, got, strict=True):
            assert g.is_cuda, name
            ingot.testing.assert_close(g.cpu(), w, msg=name)


@pytest.mark.parametrize("size", [1, 2, 3])
def test_collectives_are_those_of_the_host(size):
    if size == 1:
        nccl_ranks.run(1, _alone)
    else:
        nccl_ranks.run(size, _as_on_the_host, size)


def _alone(rank, nccl):
    t = _values(0).cuda()
    dist.all_reduce(t, ReduceOp.AVG)
    assert t.tolist() == _values(0).tolist() and nccl.calls == ["AllReduce"]


def _nothing_through_the_host(rank, nccl):
    t, cuda = _values(rank).cuda(), nccl.cuda
    dist.all_reduce(t)                              # connects
    before = dict(cuda.calls)
    work = dist.all_reduce(t, async_op=True)
    assert work.wait() and work.result() == [t] and work.get_future().wait() == [t]
    dist.all_gather([ingot.empty_like(t) for _ in range(2)], t)
    after = cuda.calls
    for name in ("cuMemcpyDtoHAsync_v2", "cuMemcpyHtoDAsync_v2", "cuStreamSynchronize", "cuEventSynchronize"):
        assert after.get(name, 0) == before.get(name, 0), name
    assert work.wait(10.0) if work.is_completed() else True
    assert t.tolist() == (2 * (_values(0) + _values(1))).tolist() and work.is_completed() and work.is_success()
    assert work.exception() is None


def test_tensors_do_not_pass_through_the_host():
    nccl_ranks.run(2, _nothing_through_the_host)


def _groups(rank, nccl, is_split):
    assert dist.get_backend() == "nccl" and "'nccl'" in repr(dist.group.WORLD) and dist.is_backend_available("nccl")
    assert dist.get_default_backend_for_device("cuda") == "nccl" and dist.get_default_backend_for_device("cpu") == "gloo"
    pair, rest = dist.new_group([0, 2]), dist.new_group([1])
    mine = rest if rank == 1 else pair
    t, u = ingot.tensor([1.0 + rank]).cuda(), ingot.tensor([1.0])
    dist.all_reduce(t, group=mine)
    assert t.tolist() == ([2.0] if rank == 1 else [4.0])
    dist.all_reduce(t)
    assert t.tolist() == [10.0]
    dist.all_reduce(u)                              # on the host
    assert u.tolist() == [3.0]
    found = [None] * 3
    dist.all_gather_object(found, {"rank": rank})
    assert found[2] == {"rank": 2}
    joins = [folder for folder in os.listdir(nccl.folder) if len(folder) == 16]
    assert len(joins) == (1 if is_split else 3)
    dist.barrier()
    dist.destroy_process_group(mine)


@pytest.mark.parametrize("backend, device", [
    ("nccl", None), ("cpu:gloo,cuda:nccl", None), ("nccl", "cuda:0"), ("cuda:nccl", 0)])
def test_groups(backend, device):
    nccl_ranks.run(3, _groups if backend == "nccl" else _groups_by_two_names, device is not None, backend=backend,
                   device_id=device)


def _groups_by_two_names(rank, nccl, is_split):
    t = ingot.tensor([1.0 + rank]).cuda()
    dist.all_reduce(t)
    assert t.tolist() == [6.0] and "'nccl'" in repr(dist.group.WORLD) and dist.get_backend().endswith("cuda:nccl")
    dist.all_reduce(t, group=dist.new_group())
    assert t.tolist() == [18.0]


def _refusals(rank, nccl):
    t = ingot.tensor([1, 2]).cuda()
    with pytest.raises(TypeError, match="NCCL has no reduction BXOR of int64"):
        dist.all_reduce(t, ReduceOp.BXOR)
    with pytest.raises(TypeError, match="NCCL has no reduction SUM of int16"):
        dist.all_reduce(t.to(ingot.int16), ReduceOp.SUM)
    with pytest.raises(ValueError, match="names the rank that sends"):
        dist.recv(t)
    moved = t.to(ingot.int16)
    dist.broadcast(moved, 0)                        # values that only move have any dtype
    assert moved.tolist() == [1, 2]


def test_refusals():
    nccl_ranks.run(2, _refusals)


# Faults.


def _raises(error, match, work):
    """The error of a collective: the program gets it where it waits, reads or calls next."""
    with pytest.raises(error, match=match) as found:
        for _ in range(500):
            work()
            time.sleep(0.01)
    return str(found.value)


def _missing_rank(rank, nccl):
    t = ingot.ones(4).cuda()
    dist.all_reduce(t)
    t.tolist()
    if rank == 1:
        time.sleep(3.0)                             # it comes to no more; its watchdog answers for it
        return
    dist.all_reduce(t, ReduceOp.MAX)
    said = _raises(dist.DistTimeoutError if rank == 0 else dist.DistBackendError, "all_reduce of 4 float32 max", t.tolist)
    assert "rank 1" in said or "has given up" in said, said
    if "waited" in said and "given up" not in said:
        assert "rank 0 waited 1 s" in said and "for rank 1, whose last one was all_reduce of 4 float32 sum" in said
    assert nccl.aborts == 1
    with pytest.raises(dist.DistBackendError, match="all_reduce of 4 float32 max"):
        dist.all_reduce(t)


def test_a_rank_that_never_comes_is_named():
    nccl_ranks.run(2, _missing_rank, timeout=1.0)


def _never_connects(rank, nccl):
    if rank == 1:
        time.sleep(2.0)
        return
    with pytest.raises(dist.DistTimeoutError, match=r"rank 0 waited 1 s in connecting .* for rank 1, which has sent no tensor"):
        dist.all_reduce(ingot.ones(1).cuda())


def test_a_rank_that_never_connects_is_named():
    nccl_ranks.run(2, _never_connects, timeout=1.0)


def _async_error(rank, nccl):
    t = ingot.ones(4).cuda()
    dist.all_reduce(t)
    assert t.tolist() == [2.0] * 4
    if rank == 1:
        nccl.fail()
    said = _raises(dist.DistBackendError, "remote process exited", lambda: dist.all_reduce(t).__class__ and t.tolist())
    assert ("rank 1 has given up" in said) == (rank == 0) and nccl.aborts == 1
    work = None
    with pytest.raises(dist.DistBackendError, match="remote process"):
        work = dist.all_reduce(t, async_op=True)
    assert work is None


def test_an_asynchronous_error_aborts_all_ranks():
    nccl_ranks.run(2, _async_error)


def test_lost_ranks_are_noticed():
    with pytest.raises(Exception, match=r"rank 1 has gone while rank 0 waited for it in all_reduce of 3 float32 sum"):
        nccl_ranks.run(2, _lost)


def _lost(rank, nccl):
    t = ingot.ones(3).cuda()
    dist.all_reduce(t)
    t.tolist()
    if rank == 1:
        os._exit(0)
    dist.all_reduce(t)
    t.tolist()


# Graphs.


def _captured(rank, nccl):
    t, out = ingot.zeros(3).cuda(), ingot.zeros(3).cuda()
    with pytest.raises(dist.DistBackendError, match="run a collective of it before"), ingot.cuda.graph(ingot.cuda.CUDAGraph()):
        dist.all_reduce(t)
    dist.all_reduce(t)
    graph = ingot.cuda.CUDAGraph()
    with ingot.cuda.graph(graph):
        out.copy_(t * 2)
        work = dist.all_reduce(out, ReduceOp.AVG, async_op=True)
        with pytest.raises(dist.DistError, match="part of a captured graph"):
            work.is_completed()
        work.wait()
        out += 1
    for step in range(3):
        t.fill_(1.0 + step + rank)
        graph.replay()
        assert out.tolist() == [2 * (1.5 + step) + 1] * 3
    time.sleep(0.1)                                 # (the watchdog asks for no event of the graph)
    dist.all_reduce(t)
    assert nccl.aborts == 0


def test_collectives_are_captured():
    nccl_ranks.run(2, _captured)


def _different_captures(rank, nccl):
    t = ingot.zeros(3 + rank).cuda()
    dist.all_reduce(ingot.zeros(1).cuda())
    theirs, mine = f"capture of all_reduce of {4 - rank} float32", f"capture of all_reduce of {3 + rank} float32"
    with pytest.raises(dist.DistBackendError, match=f"{theirs}.*{mine}"), ingot.cuda.graph(ingot.cuda.CUDAGraph()):
        dist.all_reduce(t)


def test_ranks_compare_captures():
    nccl_ranks.run(2, _different_captures)


def _traced(rank, nccl, backend):
    @ingot.jit.trace
    def f(t):
        u = t * 2
        dist.all_reduce(u, ReduceOp.AVG)
        return u + 1

    t = ingot.full((4,), 1.0 + rank).cuda()
    for _ in range(3):
        before = nccl.cuda.calls.get("cuMemcpyDtoHAsync_v2", 0)
        found = f(t)
        assert (nccl.cuda.calls.get("cuMemcpyDtoHAsync_v2", 0) == before) == (backend == "nccl")
        assert found.tolist() == [4.0] * 4
    graph = ingot.cuda.CUDAGraph()
    if backend == "gloo":
        with pytest.raises(DeviceError, match=r"all_reduce\w* is Python that is called each time"), ingot.cuda.graph(graph):
            f(t)
        return
    with ingot.cuda.graph(graph):
        found = f(t)
    t += 1
    graph.replay()
    assert found.tolist() == [6.0] * 4


@pytest.mark.parametrize("backend", ["nccl", "gloo"])
def test_traced_collectives(backend):
    nccl_ranks.run(2, _traced, backend, backend=backend)
