"""Training by several processes: DistributedDataParallel, SyncBatchNorm, collectives with gradients, DataParallel."""

import pytest

import ingot
import ranks
from ingot import distributed as dist
from ingot import nn

SIZE = 2
F = nn.functional


def make_net(seed=0):
    ingot.manual_seed(seed)
    return nn.Sequential(nn.Linear(6, 8), nn.Tanh(), nn.Linear(8, 8), nn.Tanh(), nn.Linear(8, 3)).double()


def make_data(rows=8):
    ingot.manual_seed(1)
    return ingot.randn(rows, 6, dtype=ingot.float64), ingot.randn(rows, 3, dtype=ingot.float64)


def by_one_process(steps, make_optimizer):
    """Parameters after training on all rows."""
    net = make_net()
    optimizer = make_optimizer(net.parameters())
    x, y = make_data()
    for _ in range(steps):
        optimizer.zero_grad()
        F.mse_loss(net(x), y).backward()
        optimizer.step()
    return list(net.parameters())


def adam(params):
    return ingot.optim.Adam(params, lr=0.01)


def _trains(rank, options):
    net = make_net(seed=rank)                   # other values on each rank: they start out as rank 0's
    ddp = nn.parallel.DistributedDataParallel(net, **options)
    assert [n for n, _ in ddp.named_parameters()][:1] == ["module.0.weight"]
    optimizer = adam(ddp.parameters())
    x, y = make_data()
    x, y = x[rank::SIZE], y[rank::SIZE]
    for _ in range(20):
        optimizer.zero_grad()
        F.mse_loss(ddp(x), y).backward()
        optimizer.step()
    for p, want in zip(ddp.parameters(), by_one_process(20, adam)):
        assert ingot.allclose(p, want, rtol=1e-10, atol=1e-12)
    got = [ingot.zeros_like(ddp.module[0].weight) for _ in range(SIZE)]
    dist.all_gather(got, ddp.module[0].weight.detach())
    assert ingot.equal(got[0], got[1])


@pytest.mark.parametrize("options", [{}, {"bucket_cap_mb": 0.0001}, {"find_unused_parameters": True}, {"static_graph": True}])
def test_training_in_parts_is_training_on_the_whole(options):
    ranks.run(SIZE, _trains, options)


def _accumulates(rank):
    ddp = nn.parallel.DistributedDataParallel(make_net())
    alone = make_net()
    x, y = make_data()
    with ddp.no_sync():
        F.mse_loss(ddp(x[rank::SIZE]), y[rank::SIZE]).backward()
    own = make_net()
    F.mse_loss(own(x[rank::SIZE]), y[rank::SIZE]).backward()
    assert ingot.allclose(ddp.module[0].weight.grad, own[0].weight.grad)        # nothing was averaged yet
    F.mse_loss(ddp(x[rank::SIZE]), y[rank::SIZE]).backward()
    for _ in range(2):
        F.mse_loss(alone(x), y).backward()
    assert all(ingot.allclose(p.grad, q.grad) for p, q in zip(ddp.parameters(), alone.parameters()))
    with ingot.no_grad():
        ddp(x)
    ddp.zero_grad()
    F.mse_loss(ddp(x[rank::SIZE]), y[rank::SIZE]).backward()
    assert all(ingot.allclose(2 * p.grad, q.grad) for p, q in zip(ddp.parameters(), alone.parameters()))


def test_no_sync_accumulates():
    ranks.run(SIZE, _accumulates)


class Branches(nn.Module):
    """A module that does not use all of itself."""

    def __init__(self):
        super().__init__()
        self.parts = nn.ModuleList(nn.Linear(2, 1, bias=False) for _ in range(3))

    def forward(self, x, part):
        return self.parts[part](x)


def _unused(rank):
    ingot.manual_seed(0)
    ddp = nn.parallel.DistributedDataParallel(Branches(), find_unused_parameters=True)
    x = ingot.tensor([[1.0, 2.0]])
    ddp(x * (rank + 1), rank).sum().backward()             # rank 0 uses part 0, rank 1 part 1, nobody part 2
    grads = [p.grad for p in ddp.parameters()]
    assert grads[0].tolist() == [[0.5, 1.0]] and grads[1].tolist() == [[1.0, 2.0]] and grads[2] is None
    ingot.manual_seed(0)
    strict = nn.parallel.DistributedDataParallel(Branches())
    strict(x, 0).sum().backward()
    with pytest.raises(RuntimeError, match=r"parts\.1\.weight.*find_unused_parameters=True"):
        strict(x, 0)


def test_unused_parameters():
    ranks.run(SIZE, _unused)


def _buffers(rank):
    ingot.manual_seed(rank)
    ddp = nn.parallel.DistributedDataParallel(nn.Sequential(nn.Linear(2, 3), nn.BatchNorm1d(3)))
    for step in range(3):
        ddp(ingot.randn(5, 2) + 3 * rank).sum().backward()
        assert ddp.module[1].num_batches_tracked.item() == step + 1
    ddp(ingot.randn(5, 2))
    mine = ddp.module[1].running_mean.clone()
    ddp.module[1].eval()
    ddp(ingot.randn(5, 2))                                  # takes the buffers of rank 0
    got = [None, None]
    dist.all_gather_object(got, (mine.tolist(), ddp.module[1].running_mean.tolist()))
    assert got[0][1] == got[1][1] == got[0][0]


def test_buffers_follow_the_first_rank():
    ranks.run(SIZE, _buffers)


def _shares(rank):
    sampler = ingot.utils.data.DistributedSampler(range(7), shuffle=False)
    assert list(sampler) == [[0, 2, 4, 6], [1, 3, 5, 0]][rank]


def test_the_sampler_knows_the_group():
    ranks.run(SIZE, _shares)


def _different(rank):
    with pytest.raises(ValueError, match="not the same on all processes"):
        nn.parallel.DistributedDataParallel(nn.Linear(2, 2 + rank))
    with pytest.raises(ValueError, match="without parameters"):
        nn.parallel.DistributedDataParallel(nn.ReLU())


def test_modules_that_differ_are_told():
    ranks.run(SIZE, _different)


def test_no_group_no_ddp():
    with pytest.raises(ValueError, match="init_process_group"):
        nn.parallel.DistributedDataParallel(nn.Linear(1, 1))


def _normalises(rank, kind, momentum):
    shape = (6, 4) if kind is nn.BatchNorm1d else (6, 4, 3, 2)
    ingot.manual_seed(0)
    whole = ingot.randn(*shape, dtype=ingot.float64, requires_grad=True)
    weight = ingot.randn(*shape, dtype=ingot.float64)
    plain = kind(4, momentum=momentum).double()
    net = nn.SyncBatchNorm.convert_sync_batchnorm(nn.Sequential(kind(4, momentum=momentum).double()))
    assert isinstance(net[0], nn.SyncBatchNorm)
    rows = slice(0, 2) if rank == 0 else slice(2, 6)        # uneven parts
    part = whole.detach()[rows].clone().requires_grad_()
    want, got = plain(whole), net(part)
    assert ingot.allclose(got, want[rows])
    (want * weight).sum().backward()
    (got * weight[rows]).sum().backward()
    assert ingot.allclose(part.grad, whole.grad[rows])
    assert ingot.allclose(net[0].running_mean, plain.running_mean) and ingot.allclose(net[0].running_var, plain.running_var)
    net.eval(), plain.eval()
    assert ingot.allclose(net(part), plain(whole)[rows])


@pytest.mark.parametrize("kind", [nn.BatchNorm1d, nn.BatchNorm2d])
@pytest.mark.parametrize("momentum", [0.1, None])
def test_sync_batch_norm_is_batch_norm_over_all(kind, momentum):
    ranks.run(SIZE, _normalises, kind, momentum)


def _differentiable(rank):
    x = ingot.full((3,), float(rank + 1), requires_grad=True)
    y = dist.nn.all_reduce(x * x)
    assert y.tolist() == [5.0] * 3
    (y * (rank + 1)).sum().backward()
    assert x.grad.tolist() == [2 * (rank + 1) * 3.0] * 3                # both ranks' gradients, 1 + 2, come back
    x.grad = None
    first, second = dist.nn.all_gather(x)
    (first + 10 * second).sum().backward()
    assert x.grad.tolist() == ([2.0] * 3 if rank == 0 else [20.0] * 3)


def test_collectives_with_gradients():
    ranks.run(SIZE, _differentiable)


def test_sync_batch_norm_alone_is_batch_norm():
    x = ingot.randn(5, 3)
    assert ingot.equal(nn.SyncBatchNorm(3)(x), nn.BatchNorm1d(3)(x))
    with pytest.raises(RuntimeError, match="2 dimensions"):
        nn.SyncBatchNorm(3)(x[:, 0])


def test_data_parallel_on_the_cpu_is_the_module():
    net = make_net()
    x, _ = make_data()
    dp = nn.DataParallel(net)
    assert ingot.equal(dp(x), net(x)) and next(iter(dp.state_dict())) == "module.0.weight"
    assert ingot.equal(nn.parallel.data_parallel(net, x), net(x))
    parts = nn.parallel.scatter((x, {"k": [x]}), [0, 1])
    assert [p[0].shape[0] for p in parts] == [4, 4] and ingot.equal(parts[1][1]["k"][0], x[4:])
    outputs = nn.parallel.parallel_apply(nn.parallel.replicate(net, [0, 1]), [(p[0],) for p in parts])
    assert ingot.allclose(nn.parallel.gather(outputs, 0), net(x))
    with pytest.raises(ValueError, match="DistributedDataParallel"):
        nn.DataParallel(net, device_ids=[0, 1])
