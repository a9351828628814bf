"""Collectives and data parallel steps in traced functions: the same bits as eagerly, whoever records and whoever replays."""

import time
import warnings
from functools import partial

import pytest

import ingot
import ranks
from ingot import distributed as dist
from ingot import jit, nn, optim
from ingot.distributed.algorithms.ddp_comm_hooks import default_hooks
from ingot.distributed.nn import functional as differentiable


def _like(x, count):
    return [ingot.zeros_like(x) for _ in range(count)]


def _all_reduce(x, n, **how):
    y = x * 2
    work = dist.all_reduce(y, **how)
    return y, work


def _largest(x, n, **how):
    y = x * 2
    return y, dist.all_reduce(y, dist.ReduceOp.MAX, **how)


def _coalesced(x, n, **how):
    ys = [x * 2, x + 1]
    work = dist.all_reduce_coalesced(ys, **how)
    if work is not None:
        work.wait()
    return sum(ys), None


def _reduce(x, n, **how):
    y = x * 2
    return y, dist.reduce(y, n - 1, **how)


def _broadcast(x, n, **how):
    y = x * 2
    return y, dist.broadcast(y, n - 1, **how)


def _all_gather(x, n, **how):
    found = _like(x, n)
    work = dist.all_gather(found, x * 2, **how)
    if work is not None:
        work.wait()
    return ingot.stack(found), None


def _into_tensor(x, n, **how):
    found = ingot.zeros(n * x.numel())
    return found, dist.all_gather_into_tensor(found, x * 2, **how)


def _gather(x, n, **how):
    found = _like(x, n) if dist.get_rank() == 0 else None
    work = dist.gather(x * 2, found, **how)
    if work is not None:
        work.wait()
    return x if found is None else ingot.stack(found), None


def _scatter(x, n, **how):
    y = ingot.zeros_like(x)
    return y, dist.scatter(y, [x * i for i in range(n)] if dist.get_rank() == 0 else None, **how)


def _reduce_scatter(x, n, **how):
    y = ingot.zeros_like(x)
    return y, dist.reduce_scatter(y, [x * i for i in range(n)], **how)


def _scatter_tensor(x, n, **how):
    y = ingot.zeros_like(x)
    return y, dist.reduce_scatter_tensor(y, ingot.cat([x * i for i in range(n)]), **how)


def _all_to_all(x, n, **how):
    found = _like(x, n)
    work = dist.all_to_all(found, [x * i for i in range(n)], **how)
    if work is not None:
        work.wait()
    return ingot.stack(found), None


def _one_to_all(x, n, **how):
    found = ingot.zeros(n, x.numel())
    return found, dist.all_to_all_single(found, ingot.stack([x * i for i in range(n)]), **how)


def _barrier(x, n, **how):
    return x * 2, dist.barrier(**how)


COLLECTIVES = [_all_reduce, _largest, _coalesced, _reduce, _broadcast, _all_gather, _into_tensor, _gather, _scatter,
               _reduce_scatter, _scatter_tensor, _all_to_all, _one_to_all, _barrier]


def _same(rank, functions):
    warnings.simplefilter("ignore", jit.TracerWarning)
    n = dist.get_world_size()
    for function in functions:
        for how in ({}, {"async_op": True}):
            def fn(x, function=function, how=how):
                y, work = function(x, n, **how)
                if work is not None:
                    work.wait()
                return y * 3

            traced = jit.trace(fn)
            for i in range(4):
                x = ingot.arange(4.0) + rank + i
                assert traced(x).tolist() == fn(x).tolist(), (function.__name__, how, i)
            assert traced.stats()["compiles"] == 1, (function.__name__, traced.stats())


@pytest.mark.parametrize("size", [2, 3])
def test_collectives(size):
    ranks.run(size, _same, COLLECTIVES)


def _with_gradients(rank):
    def fn(x):
        x = x.detach().requires_grad_()
        y = differentiable.all_reduce(x * x)
        z = ingot.cat(differentiable.all_gather(y * (rank + 1))).pow(2).sum()
        z.backward()
        return z, x.grad

    traced = jit.trace(fn)
    for i in range(4):
        x = ingot.arange(4.0) + rank + i
        assert [t.tolist() for t in traced(x)] == [t.tolist() for t in fn(x)], i


def test_collectives_with_gradients():
    ranks.run(2, _with_gradients)


def _branches(rank):
    warnings.simplefilter("ignore", jit.TracerWarning)
    sent = []

    def fn(x):
        y = x * 2
        dist.all_reduce(y)
        if x.sum() > 10:            # on one rank at a time
            y = y + 1
        dist.all_reduce(y)
        z = y[(x.sum() > 100).long()]
        dist.broadcast(y, 0)
        return y + z

    traced, group = jit.trace(fn), dist.group.WORLD
    send = group.engine.send
    group.engine.send = lambda *args: (sent.append(args[2]), send(*args))[1]
    for values in ((1, 1), (1, 1), (9, 1), (1, 9), (9, 9), (1, 1), (9, 1)):
        x = ingot.full((2,), float(values[rank]))
        found = []
        for each in (traced, fn):
            sent.clear()
            found.append((each(x).tolist(), [*sent]))
        assert found[0] == found[1], values


def test_a_rank_that_records_sends_what_the_others_do():
    ranks.run(2, _branches)


def _disagreement(rank):
    @jit.trace
    def fn(x, flag):
        y = x * 2
        if flag:
            dist.all_reduce(y)
        else:
            dist.broadcast(y, 0)
        return y

    x = ingot.ones(3)
    for flag in (True, False, True):
        fn(x, flag)
    said = ("rank 0 is in all_reduce of 3 float32 sum, where rank 1 is in broadcast of 3 float32 from 0",
            "rank 1 has gone while rank 0 waited for it in all_reduce of 3 float32 sum")
    if dist.group.WORLD.engine.name == "mpi":       # tells both ranks
        said = (said[0], "rank 1 is in broadcast of 3 float32 from 0, where rank 0 is in all_reduce of 3 float32 sum")
    begin = time.monotonic()
    with pytest.raises(dist.DistBackendError, match=said[rank == 0]):
        fn(x, rank == 0)
    assert time.monotonic() - begin < 5


def test_ranks_that_trace_differently_are_told_the_first_difference():
    ranks.run(2, _disagreement)


# Steps of DistributedDataParallel.


def _network():
    ingot.manual_seed(0)
    return nn.Sequential(nn.Linear(6, 16), nn.BatchNorm1d(16), nn.ReLU(), nn.Linear(16, 16), nn.Tanh(), nn.Linear(16, 1))


def _step_of(net, opt, syncs=lambda: True):
    def step(x, y):
        opt.zero_grad()
        if syncs():
            loss = nn.functional.mse_loss(net(x), y)
            loss.backward()
        else:
            with net.no_sync():
                loss = nn.functional.mse_loss(net(x), y)
                loss.backward()
        opt.step()
        return loss
    return step


def _training(rank, prepare, options, wrap):
    net = nn.parallel.DistributedDataParallel(_network(), bucket_cap_mb=0.0005, **options)
    prepare(net)
    step = wrap(_step_of(net, optim.AdamW(net.parameters(), lr=0.01)))
    generator, losses = ingot.Generator().manual_seed(rank), []
    for i in range(7):
        rows = 8 if i != 4 else 12
        losses.append(step(ingot.randn(rows, 6, generator=generator), ingot.randn(rows, 1, generator=generator)).item())
    return losses, [t.tolist() for t in net.state_dict().values()]


def _nothing(net):
    """Leave a module as it is."""


def _hook(hook):
    return lambda net: net.register_comm_hook(None, hook)


STEPS = {"plain": (_nothing, {}), "unused": (_nothing, {"find_unused_parameters": True}),
         "without buffers": (_nothing, {"broadcast_buffers": False}), "one bucket": (_nothing, {"static_graph": True}),
         "average by a hook": (_hook(default_hooks.allreduce_hook), {}),
         "float16": (_hook(default_hooks.fp16_compress_hook), {}), "bfloat16": (_hook(default_hooks.bf16_compress_hook), {})}


def _same_training(rank, names):
    warnings.simplefilter("ignore", jit.TracerWarning)
    for name in names:
        prepare, options = STEPS[name]
        traced: list = []

        def wrap(step, traced=traced):
            traced.append(jit.trace(step))
            return traced[0]

        assert _training(rank, prepare, options, wrap) == _training(rank, prepare, options, lambda step: step), name
        assert traced[0].stats()["compiles"] <= 4, (name, traced[0].stats())


@pytest.mark.parametrize("size, names", [(2, (*STEPS,)), (3, ("plain", "unused"))])
def test_data_parallel_steps(size, names):
    ranks.run(size, _same_training, names)


def _forward_alone(rank):
    warnings.simplefilter("ignore", jit.TracerWarning)
    found = []
    for wrap in (jit.trace, lambda fn: fn):
        net = nn.parallel.DistributedDataParallel(_network(), bucket_cap_mb=0.0005)
        forward = wrap(lambda x, net=net: net(x).pow(2).mean())
        for i in range(5):
            net.zero_grad()
            forward(ingot.arange(24.0).reshape(4, 6) * (rank + 1) + i).backward()
            found.append([p.grad.tolist() for p in net.parameters()])
    assert found[:5] == found[5:]


def test_a_traced_forward_leaves_its_gradients_to_a_backward_outside():
    ranks.run(2, _forward_alone)


def _without_sync(rank):
    warnings.simplefilter("ignore", jit.TracerWarning)
    found = []
    for wrap in (jit.trace, lambda fn: fn):
        net, state = nn.parallel.DistributedDataParallel(_network()), {"syncs": True}
        step = wrap(_step_of(net, optim.SGD(net.parameters(), lr=0.1), lambda state=state: state["syncs"]))
        for i in range(8):
            state["syncs"] = i % 3 != 1
            step(ingot.arange(24.0).reshape(4, 6) * (rank + 1) + i, ingot.ones(4, 1))
            found.append([p.tolist() for p in net.parameters()])
    assert found[:8] == found[8:]


def test_steps_without_averages():
    ranks.run(2, _without_sync)


def _shielded(rank):
    group = dist.group.WORLD
    with pytest.raises(jit.TraceError, match="talks to other processes"):
        jit.trace(lambda x: (group.run(lambda: group.channel.barrier("x"), False), x)[1])(ingot.ones(1))
    with pytest.raises(jit.TraceError, match="all_gather_object"):
        jit.trace(partial(_objects, dist.get_world_size()))(ingot.ones(1))


def _objects(size, x):
    found = [None] * size
    dist.all_gather_object(found, 1)
    return x


def test_other_traffic_is_refused():
    ranks.run(2, _shielded)
