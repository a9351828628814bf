"""Training in several processes: DistributedDataParallel, SyncBatchNorm, differentiable collectives, DataParallel."""

import importlib
from typing import Any, NamedTuple

import pytest

import ingot
import mock_cuda
import private_names  # noqa: F401
import ranks
from ingot import distributed as dist
from ingot import nn
from ingot.runtime.nn.parallel.reducer import Bucket

SIZE = 2
OPS = dist.ReduceOp
F = nn.functional


def make_net(seed=0):
    ingot.manual_seed(seed)
    return nn.Sequential(nn.Linear(6, 8), nn.Tanh(), nn.Linear(8, 8), nn.Tanh(), nn.Linear(8, 3)).double()


def make_data(rows=8):
    ingot.manual_seed(1)
    return ingot.randn(rows, 6, dtype=ingot.float64), ingot.randn(rows, 3, dtype=ingot.float64)


def by_one_process(steps, make_optimizer):
    """Return parameters after training on all rows."""
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
    net = make_net(seed=rank)                   # each rank has other values; all start as rank 0's
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
    assert ingot.allclose(ddp.module[0].weight.grad, own[0].weight.grad)        # nothing is averaged yet
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
    """A module that uses only a part of itself."""

    def __init__(self):
        super().__init__()
        self.parts = nn.ModuleList(nn.Linear(2, 1, bias=False) for _ in range(3))

    def forward(self, x, part):
        return self.parts[part](x)


def _unused(rank):
    ingot.manual_seed(0)
    ddp = nn.parallel.DistributedDataParallel(Branches(), find_unused_parameters=True)
    x = ingot.tensor([[1.0, 2.0]])
    ddp(x * (rank + 1), rank).sum().backward()             # rank 0 uses part 0, rank 1 part 1, none part 2
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


def _normalises_halves(rank):
    """The sums exceed float16, whose counts are inexact; the moments are those of all rows."""
    x = (ingot.arange(4500.0).reshape(-1, 1) % 97 + 1000).half()
    net = nn.SyncBatchNorm(1)
    got = net(x[rank * 1500:][:1500 + 1500 * rank])
    assert got.dtype is ingot.float16
    want = nn.BatchNorm1d(1)(x.float())
    assert ingot.allclose(got.float(), want[rank * 1500:][:1500 + 1500 * rank], atol=1e-3)
    assert ingot.allclose(net.running_mean, x.float().mean(0) * 0.1)
    for only_rank in range(SIZE):
        with pytest.raises(ValueError, match="more than 1 value"):
            net(x[:1 if rank == only_rank else 0])


def test_sync_batch_norm_of_low_precision_keeps_sums_wide():
    ranks.run(SIZE, _normalises_halves)


def _evaluates_alone(rank):
    """In evaluation no rank waits for others, with and without running statistics."""
    if rank == 0:
        x = ingot.randn(5, 3)
        for tracked in (True, False):
            net = nn.SyncBatchNorm(3, track_running_stats=tracked).eval()
            assert ingot.equal(net(x), nn.BatchNorm1d(3, track_running_stats=tracked).eval()(x))


def test_sync_batch_norm_evaluates_by_itself():
    ranks.run(SIZE, _evaluates_alone, timeout=5)


def _twice(rank):
    x = ingot.randn(4, 2, dtype=ingot.float64, generator=ingot.Generator().manual_seed(0))
    both, part = x.clone().requires_grad_(), x[rank::SIZE].clone().requires_grad_()
    plain, net = nn.BatchNorm1d(2).double(), nn.SyncBatchNorm(2).double()
    first, = ingot.autograd.grad(plain(both).pow(3).sum(), both, create_graph=True)
    first.square().sum().backward()
    mine, = ingot.autograd.grad(net(part).pow(3).sum(), part, create_graph=True)
    mine.square().sum().backward()
    assert ingot.allclose(mine, first[rank::SIZE]) and ingot.allclose(part.grad, both.grad[rank::SIZE])


def test_sync_batch_norm_has_second_derivatives():
    ranks.run(SIZE, _twice)


def test_conversion_keeps_options_of_batch_norms():
    norm = nn.BatchNorm2d(3, eps=1e-3, momentum=None, bias=False).eval()
    norm.qconfig = "settings"
    again = nn.SyncBatchNorm.convert_sync_batchnorm(nn.ModuleDict({"a": norm, "b": nn.SyncBatchNorm(2)}), "group")
    made = again["a"]
    assert made.weight is norm.weight and made.bias is None and made.running_var is norm.running_var and not made.training
    assert (made.eps, made.momentum, made.qconfig, made.process_group) == (1e-3, None, "settings", "group")
    assert again["b"].process_group == "group"
    assert nn.modules.SyncBatchNorm is nn.SyncBatchNorm is nn.modules.batchnorm.SyncBatchNorm
    with pytest.raises(RuntimeError, match="3 channels"):
        nn.SyncBatchNorm(3)._check_input(ingot.ones(2, 4))


def _differentiable(rank):
    x = ingot.full((3,), float(rank + 1), requires_grad=True)
    y = dist.nn.all_reduce(x * x)
    assert y.tolist() == [5.0] * 3
    (y * (rank + 1)).sum().backward()
    assert x.grad.tolist() == [2 * (rank + 1) * 3.0] * 3                # the gradients of both ranks, 1 + 2, come back
    x.grad = None
    first, second = dist.nn.all_gather(x)
    (first + 10 * second).sum().backward()
    assert x.grad.tolist() == ([2.0] * 3 if rank == 0 else [20.0] * 3)


def test_collectives_with_gradients():
    ranks.run(SIZE, _differentiable)


def _gradients(rank):
    """Compare every collective's gradients with differences of the sum of all ranks' losses."""
    fn = dist.nn.functional
    cases = {
        "all_reduce": lambda x: fn.all_reduce(x), "average": lambda x: fn.all_reduce(x, OPS.AVG),
        "broadcast": lambda x: fn.broadcast(x, 1), "reduce": lambda x: fn.reduce(x, 1),
        "mean": lambda x: fn.reduce(x, 0, OPS.AVG),
        "gather": lambda x: ingot.stack(fn.gather(x, 1)), "scatter": lambda x: fn.scatter([x, x * 3], 1),
        "all_gather": lambda x: ingot.stack(fn.all_gather(x)),
        "base": lambda x: fn._all_gather_base(ingot.zeros(4, 2).double(), x),
        "reduce_scatter": lambda x: fn.reduce_scatter(ingot.zeros_like(x), [x, x * 3]),
        "mean_scatter": lambda x: fn.reduce_scatter(ingot.zeros_like(x), [x, x * 3], OPS.AVG),
        "all_to_all": lambda x: ingot.cat(fn.all_to_all([ingot.zeros(rank + 1).double() for _ in range(SIZE)],
                                                        [x[0, :1], x.reshape(-1)[:2] * 3])),
        "single": lambda x: fn.all_to_all_single(ingot.zeros_like(x), x * 2),
    }
    start = ingot.arange(4.0, dtype=ingot.float64).reshape(2, 2) / 3 + rank
    for name, collective in cases.items():
        def loss(x, collective=collective):
            y = collective(x * x)
            return (y.pow(3) * (ingot.arange(y.numel()).reshape(y.shape) + rank + 1)).sum()

        def total(x, loss=loss):
            value = loss(x).detach()
            dist.all_reduce(value)
            return value.item()

        x = start.clone().requires_grad_()
        g, = ingot.autograd.grad(loss(x), x, create_graph=True)
        slope, second = [ingot.zeros(2, 2).double() for _ in range(2)]
        for owner in range(SIZE):
            for i in range(4):
                step = ingot.zeros(4).double()
                step[i] = 1e-6 if rank == owner else 0.0
                step = step.reshape(2, 2)
                difference = (total(start + step) - total(start - step)) / 2e-6
                if rank == owner:
                    slope.view(-1)[i] = difference
        assert ingot.allclose(g, slope, rtol=1e-6, atol=1e-6), name
        second, = ingot.autograd.grad(g.square().sum(), x)
        assert second.isfinite().all() and (rank != 1 or second.abs().sum() > 0), name


def test_collectives_have_gradients_of_the_sum_of_all_losses():
    ranks.run(SIZE, _gradients)


def _sends_from_gpus(rank):
    with mock_cuda.installed():
        x = ingot.full((3,), rank + 1.0, device="cuda")
        assert dist.all_reduce(x, async_op=True).wait() and x.is_cuda and x.tolist() == [3.0] * 3
        got = [ingot.zeros(3, device="cuda") for _ in range(SIZE)]
        dist.all_gather(got, x + rank)
        assert [g.tolist() for g in got] == [[3.0] * 3, [4.0] * 3] and got[1].is_cuda
        dist.broadcast(x.add_(rank), 1)
        assert x.tolist() == [4.0] * 3
        if rank:
            dist.send(x * 2, 0)
        else:
            dist.recv(x, 1)
            assert x.tolist() == [8.0] * 3 and x.is_cuda
        leaf = ingot.full((2,), rank + 1.0, device="cuda", requires_grad=True)
        dist.nn.functional.all_reduce(leaf * leaf).sum().backward()
        assert leaf.grad.is_cuda and leaf.grad.tolist() == [4.0 * (rank + 1)] * 2
        for without in (ingot.ones(2, device="meta"),):
            with pytest.raises(TypeError, match="meta device has none"):
                dist.all_reduce(without)
        with pytest.raises(TypeError, match="inside of vmap has none"):
            ingot.func.vmap(dist.all_reduce)(ingot.ones(2, 2))


def test_tensors_on_a_gpu_travel_by_way_of_the_host():
    ranks.run(SIZE, _sends_from_gpus)


def test_sync_batch_norm_alone_is_batch_norm():
    x = ingot.randn(5, 3)
    assert ingot.equal(nn.SyncBatchNorm(3)(x), nn.BatchNorm1d(3)(x))
    with pytest.raises(RuntimeError, match="2 dimensions"):
        nn.SyncBatchNorm(3)(x[:, 0])


def test_data_parallel_on_the_cpu_is_the_module():
    net = make_net()
    x, _ = make_data()
    for dp in (nn.DataParallel(net), nn.DataParallel(net, device_ids=[0, 1])):
        assert dp.module is net and dp.device_ids == [] and ingot.equal(dp(x), net(x))
        assert next(iter(dp.state_dict())) == "module.0.weight"
    assert ingot.equal(nn.parallel.data_parallel(net, x), net(x))
    parts = nn.parallel.scatter((x, {"k": [x]}), [0, 1])
    assert [p[0].shape[0] for p in parts] == [4, 4] and ingot.equal(parts[1][1]["k"][0], x[4:])
    outputs = nn.parallel.parallel_apply(nn.parallel.replicate(net, [0, 1]), [(p[0],) for p in parts])
    assert ingot.allclose(nn.parallel.gather(outputs, 0), net(x))


class Pair(NamedTuple):
    first: Any
    second: Any


def test_scatter_and_gather_take_containers_apart():
    x = ingot.arange(6.0).reshape(3, 2)
    parts = nn.parallel.scatter({"a": [x, Pair(x, "same")], "n": 3}, ["cpu", "cpu"])
    assert [p["a"][0].tolist() for p in parts] == [[[0, 1], [2, 3]], [[4, 5]]]
    assert all(type(p["a"][1]) is Pair and p["a"][1].second == "same" and p["n"] == 3 for p in parts)
    back = nn.parallel.gather([{"a": [p["a"][0], Pair(p["a"][0], None)]} for p in parts], -1)
    assert ingot.equal(back["a"][0], x) and type(back["a"][1]) is Pair and back["a"][1].second is None
    assert len(nn.parallel.scatter(x[:1], ["cpu"] * 2)) == 1
    by_columns = nn.parallel.scatter(x, ["cpu", "cpu"], dim=1)
    assert [p.shape for p in by_columns] == [(3, 1)] * 2 and ingot.equal(nn.parallel.gather(by_columns, -1, 1), x)
    rows, named = nn.parallel.scatter_gather.scatter_kwargs((x[:1],), {"y": x}, ["cpu", "cpu"])
    assert [len(r) for r in rows] == [1, 0] and [k["y"].shape[0] for k in named] == [2, 1]
    with pytest.warns(UserWarning, match="without dims"):
        assert nn.parallel.gather([x[0, 0], x[0, 1]], -1).tolist() == [0, 1]
    for wrong, match in (([{"a": x}, {"b": x}], "keys"), ([[x], [x, x]], r"\[1, 2\] results"), ([3, 4], "got int")):
        with pytest.raises(ValueError, match=match):
            nn.parallel.gather(wrong, -1)


def test_tensors_between_devices_have_gradients():
    comm, functions = nn.parallel.comm, importlib.import_module("ingot.nn.parallel._functions")
    assert ingot.cuda.comm is comm
    x = ingot.arange(3.0, dtype=ingot.float64).requires_grad_()
    first, second = comm.broadcast(x, ["cpu", "cpu"])
    assert first is x and second.data_ptr() != x.data_ptr()
    assert ingot.autograd.gradcheck(lambda x: comm.reduce_add([t.exp() for t in comm.broadcast(x, [-1, -1])]), x)
    assert ingot.autograd.gradcheck(lambda x: comm.gather([t.exp() for t in comm.scatter(x, [-1, -1], [1, 2])]), x)
    with ingot.no_grad():
        assert [t.tolist() for t in comm.reduce_add_coalesced([[x, x + 1], [x, x]])] == [[0, 2, 4], [1, 3, 5]]
        assert [t.tolist() for t in functions.ReduceAddCoalesced.apply(-1, 2, x, x + 1, x, x)] == [[0, 2, 4], [1, 3, 5]]
        assert [t.tolist() for t in functions.Broadcast.apply([-1, -1], x, x[:1])] == [[0, 1, 2], [0]] * 2
        there = [ingot.zeros(1).double(), ingot.zeros(2).double()]
        comm.scatter(x, out=there)
        assert functions.Gather.apply(-1, 0, *there).tolist() == [0, 1, 2]
        assert [t.tolist() for t in functions.Scatter.apply([-1, -1], None, 0, x)] == [[0, 1], [2]]
    with pytest.raises(ValueError, match="one shape"):
        comm.reduce_add([x, x[:1]])


class Shared(nn.Module):
    """A tied weight, a list of parameters, a buffer, a norm, and dropout; it reports its device."""

    def __init__(self):
        super().__init__()
        self.embed, self.head = nn.Embedding(5, 4), nn.Linear(4, 5, bias=False)
        self.head.weight = self.embed.weight
        self.scales = nn.ParameterList([nn.Parameter(ingot.ones(4))])
        self.norm, self.drop = nn.BatchNorm1d(4), nn.Dropout(0.5)
        self.register_buffer("shift", ingot.ones(4))
        self.devices = []

    def forward(self, tokens, *, more=None):
        x = self.norm(self.embed(tokens)) * self.scales[0] + self.shift
        self.devices.append((x.device.index, ingot.zeros(1, device="cuda").device.index, next(self.parameters()).device.index))
        x = self.drop(x) if more is None else x + more
        return self.head(x), {"mean": x.mean()}


def test_data_parallel_trains_as_one_device_does_on_the_pieces():
    with mock_cuda.installed(devices=2):
        ingot.manual_seed(0)
        one, several = Shared().cuda(), Shared().cuda()
        several.load_state_dict(one.state_dict())
        dp = nn.DataParallel(several)
        assert dp.device_ids == [0, 1] and dp.output_device == 0
        tokens, more = ingot.arange(7) % 5, ingot.randn(7, 4).requires_grad_()
        with pytest.warns(UserWarning, match="without dims"):
            got, extra = dp(tokens, more=more)
        assert several.devices == [(0, 0, 0), (1, 1, 1)]
        assert got.device == ingot.device("cuda:0") and extra["mean"].shape == (2,)
        got.square().sum().backward()
        gradient, more.grad = more.grad, None
        want = [one(tokens[s].cuda(), more=more[s].cuda())[0] for s in (slice(0, 4), slice(4, 7))]
        assert ingot.equal(got, ingot.cat(want))
        ingot.cat(want).square().sum().backward()
        assert ingot.allclose(gradient, more.grad)
        assert all(ingot.allclose(p.grad, q.grad) for p, q in zip(several.parameters(), one.parameters()))
        assert several.norm.num_batches_tracked.item() == 1                  # writes of the first device stay


def test_data_parallel_draws_the_same_for_one_seed():
    with mock_cuda.installed(devices=2), pytest.warns(UserWarning, match="without dims"):
        dp = nn.DataParallel(Shared().cuda())
        found = []
        for _ in range(2):
            ingot.manual_seed(3)
            found.append(dp(ingot.arange(8) % 5)[0])
        assert ingot.equal(*found)


def test_data_parallel_of_one_row_one_device_and_wrong_places():
    with mock_cuda.installed(devices=2):
        net = nn.Linear(3, 2)
        dp = nn.DataParallel(net, device_ids=["cuda:1"])
        assert dp.device_ids == [1] and net.weight.device.index == 1
        assert dp(ingot.ones(1, 3)).device.index == 1 and nn.DataParallel(net.to("cuda:0"))(ingot.ones(1, 3)).shape == (1, 2)
        with ingot.no_grad():
            assert not nn.DataParallel(net)(ingot.ones(4, 3)).requires_grad
            assert nn.DataParallel(net, output_device=1)(ingot.ones(4, 3)).device.index == 1
            assert nn.parallel.data_parallel(net, ingot.ones(4, 3), [0, 1], output_device=-1).is_cpu
        with pytest.raises(RuntimeError, match=r"must be on cuda:1.*on cuda:0.*to\('cuda:1'\)"):
            nn.DataParallel(net, device_ids=[1, 0])(ingot.ones(2, 3))
        for ids, match in (([], "no devices"), (["cpu"], "works on GPUs"), ([7], "out of range")):
            with pytest.raises(RuntimeError, match=match):
                nn.DataParallel(net, device_ids=ids)
    with pytest.raises(ValueError, match="call it once"):
        nn.parallel.replicate(nn.LazyLinear(2), [-1, -1])
    with pytest.raises(ValueError, match="as many inputs"):
        nn.parallel.parallel_apply([net], [])


def test_copies_of_a_module_are_functions_of_its_parameters():
    net = nn.utils.parametrizations.weight_norm(nn.Linear(3, 2))
    first, second = nn.parallel.replicate(net, [-1, -1])
    x = ingot.randn(4, 3)
    assert ingot.equal(first(x), net(x)) and ingot.equal(second(x), net(x)) and type(first) is type(net)
    want, = ingot.autograd.grad(net(x).square().sum(), net.bias)
    second(x).square().sum().backward()
    assert ingot.equal(net.bias.grad, want) and all(not p.is_leaf for p in second.parameters())
    apart = nn.parallel.replicate(net, [-1], detach=True)[0]
    assert all(not p.requires_grad for p in apart.parameters()) and len([*apart.parameters()]) == 3


def test_sparse_gradients_travel_as_dense_ones():
    table, bias = nn.Parameter(ingot.zeros(3, 2)), nn.Parameter(ingot.zeros(2))
    table.grad = ingot.sparse_coo_tensor([[2, 0, 2]], [[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]], (3, 2))
    bucket = Bucket([0, 1], [table, bias])
    assert bucket.flat().tolist() == [3, 4, 0, 0, 6, 8, 0, 0] and not table.grad.is_sparse


def _joins():
    dist.init_process_group("gloo", store=dist.HashStore(), rank=0, world_size=1)


def test_a_module_that_is_dropped_leaves_no_hooks_on_its_parameters():
    _joins()
    try:
        net, (x, y) = make_net(), make_data()
        first = nn.parallel.DistributedDataParallel(net)
        counts = [len(p._node.post_hooks) for p in net.parameters()]
        first(x).sum().backward()
        first(x)                                # a forward without its backward, as after an error
        del first
        second = nn.parallel.DistributedDataParallel(net)
        assert [len(p._node.post_hooks) for p in net.parameters()] == counts
        net.zero_grad()
        F.mse_loss(second(x), y).backward()
        found = [p.grad.clone() for p in net.parameters()]
        net.zero_grad()
        F.mse_loss(net(x), y).backward()
        assert all(ingot.equal(p.grad, f) for p, f in zip(net.parameters(), found))
    finally:
        dist.destroy_process_group()


def test_a_backward_after_the_end_of_its_group_is_an_error():
    _joins()
    ddp = nn.parallel.DistributedDataParallel(make_net())
    loss = ddp(make_data()[0]).sum()
    dist.destroy_process_group()
    with pytest.raises(dist.DistError, match="the group 'default' was destroyed after a forward of DistributedDataParallel"):
        loss.backward()


@pytest.mark.parametrize("ends", ["run", "group"])
def test_a_model_of_an_ended_group_leaves_gradients_to_the_next_one(ends):
    """As after `shrink_group`, where an error or garbage keeps the model whose gradients did not come."""
    _joins()
    try:
        net, (x, y) = make_net(), make_data()
        group = dist.new_group([0]) if ends == "group" else None
        first = nn.parallel.DistributedDataParallel(net, process_group=group)
        waiting = first(x)
        if ends == "group":
            second = nn.parallel.DistributedDataParallel(net)
            dist.destroy_process_group(group)
        else:
            dist.destroy_process_group()
            _joins()
            second = nn.parallel.DistributedDataParallel(net)
        with pytest.raises(dist.DistError, match="was destroyed after a forward"):
            waiting.sum().backward()
        first._reducer.active = True
        net.zero_grad()
        F.mse_loss(second(x), y).backward()
        alone = make_net()
        F.mse_loss(alone(x), y).backward()
        assert all(ingot.equal(p.grad, q.grad) for p, q in zip(net.parameters(), alone.parameters()))
    finally:
        dist.destroy_process_group()
