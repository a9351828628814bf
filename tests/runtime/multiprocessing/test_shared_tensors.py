"""Tensors between processes: shared memory, queues and arguments, spawn, training one model from several processes."""

import gc
import os
import pickle
from itertools import pairwise

import numpy as np
import pytest

import ingot
from ingot import multiprocessing as mp
from ingot import nn
from ingot.runtime.multiprocessing.shared_memory import LARGE_BYTES, SharedBlock, block_of

METHODS = ["fork", "spawn"]


# Shared memory in one process.


def test_moving_a_tensor_moves_everything_that_shares_its_memory():
    t = ingot.arange(6.0).reshape(2, 3)
    view, bare, twice = t[1], t.detach(), t.T[::2]
    assert not t.is_shared()
    assert t.share_memory_() is t
    assert all(x.is_shared() for x in (t, view, bare, twice))
    t.add_(1)
    assert view.tolist() == [4, 5, 6] and bare[0, 0].item() == 1 and twice.tolist() == [[1, 4], [3, 6]]
    view.zero_()
    assert t[1].tolist() == [0, 0, 0]
    assert t.share_memory_() is t


def test_sharing_a_view_moves_the_whole():
    t = ingot.arange(10.0)
    part = t[3:5].share_memory_()
    part.fill_(-1)
    assert t.is_shared() and t.tolist() == [0, 1, 2, -1, -1, 5, 6, 7, 8, 9]


@pytest.mark.parametrize("shape", [(), (0, 3), (5,), (LARGE_BYTES // 2, 3)])
@pytest.mark.parametrize("dtype", [ingot.float32, ingot.bfloat16, ingot.bool, ingot.complex64])
def test_every_shape_and_dtype_can_be_shared(shape, dtype):
    t = ingot.ones(shape, dtype=dtype)
    t.share_memory_()
    assert t.is_shared() and t.shape == shape and t.dtype is dtype and (t == 1).all()


def test_small_tensors_share_a_block_and_large_ones_have_their_own():
    small = [ingot.zeros(10).share_memory_() for _ in range(100)]
    large = [ingot.zeros(LARGE_BYTES // 4 + 1).share_memory_() for _ in range(2)]
    assert len({block_of(t._a).key for t in small}) <= 2 and len({block_of(t._a).key for t in large}) == 2
    starts = sorted(t.data_ptr() for t in small)
    assert all(b - a >= 40 for a, b in pairwise(starts)) and all(s % 64 == 0 for s in starts)


@pytest.mark.skipif(not os.path.isdir("/proc/self/fd"), reason="looks at /proc")
def test_memory_goes_with_its_last_tensor():
    gc.collect()
    before = len(os.listdir("/proc/self/fd"))
    blocks = [ingot.zeros(LARGE_BYTES).share_memory_() for _ in range(5)]
    assert len(os.listdir("/proc/self/fd")) == before + 5
    part = blocks[0][:2]
    del blocks
    assert len(os.listdir("/proc/self/fd")) == before + 1 and part.tolist() == [0, 0]
    del part
    assert len(os.listdir("/proc/self/fd")) == before


def test_gradients_and_modules_work_on_shared_memory():
    m = nn.Sequential(nn.Linear(3, 4), nn.BatchNorm1d(4)).share_memory()
    assert all(t.is_shared() for t in (*m.parameters(), *m.buffers()))
    m(ingot.randn(5, 3)).sum().backward()
    ingot.optim.SGD(m.parameters(), lr=0.1).step()
    assert all(p.is_shared() and p.grad is not None for p in m.parameters())
    assert pickle.loads(pickle.dumps(m))[0].weight.tolist() == m[0].weight.tolist()


def test_errors():
    x = ingot.ones(2, requires_grad=True) * 2
    with pytest.raises(RuntimeError, match=r"send t.detach\(\)"):
        mp.reductions.reduce_tensor(x)
    with pytest.raises(ingot.jit.TraceError, match="shared memory"):
        ingot.jit.trace(lambda t: t.share_memory_() + 1)(ingot.ones(2))
    with pytest.raises(ValueError, match="set_sharing_strategy"):
        mp.set_sharing_strategy("telepathy")
    mp.set_sharing_strategy("file_system")
    assert mp.get_sharing_strategy() in mp.get_all_sharing_strategies()
    with pytest.raises(MemoryError):
        SharedBlock(os.memfd_create("empty"))


# Between processes.


def answer(inbox, outbox, argument):
    argument.add_(1)
    for _ in range(2):
        t = inbox.get()
        t.mul_(2)
    a = ingot.arange(4.0)
    outbox.put({"pair": (a, a[1:]), "low": ingot.ones(300, 10).bfloat16(), "parameter": nn.Parameter(ingot.ones(2)),
                "shared": argument.is_shared()})


@pytest.mark.parametrize("method", METHODS)
def test_tensors_travel_by_reference(method):
    context = mp.get_context(method)
    inbox, outbox = context.Queue(), context.Queue()
    argument, sent, unshared = ingot.zeros(3), ingot.ones(4).share_memory_(), ingot.ones(2)
    if method == "fork":
        argument.share_memory_()
    p = context.Process(target=answer, args=(inbox, outbox, argument))
    p.start()
    inbox.put(sent)
    inbox.put(unshared)
    got = outbox.get(timeout=60)
    p.join(30)
    assert p.exitcode == 0
    assert argument.tolist() == [1, 1, 1] and sent.tolist() == [2] * 4 and unshared.tolist() == [2, 2] and got["shared"]
    a, tail = got["pair"]
    tail[0] = 9
    assert a.tolist() == [0, 9, 2, 3], "the two tensors arrived over one memory"
    assert got["low"].dtype is ingot.bfloat16 and got["low"].is_shared()
    assert type(got["parameter"]) is nn.Parameter and got["parameter"].requires_grad
    for q in (inbox, outbox):
        q.close()
        q.join_thread()


def sends_and_ends(q):
    q.put([ingot.full((3,), float(i)) for i in range(3)])


def test_a_sender_waits_until_its_tensors_have_arrived():
    context = mp.get_context("fork")
    q = context.Queue()
    p = context.Process(target=sends_and_ends, args=(q,))
    p.start()
    p.join(0.3)
    assert [t.tolist() for t in q.get(timeout=30)] == [[float(i)] * 3 for i in range(3)]
    p.join(30)
    assert p.exitcode == 0
    q.close()
    q.join_thread()


def double(t):
    return t * 2


def test_pools_and_pipes():
    with mp.get_context("fork").Pool(2) as pool:
        assert [t.tolist() for t in pool.map(double, [ingot.ones(2), ingot.arange(2.0)])] == [[2, 2], [0, 2]]
    a, b = mp.Pipe()
    t = ingot.zeros(2)
    a.send(t)
    received = b.recv()
    received[0] = 5
    assert t.tolist() == [5, 0]
    a.close()
    b.close()


def fill(rank, t):
    t[rank] = rank + 1


def fail(rank, t):
    if rank == 1:
        raise ValueError("this is what went wrong")
    fill(rank, t)


def leave(rank, t):
    os._exit(4)


def test_spawn():
    t = ingot.zeros(2).share_memory_()
    mp.spawn(fill, (t,), nprocs=2)
    assert t.tolist() == [1, 2]


def test_started_processes_report_errors():
    t = ingot.zeros(3).share_memory_()
    with pytest.raises(mp.ProcessRaisedException, match="this is what went wrong") as info:
        mp.start_processes(fail, (t,), nprocs=2, start_method="fork")
    assert info.value.error_index == 1 and "in fail" in str(info.value)
    with pytest.raises(mp.ProcessExitedException, match="exit code 4"):
        mp.start_processes(leave, (t,), nprocs=1, start_method="fork")
    context = mp.start_processes(fill, (t,), nprocs=2, join=False, start_method="fork")
    assert len(context.pids()) == 2
    while not context.join():
        pass
    assert t.tolist() == [1, 2, 0]


# Hogwild: several processes train one model without locks.


def true_line(x):
    return x @ ingot.tensor([[1.0], [-2.0], [0.5]]) + 0.25


def train(rank, model):
    ingot.manual_seed(100 + rank)
    ingot.set_num_threads(1)
    optimizer = ingot.optim.SGD(model.parameters(), lr=0.05)
    for _ in range(300):
        x = ingot.randn(16, 3)
        optimizer.zero_grad()
        nn.functional.mse_loss(model(x), true_line(x)).backward()
        optimizer.step()


@pytest.mark.parametrize("method", METHODS)
def test_hogwild_training_converges(method):
    ingot.manual_seed(0)
    model = nn.Linear(3, 1).share_memory()
    before = [p.detach().clone() for p in model.parameters()]
    mp.start_processes(train, (model,), nprocs=2, start_method=method)
    assert all(not ingot.equal(b, p) for b, p in zip(before, model.parameters())), "the processes trained copies"
    np.testing.assert_allclose(model.weight.detach().numpy(), [[1, -2, 0.5]], atol=1e-2)
    np.testing.assert_allclose(model.bias.detach().numpy(), [0.25], atol=1e-2)
