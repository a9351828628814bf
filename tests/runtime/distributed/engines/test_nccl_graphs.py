"""Traced steps with collectives over NCCL as one CUDA graph, on mock GPUs: votes of the ranks, overlap, faults."""

import os
import time

import pytest

import ingot
import nccl_ranks
from ingot import distributed as dist
from ingot import nn
from ingot.distributed import ReduceOp
from ingot.distributed.fsdp import FullyShardedDataParallel, fully_shard
from ingot.distributed.tensor import parallel as tp
from ingot.runtime.distributed.stores.distributed_errors import DistError

F = nn.functional
CALLS = 7               # until a graph is replayed, whatever had to be recorded again before


def _counted(nccl, call) -> tuple:
    """Return what a call gives, and how many graphs and kernels it has launched, and captures it has begun."""
    names = "cuGraphLaunch", "cuLaunchKernelEx", "cuStreamBeginCapture_v2"
    before = [nccl.cuda.calls.get(name, 0) for name in names]
    found = call()
    return found, tuple([nccl.cuda.calls.get(name, 0) - n for name, n in zip(names, before)])


REPLAYED = 1, 0, 0


# Collectives.


def _all_reduce(t):
    u = t * 2
    dist.all_reduce(u)
    return u


def _all_gather(t):
    found = [ingot.empty_like(t) for _ in range(2)]
    dist.all_gather(found, t * 2)
    return found[0] + found[1] * 3


def _all_gather_into(t):
    out = ingot.empty(2 * t.shape[0], device="cuda")
    dist.all_gather_into_tensor(out, t * 2)
    return out + 1


def _reduce_scatter(t):
    out = ingot.empty(t.shape[0] // 2, device="cuda")
    dist.reduce_scatter_tensor(out, t * 3)
    return out + 1


def _broadcast(t):
    u = t * 2
    dist.broadcast(u, 1)
    return u + t


def _all_to_all(t):
    out = ingot.empty_like(t)
    dist.all_to_all_single(out, t * 2)
    return out + 1


def _asynchronous(t):
    u, v = (t * 2).reshape(2, 2).t(), t * 3
    one, two = dist.all_reduce(u, async_op=True), dist.all_reduce(v, ReduceOp.MAX, async_op=True)
    w = (t * 4).exp()
    one.wait()
    two.wait()
    return u.reshape(-1) + v + w


def _two_groups(t):
    u = t * 2
    dist.all_reduce(u)
    dist.all_reduce(u, group=_two_groups.other)
    return u + 1


def _is_replayed(rank, nccl, f):
    _two_groups.other = dist.new_group([0, 1])
    traced = ingot.jit.trace(f)
    for n in range(CALLS):
        t = ingot.arange(4.0).cuda() / 8 + rank + n
        want = f(t).tolist()
        got, how = _counted(nccl, lambda t=t: traced(t))
        assert got.tolist() == want, n
    assert how == REPLAYED and nccl.aborts == 0


@pytest.mark.parametrize("f", [_all_reduce, _all_gather, _all_gather_into, _reduce_scatter, _broadcast, _all_to_all,
                               _asynchronous, _two_groups], ids=lambda f: f.__name__.strip("_"))
def test_collectives_of_a_trace_are_one_graph(f):
    nccl_ranks.run(2, _is_replayed, f)


# Training steps.


def _net():
    ingot.manual_seed(0)
    return nn.Sequential(nn.Linear(6, 8), nn.Tanh(), nn.Linear(8, 8), nn.Tanh(), nn.Linear(8, 4)).cuda()


def _replicated(net, size):
    return nn.parallel.DistributedDataParallel(net, bucket_cap_mb=1e-4)


def _by_layers(net, size):
    for layer in net:
        fully_shard(layer)
    return fully_shard(net)


def _flat(net, size):
    return FullyShardedDataParallel(net)


def _hybrid(net, size):
    return fully_shard(net, mesh=dist.init_device_mesh("cuda", (2, size // 2), mesh_dim_names=("replicas", "shards")))


def _tensor_parallel(net, size):
    mesh = dist.init_device_mesh("cuda", (size,))
    return tp.parallelize_module(net, mesh, {"0": tp.ColwiseParallel(), "2": tp.RowwiseParallel()})


def _step_of(net, optimizer):
    def step(x, y):
        optimizer.zero_grad()
        loss = F.mse_loss(net(x), y)
        loss.backward()
        optimizer.step()
        return loss

    return step


def _trains(rank, nccl, size, wrap):
    losses = []
    for trace in (lambda f: f, ingot.jit.trace):
        net = wrap(_net(), size)
        optimizer = ingot.optim.SGD(net.parameters(), lr=0.1, momentum=0.9)
        step = trace(_step_of(net, optimizer))
        ingot.manual_seed(1 + (0 if wrap is _tensor_parallel else rank))
        x, y = ingot.randn(6, 6).cuda(), ingot.randn(6, 4).cuda()
        found = []
        for _ in range(CALLS + 1):
            loss, how = _counted(nccl, lambda step=step, x=x, y=y: step(x, y))
            found.append(loss.item())
        losses.append(found)
    assert how == REPLAYED and nccl.aborts == 0
    assert losses[1] == pytest.approx(losses[0], rel=1e-5)


@pytest.mark.parametrize("size, wrap", [(2, _replicated), (2, _by_layers), (3, _by_layers), (2, _flat), (4, _hybrid),
                                        (2, _tensor_parallel)], ids=lambda x: getattr(x, "__name__", str(x)).strip("_"))
def test_a_training_step_is_one_graph(size, wrap):
    nccl_ranks.run(size, _trains, size, wrap)


def _overlaps(rank, nccl):
    net = _replicated(_net(), 2)
    optimizer = ingot.optim.SGD(net.parameters(), lr=0.1)
    step = ingot.jit.trace(_step_of(net, optimizer))
    x, y = ingot.randn(6, 6).cuda(), ingot.randn(6, 4).cuda()
    for _ in range(CALLS):
        step(x, y).item()
    entries = max(nccl.cuda.graphs.values(), key=len)
    main = entries[0][0]
    starts = [i for i, (_, work, _) in enumerate(entries) if getattr(work, "publishes", False)]
    assert len(starts) >= 3                         # (buckets)
    for start in starts[:-1]:                       # kernels of backward run beside each bucket but the last
        until = next(i for i, (queue, _, waits) in enumerate(entries) if i > start and queue is main and waits)
        assert any(queue is main and callable(work) for queue, work, _ in entries[start:until])


def test_buckets_are_reduced_beside_backward():
    nccl_ranks.run(2, _overlaps)


# Ranks that do something else.


def _rows(rank, nccl):
    @ingot.jit.trace
    def f(t):
        u = (t * 2).sum(0)
        dist.all_reduce(u)
        return u

    w = ingot.ones(3).cuda()
    sizes = [[2, 2]] * 5 + [[2, 5], [4, 2], [2, 2], [7, 7], [2, 2]]
    for pair in sizes:
        found, how = _counted(nccl, lambda pair=pair: f(w.expand(pair[rank], 3).contiguous()))
        assert found.tolist() == [2.0 * sum(pair)] * 3, pair
        if pair[0] != pair[1]:
            assert how[0] == 0, pair
    assert nccl.aborts == 0


def test_ranks_with_other_sizes_launch_kernels():
    nccl_ranks.run(2, _rows)


def _untraced(rank, nccl):
    traced, t = ingot.jit.trace(_all_reduce), ingot.ones(4).cuda()
    for _ in range(5):
        traced(t)
    for n in range(12):
        f = _all_reduce if rank == 1 and n in (1, 4, 5) else traced
        found, how = _counted(nccl, lambda f=f: f(t))
        assert found.tolist() == [4.0] * 4
        assert (how == REPLAYED) == (n not in (1, 4, 5)), (rank, n, how)
    assert nccl.aborts == 0


def test_a_rank_that_runs_eagerly_is_followed():
    nccl_ranks.run(2, _untraced)


def _in_vain(rank, nccl):
    f, t = _all_reduce if rank == 1 else ingot.jit.trace(_all_reduce), ingot.ones(4).cuda()
    for _ in range(14):
        began = time.monotonic()
        found, how = _counted(nccl, lambda: f(t))
        assert found.tolist() == [4.0] * 4 and how[0] == 0
    assert time.monotonic() - began < 5.0


def test_votes_end_where_others_never_replay():
    nccl_ranks.run(2, _in_vain)


def _moved(rank, nccl):
    """Inputs of one rank move: all ranks capture again."""
    w = [ingot.ones(4).cuda() for _ in range(2)]

    def body(t, w):
        u = t * w
        dist.all_reduce(u)
        return u

    f, kept = ingot.jit.trace(body), []
    for n in range(12):
        t = ingot.full((4,), 1.0 + n).cuda()
        other = w[1 if rank == 1 and n >= 6 else 0]
        found, how = _counted(nccl, lambda t=t, other=other: f(t, other))
        kept.append(t)
        assert found.tolist() == [2.0 * (1 + n)] * 4
        if n == 5:
            assert how == REPLAYED
    assert how == REPLAYED and nccl.aborts == 0


def test_an_input_that_moves_on_one_rank_is_captured_anew_on_all():
    nccl_ranks.run(2, _moved)


def _different(rank, nccl):
    def more(t):
        u = _all_reduce(t)
        dist.broadcast(u, 0)
        return u

    first, both, t = ingot.jit.trace(_all_reduce), ingot.jit.trace(more), ingot.ones(4).cuda()

    def call():
        if rank == 0:
            return both(t)
        u = first(t)
        dist.broadcast(u, 0)
        return u

    mine, theirs = ("broadcast of 4 float32 from 0", "no collective")[::1 if rank == 0 else -1]
    with pytest.raises(dist.DistBackendError, match=f"rank {rank} is about to capture {mine} as collective 2 of a graph, "
                                                    f"where rank {1 - rank} captures {theirs}"):
        for _ in range(CALLS):
            assert call().tolist() == [4.0] * 4
    assert nccl.aborts == 0


def test_ranks_compare_what_they_capture():
    nccl_ranks.run(2, _different)


# Groups that overlap.

GROUPS = {
    "one of one rank": [[0], [1], [2], [3], [0, 1, 2, 3]],
    "one within another": [[0, 1, 2, 3], [1, 2]],
    "a chain": [[0, 1], [1, 2], [2, 3]],
    "a chain from its middle": [[1, 2], [0, 1], [2, 3]],
    "a ring": [[0, 1], [1, 2], [2, 3], [3, 0]],
    "a grid": [[0, 1], [2, 3], [0, 2], [1, 3]],
    "apart": [[0, 1], [2, 3]],
    "made twice": [[0, 1, 2, 3], [0, 1, 2, 3]],
    "used in another order": [[0, 1], [1, 2], [2, 3]],
}


def _overlapping(rank, nccl, names):
    for name in names:
        groups = [dist.new_group(ranks) for ranks in GROUPS[name]]
        mine = [g for g in groups if g is not dist.GroupMember.NON_GROUP_MEMBER]
        _check_groups(rank, nccl, name, mine)


def _check_groups(rank, nccl, name, groups):
    is_turned = name == "used in another order"

    def f(t):
        parts = [t + n for n in range(len(groups))]
        pairs = [*zip(groups, parts)]
        works = [dist.all_reduce(u, group=g, async_op=True) for g, u in (pairs[::-1] if is_turned else pairs)]
        for work in works:
            work.wait()
        return sum(parts) * 2

    traced, t = ingot.jit.trace(f), ingot.ones(4).cuda()
    for g in groups:                    # (all ranks connect groups in one order)
        dist.all_reduce(ingot.ones(1).cuda(), group=g)
    for n in range(3 * CALLS):          # at times rank 3 alone does something else: nobody may replay then
        is_odd = n in (CALLS + 3, CALLS + 4, 2 * CALLS + 1)
        want = f(t).tolist()
        got, how = _counted(nccl, lambda is_odd=is_odd: (f if is_odd and rank == 3 else traced)(t))
        assert got.tolist() == want, (name, n)
        meets = {r for ranks in _closure(GROUPS[name], rank) for r in ranks}
        if is_odd and 3 in meets:
            assert how[0] == 0, (name, n, rank, how)
    assert how == REPLAYED and nccl.aborts == 0, (name, rank, how)


def _closure(groups, rank) -> list:
    """Return the groups that a rank meets, also through other ranks."""
    reached, found = {rank}, []
    while True:
        more = [g for g in groups if g not in found and reached.intersection(g)]
        if not more:
            return found
        found += more
        reached.update(*more)


QUICK = "one within another", "a chain", "a ring"


@pytest.mark.parametrize("name", [pytest.param(name, marks=[] if name in QUICK else pytest.mark.slow) for name in GROUPS])
def test_ranks_of_groups_that_overlap_agree(name):
    nccl_ranks.run(4, _overlapping, [name], timeout=10)


# Memory of collectives in a capture.


def _drops(rank, nccl, is_result):
    """A tensor is dropped before the branch of its collective is joined: until then, no other value gets its memory."""
    t, other, graph = ingot.ones(4).cuda(), ingot.ones(4).cuda(), ingot.cuda.CUDAGraph()
    dist.all_reduce(other)
    with ingot.cuda.graph(graph):
        dropped, out = t * 2, ingot.empty(8, device="cuda")
        place = dropped.data_ptr()
        if is_result:
            dist.all_reduce(dropped, async_op=True)
        else:
            dist.all_gather_into_tensor(out, dropped, async_op=True)
        del dropped
        kept = t * 7
        dist.all_reduce(other, async_op=True).wait()
        found = kept + 1
    assert kept.data_ptr() != place and found.data_ptr() == place
    for n in range(3):
        t.fill_(1.0 + n)
        graph.replay()
        assert found.tolist() == [7.0 * (1 + n) + 1] * 4
    graph.reset()


@pytest.mark.parametrize("is_result", [False, True])
def test_memory_is_held_until_the_branch_of_a_collective_is_joined(is_result):
    nccl_ranks.run(2, _drops, is_result)


# Faults.


def _dies(rank, nccl):
    traced, t = ingot.jit.trace(_all_reduce), ingot.ones(4).cuda()
    if rank == 1:
        nccl.at_capture = lambda capture: os._exit(0)
    for _ in range(CALLS):
        traced(t).tolist()


def test_a_rank_that_dies_in_its_capture_is_named():
    with pytest.raises(Exception, match=r"rank 1 has gone while rank 0 waited for it in the vote"):
        nccl_ranks.run(2, _dies)


def _gives_up(rank, nccl):
    traced, t = ingot.jit.trace(_all_reduce), ingot.ones(4).cuda()
    if rank == 1:
        nccl.at_capture = lambda capture: 5             # invalid usage
    with pytest.raises(DistError, match="invalid usage" if rank == 1 else "rank 1 has given up: .*invalid usage"):
        for _ in range(500):
            traced(t).tolist()
            time.sleep(0.01)
    assert nccl.aborts == 1


def test_an_error_of_nccl_in_a_capture_reaches_all_ranks():
    nccl_ranks.run(2, _gives_up)


def _cannot_capture(rank, nccl):
    traced, t = ingot.jit.trace(_all_reduce), ingot.ones(4).cuda()
    if rank == 1:
        nccl.at_capture = lambda capture: setattr(capture, "broken", True)
    for _ in range(14):
        found, how = _counted(nccl, lambda: traced(t))
        assert found.tolist() == [4.0] * 4
        assert how[0] == 0
    assert nccl.aborts == 0


def test_a_rank_that_cannot_capture_is_followed():
    nccl_ranks.run(2, _cannot_capture)


def _async_error(rank, nccl):
    traced, t = ingot.jit.trace(_all_reduce), ingot.ones(4).cuda()
    for _ in range(CALLS):
        _, how = _counted(nccl, lambda: traced(t))
    assert how == REPLAYED
    if rank == 1:
        nccl.fail()
    with pytest.raises(dist.DistBackendError, match="remote process exited"):
        for _ in range(500):
            traced(t).tolist()
            time.sleep(0.01)
    launched = nccl.cuda.calls["cuGraphLaunch"]
    with pytest.raises(dist.DistBackendError, match="remote process exited"):
        traced(t)
    assert nccl.aborts == 1 and nccl.cuda.calls["cuGraphLaunch"] == launched


def test_an_asynchronous_error_behind_a_graph_ends_all_ranks():
    nccl_ranks.run(2, _async_error)


def _never_comes(rank, nccl):
    t, graph = ingot.ones(4).cuda(), ingot.cuda.CUDAGraph()
    dist.all_reduce(t)
    with ingot.cuda.graph(graph):
        dist.all_reduce(t)
    graph.replay()
    t.tolist()
    if rank == 1:
        time.sleep(3.0)
        return
    graph.replay()
    with pytest.raises(dist.DistBackendError, match="a graph with all_reduce of 4 float32 sum"):
        for _ in range(500):
            t.tolist()
            time.sleep(0.01)
    with pytest.raises(dist.DistBackendError, match="a graph with all_reduce"):
        graph.replay()
    graph.reset()


def test_the_watchdog_waits_for_graphs():
    nccl_ranks.run(2, _never_comes, timeout=1.0)


def _does_not_vote(rank, nccl):
    traced, t = ingot.jit.trace(_all_reduce), ingot.ones(4).cuda()
    for _ in range(CALLS):
        traced(t).tolist()
    if rank == 1:
        time.sleep(3.0)
        return
    with pytest.raises(dist.DistTimeoutError, match=r"rank 0 waited 1 s in the vote .* for rank 1; the last collective"):
        traced(t)
    assert nccl.aborts == 1


def test_a_rank_that_does_not_vote_is_named():
    nccl_ranks.run(2, _does_not_vote, timeout=1.0)
