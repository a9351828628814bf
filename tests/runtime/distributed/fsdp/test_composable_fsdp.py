"""`fully_shard`: modules whose parameters are DTensors, against the same model on one rank."""

import copy
import gc
import importlib
import weakref

import pytest

import ingot
import ranks
from ingot import nn
from ingot.distributed import init_device_mesh
from ingot.distributed.fsdp import CPUOffloadPolicy, FSDPModule, MixedPrecisionPolicy, fully_shard, register_fsdp_forward_method
from sharded_models import SIZE, batch, loss_of, make_net, make_optimizer, train, trained_alone

dt = importlib.import_module("ingot.distributed.tensor")
DTensor, R, S = dt.DTensor, dt.Replicate, dt.Shard
F = nn.functional
close = ingot.testing.assert_close


def whole_of(t):
    return t.full_tensor() if isinstance(t, DTensor) else t


def make_parts(mesh=None, **options):
    """Return the net of `sharded_models`, sharded."""
    net = make_net()
    for block in net.blocks:
        fully_shard(block, mesh=mesh, **options)
    return fully_shard(net, mesh=mesh, **options)


def assert_same(net, want):
    found = {k: whole_of(v) for k, v in net.state_dict().items()}
    assert list(found) == list(want)
    for name in found:
        assert "unused" in name or ingot.equal(found[name], want[name]), name


# Alone.


def _trains(rank, options, shape):
    mesh = init_device_mesh("cpu", shape, mesh_dim_names=("replicate", "shard")[-len(shape):])
    net = make_parts(mesh, **options)
    assert isinstance(net, FSDPModule) and type(net).__name__ == "FSDPNet" and net.head.weight is net.table.weight
    for p in net.parameters():
        assert p.placements == (*[R()] * (len(shape) - 1), S(0)) and p.device_mesh is mesh
    optimizer = make_optimizer(net)
    train(net, optimizer, rank % SIZE)
    assert_same(net, trained_alone())
    assert net.unused.weight.grad is None and all(isinstance(v, DTensor) for v in optimizer.state[net.table.weight].values()
                                                  if v.ndim)


@pytest.mark.parametrize("options", [{}, {"reshard_after_forward": False}, {"reshard_after_forward": True},
                                     {"offload_policy": CPUOffloadPolicy()}])
def test_training_has_the_bits_of_one_whole_model(options):
    trained_alone()
    ranks.run(SIZE, _trains, options, (2,))


def test_replicas_are_averaged():
    trained_alone()
    ranks.run(4, _trains, {}, (2, 2))


def _lets_go(rank):
    net, seen = make_parts(), []
    for block in net.blocks:
        block.first.register_forward_hook(lambda m, *_: seen.append(weakref.ref(m.weight._a.base)))
    loss = loss_of(net, batch(0, rank))
    gc.collect()
    assert len(seen) == 3 and all(one() is None for one in seen)
    assert all(isinstance(p, DTensor) for p in net.parameters())
    loss.backward()
    del loss
    gc.collect()
    groups = [m._fully_sharded.group for m in net.modules() if isinstance(m, FSDPModule)]
    assert all(h.whole is None for h in groups)
    net.unshard()
    assert not isinstance(net.table.weight, DTensor) and tuple(net.table.weight.shape) == (11, 7)
    assert isinstance(net.blocks[0].first.weight, DTensor)
    assert all(isinstance(v, DTensor) for k, v in net.state_dict().items() if k != "scale")     # drops whole values
    assert isinstance(net.table.weight, DTensor)
    with ingot.no_grad():
        net(batch(0, rank))
    assert all(h.whole is None for h in groups)


def test_whole_parameters_are_there_only_while_they_are_used():
    ranks.run(SIZE, _lets_go)


def _accumulates(rank):
    alone = make_net()
    for step in range(2):
        for r in range(SIZE):
            (loss_of(alone, batch(step, r)) / SIZE).backward()
    net = make_parts()
    net.set_requires_gradient_sync(False)
    loss_of(net, batch(0, rank)).backward()
    assert all(p.grad is None for p in net.parameters())
    net.set_requires_gradient_sync(True)
    loss_of(net, batch(1, rank)).backward()
    for p, q in zip(net.parameters(), alone.parameters()):
        assert (p.grad is None) is (q.grad is None)
        if p.grad is not None:
            assert p.grad.placements == p.placements
            close(p.grad.full_tensor(), q.grad)
    norm = nn.utils.clip_grad_norm_(net.parameters(), 0.5)
    close(norm.full_tensor(), nn.utils.clip_grad_norm_(alone.parameters(), 0.5))
    close(net.table.weight.grad.full_tensor(), alone.table.weight.grad)
    net.zero_grad()
    net.set_gradient_divide_factor(1.0)
    loss_of(net, batch(0, rank)).backward()
    alone.zero_grad()
    for r in range(SIZE):
        loss_of(alone, batch(0, r)).backward()
    close(net.table.weight.grad.full_tensor(), alone.table.weight.grad)


def test_gradients_accumulate_and_are_clipped():
    ranks.run(SIZE, _accumulates)


def _averages_later(rank):
    mesh = init_device_mesh("cpu", (2, 2), mesh_dim_names=("replicate", "shard"))
    nets = make_parts(mesh), make_parts(mesh)
    nets[0].set_requires_all_reduce(False)
    for net, steps in zip(nets, ((0,), (0, 1))):
        for step in steps:
            loss_of(net, batch(step, rank % SIZE)).backward()
    assert nets[0].table.weight.grad is None
    nets[0].set_requires_all_reduce(True)
    loss_of(nets[0], batch(1, rank % SIZE)).backward()
    close(nets[0].table.weight.grad.full_tensor(), nets[1].table.weight.grad.full_tensor())


def test_replicas_are_averaged_when_they_are_to_be():
    ranks.run(4, _averages_later)


class Says(nn.Module):
    """Module that logs the dtypes it runs in."""

    def __init__(self):
        super().__init__()
        self.layer, self.outputs = nn.Linear(3, 2), []

    def forward(self, x):
        self.outputs.append((x.dtype, self.layer.weight.dtype))
        return self.layer(x)

    def other(self, x):
        """Return the result of another method than forward."""
        return self.layer(x) * 2


def _in_low_precision(rank):
    half = ingot.bfloat16
    net = fully_shard(Says(), mp_policy=MixedPrecisionPolicy(param_dtype=half, reduce_dtype=ingot.float32,
                                                             output_dtype=ingot.float64))
    x = ingot.randn(4, 3)
    y = net(x)
    assert net.outputs == [(half, half)] and y.dtype is ingot.float64
    y.sum().backward()
    assert net.layer.weight.dtype is net.layer.weight.grad.dtype is ingot.float32
    register_fsdp_forward_method(net, "other")
    z = net.other(x)
    assert z.dtype is ingot.float64 and isinstance(net.layer.weight, DTensor)
    z.sum().backward()
    by_columns = fully_shard(nn.Linear(3, 4), shard_placement_fn=lambda p: S(1) if p.ndim == 2 else None)
    assert by_columns.weight.placements == (S(1),) and by_columns.bias.placements == (S(0),)
    want = F.linear(x, by_columns.weight.full_tensor(), by_columns.bias.full_tensor())
    close(by_columns(x), want)


def test_dtypes_and_other_ways_in():
    ranks.run(SIZE, _in_low_precision)


class Fails(nn.Module):
    """Module that raises on request."""

    def __init__(self):
        super().__init__()
        self.layer, self.fails = nn.Linear(3, 2), False

    def forward(self, x):
        if self.fails:
            raise ValueError("told to")
        return self.layer(x)


def _goes_on(rank):
    net = fully_shard(nn.Sequential(fully_shard(Fails())))
    x = ingot.ones(2, 3)
    net[0].fails = True
    with pytest.raises(ValueError, match="told to"):
        net(x)
    assert isinstance(net[0].layer.weight, DTensor)
    net[0].fails = False
    waits = net(x)                                      # its backward never comes, or too late
    net.unshard()
    with ingot.no_grad():
        for p in net[0].parameters():
            p.add_(1)
    close(net(x), waits.detach() + 4)
    with pytest.raises(ingot.IngotError, match="overwritten"):
        waits.sum().backward()
    net(x).sum().backward()
    assert net[0].layer.weight.grad.placements == (S(0),)
    net[0].unshard()
    with ingot.no_grad():
        net[0].layer.weight.add_(1)
    with pytest.raises(ingot.IngotError, match="was written in whole"):
        net[0].reshard()
    with pytest.raises(ingot.IngotError, match="state_dict"):
        copy.deepcopy(net)


def test_failed_and_overwritten_checkpoints_leave_no_files():
    ranks.run(SIZE, _goes_on)


def _from_nothing(rank):
    with ingot.device("meta"):
        net = nn.Sequential(nn.Linear(3, 5), nn.ReLU(), nn.Linear(5, 2))
    for layer in net:
        fully_shard(layer)
    fully_shard(net)
    with pytest.raises(ingot.IngotError, match="meta"):
        net(ingot.ones(1, 3))
    net.to_empty(device="cpu")
    ingot.manual_seed(rank)
    for layer in (net[0], net[2]):
        layer.reset_parameters()
    assert all(not p.is_meta and p.placements == (S(0),) for p in net.parameters())
    x = ingot.ones(4, 3)
    w = [p.full_tensor() for p in net.parameters()]
    close(net(x), F.linear(F.linear(x, *w[:2]).relu(), *w[2:]))
    net.double()
    close(net(x.double()), F.linear(F.linear(x, *w[:2]).relu(), *w[2:]).double())
    with pytest.raises(ingot.IngotError, match="before"):
        fully_shard(net[0])
    with pytest.raises(ingot.IngotError, match="called"):
        fully_shard(nn.ModuleList([nn.Linear(2, 2)]))


def test_modules_without_values_get_them_in_parts():
    ranks.run(SIZE, _from_nothing)


class OneOfTwo(nn.Module):
    """Two layers sharded together, of which only the first runs."""

    def __init__(self):
        super().__init__()
        self.runs, self.rests = nn.Linear(4, 4), nn.Linear(4, 3)

    def forward(self, x):
        return self.runs(x)


def _rests(rank, options):
    ingot.manual_seed(0)
    net, alone = OneOfTwo(), OneOfTwo()
    alone.load_state_dict(net.state_dict())
    fully_shard([net.runs, net.rests], **options)
    fully_shard(net)
    x = ingot.randn(2, 4)
    for _ in range(2):
        loss = net(x).pow(2).mean()
        assert all(isinstance(p, DTensor) for p in net.parameters())
        loss.backward()
        assert all(isinstance(p, DTensor) for p in net.parameters())
    for _ in range(2):
        alone(x).pow(2).mean().backward()
    close(net.runs.weight.grad.full_tensor(), alone.runs.weight.grad)


@pytest.mark.parametrize("options", [{}, {"reshard_after_forward": False}], ids=str)
def test_parameter_groups_are_hidden_if_one_module_does_not_run(options):
    ranks.run(SIZE, _rests, options)
