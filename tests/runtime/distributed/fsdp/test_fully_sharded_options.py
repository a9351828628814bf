"""Further options of FullyShardedDataParallel: dtypes, meshes, checkpoints, devices, many kinds of modules, policies,
errors."""

import functools
import importlib

import pytest

import ingot
import mock_cuda
import private_names  # noqa: F401
import ranks
from ingot import distributed as dist
from ingot import nn
from ingot.distributed.fsdp import CPUOffload, MixedPrecision
from sharded_models import (
    FSDP,
    SIZE,
    Block,
    S,
    assert_same,
    batch,
    loss_of,
    make_net,
    make_optimizer,
    make_sharded,
    train,
    trained_alone,
)

F = nn.functional
wrap = importlib.import_module("ingot.distributed.fsdp.wrap")
activations = importlib.import_module("ingot.distributed.algorithms._checkpoint.checkpoint_wrapper")
scalers = importlib.import_module("ingot.distributed.fsdp.sharded_grad_scaler")


def _mixed(rank):
    seen = set()
    net = nn.Sequential(nn.Linear(4, 4), nn.BatchNorm1d(4), nn.Linear(4, 2))
    net[0].register_forward_hook(lambda m, args, y: seen.add((m.weight.dtype, args[0].dtype, y.dtype)))
    net[1].register_forward_hook(lambda m, args, y: seen.add((m.weight.dtype, args[0].dtype, y.dtype)))
    net = FSDP(net, auto_wrap_policy=wrap.CustomPolicy(lambda m: isinstance(m, nn.Linear)),
               mixed_precision=MixedPrecision(ingot.bfloat16, ingot.float32, ingot.bfloat16))
    y = net(ingot.ones(3, 4) * (rank + 1))
    y.float().sum().backward()
    low, full = ingot.bfloat16, ingot.float32
    assert seen == {(low, low, low), (full, full, full)} and y.dtype is low
    assert {p.grad.dtype for p in net.parameters()} == {full}
    assert all(v.dtype is full for k, v in net.state_dict().items() if "num_batches" not in k)


def test_mixed_precision():
    ranks.run(SIZE, _mixed)


def _hybrid(rank):
    mesh = dist.init_device_mesh("cpu", (2, 2), mesh_dim_names=("replicate", "shard"))
    for strategy in (S.HYBRID_SHARD, S._HYBRID_SHARD_ZERO2):
        net = make_sharded(sharding_strategy=strategy, device_mesh=mesh, sync_module_states=True)
        optimizer = make_optimizer(net)
        train(net, optimizer, rank % 2)
        ingot.testing.assert_close(net.state_dict(), trained_alone())
        assert net.module.blocks[0]._unit.count == 2
    with pytest.raises(ValueError, match="needs the layout of ranks"):
        make_sharded(sharding_strategy=S.HYBRID_SHARD)


def test_parameters_are_shared_out_in_rows_of_a_mesh():
    trained_alone()
    ranks.run(4, _hybrid)


class Checkpointed(Block):
    def forward(self, x):
        again = functools.partial(ingot.utils.checkpoint.checkpoint, use_reentrant=self.reentrant)
        y = again(lambda x: F.gelu(self.first(self.norm(x))), x)
        return x + again(self.second, y.sin().asin())


def _with_others(rank, reentrant):
    class Outside(nn.Module):
        def __init__(self, inner):
            super().__init__()
            self.inner = inner

        def forward(self, x):
            return ingot.utils.checkpoint.checkpoint(self.inner, x, use_reentrant=reentrant)

    plain = make_net()
    for block in plain.blocks:
        block.__class__, block.reentrant = Checkpointed, reentrant
    for way in ("inside", "outside", "both"):
        net = make_net()
        if way != "outside":
            for block in net.blocks:
                block.__class__, block.reentrant = Checkpointed, reentrant and way == "inside"
        if way == "inside":
            net = FSDP(net, auto_wrap_policy=wrap.ModuleWrapPolicy({Block}))
        else:
            net.blocks = nn.ModuleList([Outside(FSDP(block)) for block in net.blocks])
            net = FSDP(net)
        loss_of(net, batch(0)).backward()
        plain.zero_grad()
        loss_of(plain, batch(0)).backward()
        with FSDP.summon_full_params(net, with_grads=True):
            got = {n.replace("inner.", ""): p.grad for n, p in net.named_parameters() if "unused" not in n}
        ingot.testing.assert_close(got, {n: p.grad for n, p in plain.named_parameters() if p.grad is not None})


@pytest.mark.parametrize("reentrant", [False, True])
def test_checkpoints_inside_and_around_units(reentrant):
    ranks.run(SIZE, _with_others, reentrant)


def _activations(rank, after):
    net, plain = make_net(), make_net()
    policy = wrap.ModuleWrapPolicy({Block})
    if after:
        net = FSDP(net, auto_wrap_policy=policy, use_orig_params=True)
    kinds = [activations.CheckpointImpl.REENTRANT, activations.CheckpointImpl.NO_REENTRANT]
    activations.apply_activation_checkpointing(net, lambda m: activations.checkpoint_wrapper(m, kinds.pop()),
                                               auto_wrap_policy=policy)
    activations.apply_activation_checkpointing(net, activations.offload_wrapper, lambda m: isinstance(m, nn.LayerNorm))
    assert not after or type(net.blocks[0].module) is activations.CheckpointWrapper
    assert [*net.state_dict()] == [*plain.state_dict()] and net.blocks[0].norm.normalized_shape == (7,)
    if not after:
        net = FSDP(net, auto_wrap_policy=policy, use_orig_params=True)
    assert [n for n, _ in net.named_parameters()] == [n for n, _ in plain.named_parameters()]
    net.load_state_dict(plain.state_dict())
    train(net, optimizer := make_optimizer(net), rank)
    assert_same(net.state_dict(), trained_alone())
    assert set(FSDP.optim_state_dict(net, optimizer)["state"]) == {n for n, _ in plain.named_parameters()}


@pytest.mark.parametrize("after", [False, True])
def test_modules_with_checkpointed_calls(after):
    trained_alone()
    ranks.run(SIZE, _activations, after)


def _scaled(rank):
    net = make_sharded(use_orig_params=True)
    optimizer, scaler = make_optimizer(net), scalers.ShardedGradScaler("cpu", init_scale=8.0)
    scaler.scale(loss_of(net, batch(0, rank))).backward()
    scaler.step(optimizer)
    scaler.update()
    before = net.state_dict()
    scaler.scale(loss_of(net, batch(0, rank))).backward()
    if rank == 1:
        next(p for p in net.parameters() if p.grad is not None).grad.fill_(float("inf"))
    scaler.step(optimizer)                              # all ranks skip it
    scaler.update()
    assert_same(net.state_dict(), before)
    assert scaler.get_scale() == 4.0


def test_a_step_is_skipped_by_all_ranks():
    ranks.run(SIZE, _scaled)


def _frozen(rank):
    def make():
        net = make_net()
        net.table.requires_grad_(False)
        net.blocks[0].requires_grad_(False)
        net.more = nn.Linear(3, 3)
        return net

    with pytest.raises(ValueError, match="use_orig_params=True"):
        FSDP(make(), auto_wrap_policy=wrap.ModuleWrapPolicy({Block}))
    net = make()
    net = FSDP(net, auto_wrap_policy=wrap.ModuleWrapPolicy({Block}), use_orig_params=True, ignored_modules=[net.more])
    assert net.module.more.weight.shape == (3, 3) and "more.weight" in net.state_dict()
    plain = make_net()
    train(net, optimizer := make_optimizer(net), rank, range(1))
    state, before = net.state_dict(), plain.state_dict()
    for name, value in state.items():
        if "more" not in name:
            assert ingot.equal(value, before[name]) is not name.startswith("blocks.1"), name
    assert set(FSDP.optim_state_dict(net, optimizer)["state"]) >= {"blocks.1.first.weight", "blocks.1.norm.bias"}


def test_frozen_and_ignored_parameters():
    ranks.run(SIZE, _frozen)


class Zoo(nn.Module):
    """Modules that find their weights in unusual ways."""

    def __init__(self):
        super().__init__()
        self.table, self.lstm = nn.Embedding(9, 8, sparse=True), nn.LSTM(8, 8, batch_first=True)
        self.attention = nn.MultiheadAttention(8, 2, batch_first=True)
        self.normed = nn.utils.parametrizations.weight_norm(nn.Linear(8, 8))
        self.factors = nn.ParameterList([nn.Parameter(ingot.full((8,), i + 1.0)) for i in range(2)])
        self.factor = nn.Parameter(ingot.tensor(1.5))
        self.layer = nn.TransformerEncoderLayer(8, 2, 16, dropout=0.0, batch_first=True)

    def forward(self, t):
        x, _ = self.lstm(self.table(t))
        x = self.normed(x + self.attention(x, x, x)[0])
        for factor in self.factors:
            x = x * factor
        return {"result": self.layer(x * self.factor), "others": [x.mean()]}


def _zoo(rank, use_orig_params):
    def make():
        ingot.manual_seed(0)
        return Zoo()

    def loss_of_zoo(net):
        found = net(ingot.arange(12).reshape(2, 6) % 9)
        return found["result"].sin().sum() + found["others"][0]

    def assert_gradients(factor):
        with FSDP.summon_full_params(net, with_grads=True):
            got = {n: p.grad / factor for n, p in net.named_parameters()}
        ingot.testing.assert_close(got, {n: p.grad.to_dense() for n, p in plain.named_parameters()})

    plain = make()
    loss_of_zoo(plain).backward()
    kinds = (nn.LSTM, nn.MultiheadAttention, nn.TransformerEncoderLayer)
    net = FSDP(make(), use_orig_params=use_orig_params, auto_wrap_policy=wrap.CustomPolicy(
        lambda m: isinstance(m, kinds) or hasattr(m, "parametrizations")))
    loss = loss_of_zoo(net)
    loss.backward(retain_graph=True)
    assert_gradients(1)
    loss.backward()
    assert_gradients(2)
    net.zero_grad()
    (loss_of_zoo(net) + loss_of_zoo(net)).backward()        # two forwards before one backward
    assert_gradients(2)
    with net.no_sync():
        loss_of_zoo(net).backward()
    net.zero_grad(set_to_none=False)                        # clears stored gradients, too
    loss = loss_of_zoo(net)
    net.state_dict()
    with ingot.no_grad():
        loss_of_zoo(net)                                    # other forwards in between
    loss.backward()
    assert_gradients(1)
    net.zero_grad()
    if use_orig_params:
        net.requires_grad_(False)
        assert loss_of_zoo(net).grad_fn is None
        net.requires_grad_(True)
    x = ingot.ones(1, requires_grad=True)
    g, = ingot.autograd.grad((loss_of_zoo(net) * x ** 2).sum(), x, create_graph=True)
    g.backward()                                            # parameters of a penalty's second derivative
    assert_gradients(2)


@pytest.mark.parametrize("use_orig_params", [False, True])
def test_modules_of_many_kinds(use_orig_params):
    ranks.run(SIZE, _zoo, use_orig_params)


def _in_different_places(rank):
    net = FSDP(nn.Sequential(nn.Linear(3, 3), nn.Linear(3, 3)), auto_wrap_policy=wrap.always_wrap_policy)
    with pytest.raises(RuntimeError, match="unit"):
        net[rank](ingot.ones(1, 3))


def test_ranks_that_gather_different_units_hear_of_it():
    ranks.run(SIZE, _in_different_places)


def _refused(rank):
    with pytest.raises(ValueError, match="shared with a module"):
        net = make_net()
        FSDP(net, auto_wrap_policy=wrap.CustomPolicy(lambda m: m is net.head))
    net = make_sharded()
    with pytest.raises(ValueError, match="wrap those inside by hand"):
        FSDP(nn.Sequential(net), auto_wrap_policy=wrap.always_wrap_policy)
    loss = loss_of(net, batch(0, rank))
    with ingot.no_grad():
        for p in net.parameters():
            p.add_(1.0)
    with pytest.raises(RuntimeError, match="step once backward is done"):
        loss.backward()
    with pytest.raises(RuntimeError, match="create_graph"):
        loss_of(net, batch(0, rank)).backward(create_graph=True)
    train(net, make_optimizer(net), rank, range(1))         # a failed backward leaves nothing behind
    assert not any(p.grad is None for p in net.parameters())
    part = make_sharded(use_orig_params=True)
    with pytest.raises(RuntimeError, match="outside of the forward"):
        (next(p for p in part.parameters() if p.numel()) * 2).sum().backward()
    whole = make_sharded(sharding_strategy=S.NO_SHARD)
    loss = loss_of(whole, batch(0, rank))
    with FSDP.summon_full_params(whole), ingot.no_grad():
        whole.table.weight.mul_(2.0)
    with pytest.raises(RuntimeError, match="step once backward is done"):
        loss.backward()

    class Writes(nn.Linear):
        def forward(self, x):
            self.weight.data.clamp_(-0.1, 0.1)
            return super().forward(x)

    with pytest.raises(RuntimeError, match="summon_full_params"):
        FSDP(nn.Sequential(Writes(3, 3)), auto_wrap_policy=wrap.always_wrap_policy)(ingot.ones(2, 3))


def test_invalid_uses_are_refused():
    with pytest.raises(ValueError, match="init_process_group"):
        FSDP(nn.Linear(1, 1))
    ranks.run(SIZE, _refused)


def _meta(rank):
    with ingot.device("meta"):
        net = make_net()
    net = FSDP(net, auto_wrap_policy=wrap.ModuleWrapPolicy({Block}), sync_module_states=True, cpu_offload=CPUOffload(True),
               param_init_fn=lambda m: m.to_empty(device="cpu", recurse=False) and [
                   nn.init.constant_(t, rank + 0.5) for t in (*m._parameters.values(), *m._buffers.values()) if t is not None])
    assert all(v.min() == v.max() == 0.5 for v in net.state_dict().values())


def test_modules_are_materialized_alike():
    ranks.run(SIZE, _meta)


def _on_a_device(rank):
    with mock_cuda.installed():
        net = make_sharded(device_id=0, cpu_offload=CPUOffload(True))
        optimizer = make_optimizer(net)
        assert net.blocks[0]._unit.device.type == "cuda" and {p.device.type for p in net.parameters()} == {"cpu"}
        train(net, optimizer, rank)
        ingot.testing.assert_close({k: v.cpu() for k, v in net.state_dict().items()}, trained_alone())
        other = make_sharded(device_id=0, use_orig_params=True)
        train(other, make_optimizer(other), rank)
        assert {p.device.type for p in other.parameters()} == {"cuda"} and all(m._unit.whole is None for m in other.blocks)
        ingot.testing.assert_close({k: v.cpu() for k, v in other.state_dict().items()}, trained_alone())


def test_units_on_a_device():
    trained_alone()
    ranks.run(SIZE, _on_a_device)


# Policies.


@pytest.mark.parametrize("policy, want", [
    (wrap.always_wrap_policy, ["blocks", "blocks.0", "blocks.0.first", "blocks.1", "blocks.1.first", "table"]),
    (functools.partial(wrap.size_based_auto_wrap_policy, min_num_params=200), ["blocks.0.first", "blocks.1.first"]),
    (functools.partial(wrap.transformer_auto_wrap_policy, transformer_layer_cls={Block}), ["blocks.0", "blocks.1"]),
    (functools.partial(wrap.lambda_auto_wrap_policy, lambda_fn=lambda m: isinstance(m, nn.Embedding)), ["table"]),
    (functools.partial(wrap._or_policy, policies=[wrap.ModuleWrapPolicy([nn.Embedding]), wrap.ModuleWrapPolicy([Block])]),
     ["blocks.0", "blocks.1", "table"]),
    (wrap.CustomPolicy(lambda m: {"name": "b"} if isinstance(m, Block) else isinstance(m, nn.Embedding)),
     ["blocks.0", "blocks.1", "table"]),
    (wrap.ModuleWrapPolicy({nn.Linear}), ["blocks.0.first", "blocks.1.first"])])
def test_policies_choose_modules(policy, want):
    class Marked(nn.Module):
        def __init__(self, inner, name="a"):
            super().__init__()
            self.inner, self.name = inner, name

    net = nn.Module()
    net.table, net.blocks = nn.Embedding(11, 7), nn.ModuleList([nn.Module(), nn.Module()])
    for block in net.blocks:
        block.__class__ = Block
        block.first = nn.Linear(14, 14)
    wrap.wrap_inside(net, policy, Marked, set(), set(), {}, ())
    marked = {n.replace(".inner", ""): m for n, m in net.named_modules() if isinstance(m, Marked)}
    assert sorted(marked) == want
    if isinstance(policy, wrap.CustomPolicy):
        assert {n: m.name for n, m in marked.items()} == {"blocks.0": "b", "blocks.1": "b", "table": "a"}


def test_modules_are_wrapped_by_hand():
    class Marked(nn.Module):
        def __init__(self, inner, name="a", more=0):
            super().__init__()
            self.inner, self.name, self.more = inner, name, more

    layer = nn.Linear(1, 1)
    assert wrap.wrap(layer) is layer
    with wrap.enable_wrap(wrapper_cls=Marked, name="b"):
        made = wrap.wrap(layer, more=1)
        with pytest.raises(RuntimeError), wrap.enable_wrap(wrapper_cls=Marked):
            pass
    assert (made.inner, made.name, made.more) == (layer, "b", 1) and wrap.wrap(layer) is layer
