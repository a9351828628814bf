"""The engine `nccl` on a real GPU with the real library: one rank eager, captured and aborted, and two ranks on one GPU tried.

Without a device or the library every test here is skipped, but the first: it runs the same rank on the mocks.
"""

import os
import tempfile

import pytest

import ingot
import nccl_ranks
from ingot import distributed as dist
from ingot import multiprocessing as mp
from ingot import nn

on_a_gpu = [pytest.mark.gpu, pytest.mark.timeout(300),
            pytest.mark.skipif(not ingot.cuda.is_available(), reason=ingot.cuda.why_not_available() or "-"),
            pytest.mark.skipif(not dist.is_nccl_available(), reason="the library of NCCL is not here")]


def _one_rank(rank, nccl=None):
    t = ingot.arange(4.0).cuda()
    for op in (dist.ReduceOp.SUM, dist.ReduceOp.AVG, dist.ReduceOp.MAX):
        dist.all_reduce(t, op)
    outs = [ingot.empty_like(t)]
    dist.all_gather(outs, t)
    dist.reduce_scatter_tensor(outs[0], t * 2)
    dist.broadcast(t, 0)
    assert t.tolist() == [0.0, 1.0, 2.0, 3.0] and outs[0].tolist() == [0.0, 2.0, 4.0, 6.0]
    net = nn.parallel.DistributedDataParallel(nn.Linear(4, 2).cuda())
    net(t).sum().backward()
    assert net.module.weight.grad.tolist() == [t.tolist()] * 2
    graph, found = ingot.cuda.CUDAGraph(), ingot.zeros(4).cuda()
    with ingot.cuda.graph(graph):
        found.copy_(t * 2)
        dist.all_reduce(found, dist.ReduceOp.AVG)
        found += 1
    for n in range(3):
        t.fill_(float(n))
        graph.replay()
        assert found.tolist() == [2.0 * n + 1] * 4
    graph.reset()
    part = dist.new_group([0])
    dist.all_reduce(t, group=part)
    assert t.tolist() == [2.0] * 4
    comm = part.devices.comm
    dist.all_reduce(t, group=part)
    comm.abort(dist.DistBackendError("the test aborts"))
    ingot.cuda.synchronize()
    with pytest.raises(dist.DistBackendError, match="the test aborts"):
        dist.all_reduce(t, group=part)
    dist.all_reduce(t)                              # the other group goes on
    assert t.tolist() == [2.0] * 4


@pytest.mark.parametrize("device_id", [None, 0])
def test_one_rank_on_the_mocks(device_id):
    nccl_ranks.run(1, _one_rank, device_id=device_id)


def _joins(rank, size, folder, body):
    dist.init_process_group("nccl", init_method=f"file://{folder}/store", rank=rank, world_size=size, timeout=60)
    body(rank)
    dist.destroy_process_group()


def _spawned(size, body):
    with tempfile.TemporaryDirectory() as folder:
        mp.start_processes(_joins, (size, folder, body), size, start_method="spawn")


@pytest.mark.gpu
class TestOnADevice:
    """Each rank in a process of its own, which has the device."""

    pytestmark = on_a_gpu

    def test_one_rank(self):
        _spawned(1, _one_rank)

    def test_two_ranks_on_one_gpu(self, monkeypatch):
        """NCCL refuses two ranks on a GPU, or lets them where this variable asks: either way no rank hangs."""
        monkeypatch.setenv("NCCL_MULTI_RANK_GPU_ENABLE", "1")
        _spawned(2, _two_ranks)


def _two_ranks(rank):
    t = ingot.full((4,), 1.0 + rank).cuda()
    try:
        dist.all_reduce(t)
        found = t.tolist()
    except dist.DistBackendError as e:
        print(f"rank {rank} of {os.getpid()}: {e}")
        assert "rank" in str(e)
    else:
        assert found == [3.0] * 4
