"""Sharded models over NCCL on mock GPUs: the losses of several ranks are those of one process on the CPU."""

import pytest

import ingot
import nccl_ranks
from ingot import distributed as dist
from ingot import nn
from ingot.distributed.fsdp import FullyShardedDataParallel, ShardingStrategy, fully_shard

F = nn.functional
STEPS = 3


def _net():
    ingot.manual_seed(0)
    return nn.Sequential(nn.Linear(6, 7), nn.Tanh(), nn.Linear(7, 8), nn.Tanh(), nn.Linear(8, 3))


def _steps(net, x, y):
    optimizer = ingot.optim.SGD(net.parameters(), lr=0.2, momentum=0.9)
    losses = []
    for _ in range(STEPS):
        optimizer.zero_grad()
        loss = F.mse_loss(net(x), y)
        loss.backward()
        optimizer.step()
        losses.append(loss.detach())
    return losses


def _data():
    ingot.manual_seed(1)
    return ingot.randn(12, 6), ingot.randn(12, 3)


def _by_layers(net, size):
    for layer in net:
        fully_shard(layer)
    return fully_shard(net)


def _replicated(net, size):
    return fully_shard(net, mesh=dist.init_device_mesh("cuda", (2, size // 2), mesh_dim_names=("replicas", "shards")))


def _with_divisor(net, size):
    made = fully_shard(net)
    made.set_gradient_divide_factor(float(size))
    return made


def _flat(net, size):
    return FullyShardedDataParallel(net)


def _flat_unsharded(net, size):
    return FullyShardedDataParallel(net, sharding_strategy=ShardingStrategy.NO_SHARD)


def _flat_replicated(net, size):
    mesh = dist.init_device_mesh("cuda", (2, size // 2), mesh_dim_names=("replicas", "shards"))
    return FullyShardedDataParallel(net, sharding_strategy=ShardingStrategy.HYBRID_SHARD, device_mesh=mesh)


def _trains(rank, nccl, size, wrap):
    x, y = (t[rank::size].cuda() for t in _data())
    net, cuda = wrap(_net().cuda(), size), nccl.cuda
    net(x).sum().backward()                         # connects all groups
    net.zero_grad()
    before = dict(cuda.calls)
    losses = _steps(net, x, y)
    assert cuda.calls.get("cuMemcpyDtoHAsync_v2", 0) == before.get("cuMemcpyDtoHAsync_v2", 0)
    losses = ingot.stack(losses)
    dist.all_reduce(losses, dist.ReduceOp.AVG)
    ingot.testing.assert_close(losses.cpu(), ingot.stack(_steps(_net(), *_data())), rtol=1e-4, atol=1e-5)
    assert nccl.aborts == 0


@pytest.mark.parametrize("size, wrap", [(2, _by_layers), (3, _by_layers), (2, _with_divisor), (4, _replicated), (2, _flat),
                                        (3, _flat), (2, _flat_unsharded), (4, _flat_replicated)])
def test_losses_are_those_of_one_process(size, wrap):
    nccl_ranks.run(size, _trains, size, wrap)
