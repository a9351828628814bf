"""Tensor parallelism, alone and with `fully_shard`, and checkpoints of both, against the same model on one rank."""

import importlib

import numpy as np
import pytest

import ingot
import ranks
from ingot import nn, optim
from ingot.distributed import checkpoint as dcp
from ingot.distributed import init_device_mesh
from ingot.distributed.fsdp import fully_shard

dt = importlib.import_module("ingot.distributed.tensor")
tp = importlib.import_module("ingot.distributed.tensor.parallel")
states = importlib.import_module("ingot.distributed.checkpoint.state_dict")
DTensor, R, S = dt.DTensor, dt.Replicate, dt.Shard
F = nn.functional
close = ingot.testing.assert_close


def whole_of(t):
    return t.full_tensor() if isinstance(t, DTensor) else t


class Attention(nn.Module):
    def __init__(self, d, heads):
        super().__init__()
        self.q, self.k, self.v, self.o = [nn.Linear(d, d, bias=i != 1) for i in range(4)]
        self.size = d // heads

    def forward(self, x):
        n, length, _ = x.shape
        q, k, v = [layer(x).view(n, length, -1, self.size).transpose(1, 2) for layer in (self.q, self.k, self.v)]
        y = F.scaled_dot_product_attention(q, k, v, is_causal=True)
        return self.o(y.transpose(1, 2).reshape(n, length, -1))


class Layer(nn.Module):
    def __init__(self, d, heads):
        super().__init__()
        self.n1, self.attn, self.n2 = nn.LayerNorm(d), Attention(d, heads), nn.RMSNorm(d)
        self.w1, self.w2 = nn.Linear(d, 4 * d), nn.Linear(4 * d, d)

    def forward(self, x):
        x = x + self.attn(self.n1(x))
        return x + self.w2(F.silu(self.w1(self.n2(x))))


class Transformer(nn.Module):
    def __init__(self, d=8, heads=4, words=12):
        super().__init__()
        self.emb, self.norm, self.out = nn.Embedding(words, d), nn.LayerNorm(d), nn.Linear(d, words)
        self.layers = nn.ModuleList([Layer(d, heads) for _ in range(2)])

    def forward(self, t):
        x = self.emb(t)
        for layer in self.layers:
            x = layer(x)
        return self.out(self.norm(x))


def make_transformer():
    ingot.manual_seed(1)
    return Transformer()


def parallel(net, mesh):
    """Return a transformer over a mesh of one dim, with sequence parts between the layers."""
    part = {"output_layouts": S(1), "use_local_output": False}
    tp.parallelize_module(net, mesh, {
        "emb": tp.RowwiseParallel(input_layouts=R(), **part), "norm": tp.SequenceParallel(),
        "out": tp.ColwiseParallel(input_layouts=S(1), use_local_output=False),
        "layers.*.n?": tp.SequenceParallel(), "layers.*.attn.[qkv]": tp.ColwiseParallel(),
        "layers.*.attn": tp.PrepareModuleInput(input_layouts=S(1), desired_input_layouts=R(), use_local_output=True),
        "layers.*.attn.o": tp.RowwiseParallel(**part), "layers.*.w1": tp.ColwiseParallel(input_layouts=S(1)),
        "layers.*.w2": tp.RowwiseParallel(**part)})
    return net


def words(step, rank=0, count=1):
    ingot.manual_seed(50 + step)
    return ingot.randint(0, 12, (4, 9))[rank::count]


def loss_for(net, t):
    y, target = net(t[:, :-1]), t[:, 1:].flatten()
    if isinstance(y, DTensor):
        target = DTensor.from_local(target, y.device_mesh, [R()])
    with tp.loss_parallel():
        return F.cross_entropy(y.flatten(0, 1), target)


def transformer_alone(count, steps=2):
    """Return (state, gradient norms) of a transformer trained on the data of all `count` ranks."""
    net = make_transformer()
    optimizer, norms = optim.AdamW(net.parameters(), lr=0.01), []
    for step in range(steps):
        optimizer.zero_grad()
        for r in range(count):
            (loss_for(net, words(step, r, count)) / count).backward()
        norms.append(nn.utils.clip_grad_norm_(net.parameters(), 0.5))
        optimizer.step()
    return net.state_dict(), norms


def make_two_ways(shape):
    """Return (mesh, transformer, optimizer): tensor parallel along "tp", fully sharded along "dp", if these dims exist."""
    mesh = init_device_mesh("cpu", shape, mesh_dim_names=("dp", "tp"))
    net = parallel(make_transformer(), mesh["tp"])
    for layer in net.layers:
        fully_shard(layer, mesh=mesh["dp"])
    fully_shard(net, mesh=mesh["dp"])
    return mesh, net, optim.AdamW(net.parameters(), lr=0.01)


def _trains_transformer(rank, shape):
    if len(shape) == 1:
        mesh = init_device_mesh("cpu", shape)
        net, count, at = parallel(make_transformer(), mesh), 1, 0
        optimizer = optim.AdamW(net.parameters(), lr=0.01)
        assert net.emb.weight.placements == (S(0),) and net.layers[0].attn.o.weight.placements == (S(1),)
    else:
        mesh, net, optimizer = make_two_ways(shape)
        count, at = shape[0], mesh.get_local_rank("dp")
        assert net.out.weight.placements == (dt._StridedShard(0, split_factor=2), S(0))
        assert net.layers[0].w2.weight.placements == (S(0), S(1)) and net.norm.weight.placements == (S(0), R())
    want, norms = transformer_alone(count)
    for step, norm in enumerate(norms):
        optimizer.zero_grad()
        loss_for(net, words(step, at, count)).backward()
        found = nn.utils.clip_grad_norm_(net.parameters(), 0.5)
        close(found.full_tensor(), norm, rtol=1e-4, atol=1e-5)
        optimizer.step()
    for name, value in net.state_dict().items():
        close(whole_of(value), want[name], rtol=1e-4, atol=1e-4, msg=lambda m, name=name: f"{name}: {m}")


@pytest.mark.parametrize("shape", [(2,), (2, 2)])
def test_a_transformer_in_parts_trains_as_one_on_one_rank(shape):
    ranks.run(int(np.prod(shape)), _trains_transformer, shape)


# Styles.


def _styles(rank):
    mesh = init_device_mesh("cpu", (2,), mesh_dim_names=("tp",))
    ingot.manual_seed(0)
    x, lookup = ingot.randn(4, 6), ingot.tensor([[0, 3, 4], [4, 1, 0]])
    linear, table = nn.Linear(6, 3), nn.Embedding(5, 3)                 # parts differ
    mine = dt.distribute_tensor(x, mesh, [S(1)]).to_local()
    for style, parts in ((tp.ColwiseParallel(output_layouts=R()), x), (tp.RowwiseParallel(), mine),
                         (tp.ColwiseParallel(input_layouts=S(-1), output_layouts=R()), mine)):
        layer = nn.Linear(6, 3)
        layer.load_state_dict(linear.state_dict())
        parts = parts.clone().requires_grad_()
        close(tp.parallelize_module(layer, mesh, style)(parts), linear(x))
        layer(parts).sum().backward()
        close(layer.weight.grad.full_tensor(), x.sum(0).expand(3, 6))
        assert tuple(parts.grad.shape) == tuple(parts.shape)
    for style in (tp.ColwiseParallel(output_layouts=R()), tp.RowwiseParallel(input_layouts=R())):
        rows = nn.Embedding(5, 3)
        rows.load_state_dict(table.state_dict())
        close(tp.parallelize_module(rows, mesh, style)(lookup), table(lookup))
        rows(lookup).sum().backward()
        close(rows.weight.grad.full_tensor()[0], ingot.full((3,), 2.0))
    weight = table.weight.detach()
    for rows_at, weight_at, found_at in ((S(0), R(), S(0)), (S(1), R(), S(1)), (R(), S(1), S(2)), (R(), R(), R())):
        found = F.embedding(dt.distribute_tensor(lookup, mesh, [rows_at]), dt.distribute_tensor(weight, mesh, [weight_at]))
        assert found.placements == (found_at,) and ingot.equal(found.full_tensor(), weight[lookup])
    plain = nn.Linear(6, 3)
    assert tp.input_reshard(plain, mesh) is plain and ingot.equal(plain(x), F.linear(x, plain.weight, plain.bias))
    seen = []
    both = nn.Sequential(nn.Identity())
    both[0].register_forward_hook(lambda m, args, out: seen.append(args[0].placements))
    tp.parallelize_module(both, mesh, {"": tp.PrepareModuleInputOutput(
        input_layouts=S(0), desired_input_layouts=R(), output_layouts=R(), desired_output_layouts=S(1))})
    rows = dt.distribute_tensor(x, mesh, [S(0)]).to_local()
    assert ingot.equal(both(rows), mine) and seen == [(R(),)]
    named = tp.PrepareModuleInput(input_kwarg_layouts={"input": S(0)}, desired_input_kwarg_layouts={"input": R()})
    assert ingot.equal(tp.parallelize_module(nn.Identity(), mesh, named)(input=rows).to_local(), x)
    style = tp.ColwiseParallel()
    shown, style.src_data_rank = repr(style), None
    assert repr(style) == shown and "src_data_rank" not in shown, "it is no matter of where things lie"
    assert repr(tp.SequenceParallel()) == "SequenceParallel(sequence_sharding=(Shard(dim=1),), use_local_output=False)"
    with pytest.warns(UserWarning, match="nothing"):
        tp.parallelize_module(both, mesh)
    with pytest.warns(UserWarning, match="no module"):
        tp.parallelize_module(both, mesh, {"other": tp.ColwiseParallel()})
    with pytest.raises(NotImplementedError, match="partition_fn"):
        tp.parallelize_module(nn.ReLU(), mesh, tp.ColwiseParallel())


def test_styles_of_single_modules():
    ranks.run(2, _styles)


class _Counting:
    """Channel that notes the bytes of the largest array that each collective moves."""

    def __init__(self, channel, sent):
        self._channel, self._sent = channel, sent

    def __getattr__(self, name):
        method = getattr(self._channel, name)

        def call(*args):
            parts = [part for a in args for part in (a.values() if isinstance(a, dict) else a if isinstance(a, list) else [a])]
            self._sent.append(max([part.nbytes for part in parts if isinstance(part, np.ndarray)], default=0))
            return method(*args)

        return method if name in ("close", "operand", "empty", "cut", "joined", "reaches") else call     # (these send nothing)


def _sends_little(rank):
    mesh, sent = init_device_mesh("cpu", (2,)), []
    group = mesh.get_group()
    group.channel = _Counting(group.channel, sent)
    net = nn.Sequential(nn.Linear(8, 32), nn.GELU(), nn.Linear(32, 8))
    tp.parallelize_module(net, mesh, {"0": tp.ColwiseParallel(), "2": tp.RowwiseParallel()})
    sent.clear()
    y = net(ingot.randn(4, 8, requires_grad=True))
    assert sent == [4 * 8 * 4]                          # the sum of results
    y.sum().backward()
    assert sent == [4 * 8 * 4] * 2                      # and that of input gradients
    ingot.manual_seed(0)
    logits, target = ingot.randn(32, 100), ingot.randint(0, 100, (32,))
    parts = dt.distribute_tensor(logits, mesh, [S(1)]).requires_grad_()
    logits.requires_grad_()
    sent.clear()
    losses = F.cross_entropy(logits, target), F.cross_entropy(parts, dt.distribute_tensor(target, mesh, [R()]))
    for loss in losses:
        loss.backward()
    assert parts.grad.placements == (S(1),) and max(sent) <= 32 * 8
    close(losses[1].full_tensor(), losses[0])
    close(parts.grad.full_tensor(), logits.grad)


def test_no_more_bytes_are_sent_than_needed():
    ranks.run(2, _sends_little)


# Checkpoints.


def _saves(rank, shape, path):
    mesh, net, optimizer = make_two_ways(shape)
    loss_for(net, words(0, mesh.get_local_rank("dp"), shape[0])).backward()
    optimizer.step()
    optimizer.zero_grad()
    model, of_optimizer = states.get_state_dict(net, optimizer)
    dcp.save({"net": model, "optimizer": of_optimizer}, checkpoint_id=path)
    options = states.StateDictOptions(full_state_dict=True, cpu_offload=True)
    whole = states.get_state_dict(net, optimizer, options=options)
    assert bool(whole[0]) is bool(whole[1]) is (rank == 0)
    if rank == 0:
        ingot.save(whole, f"{path}/whole.pt")


def _assert_state(net, optimizer, want):
    found = states.get_state_dict(net, optimizer, options=states.StateDictOptions(full_state_dict=True))
    for name, value in want[0].items():
        assert ingot.equal(found[0][name], value), name
    for name, state in want[1]["state"].items():
        assert all(ingot.equal(found[1]["state"][name][k], v) for k, v in state.items()), name


def _loads(rank, shape, path):
    want = ingot.load(f"{path}/whole.pt")
    _, net, optimizer = make_two_ways(shape)
    model, of_optimizer = states.get_state_dict(net, optimizer)
    state = {"net": model, "optimizer": of_optimizer}
    dcp.load(state, checkpoint_id=path)
    states.set_state_dict(net, optimizer, model_state_dict=state["net"], optim_state_dict=state["optimizer"])
    _assert_state(net, optimizer, want)
    _, net, optimizer = make_two_ways(shape)
    options = states.StateDictOptions(full_state_dict=True, broadcast_from_rank0=True)
    states.set_model_state_dict(net, want[0] if rank == 0 else {}, options=options)
    states.set_optimizer_state_dict(net, optimizer, want[1] if rank == 0 else {}, options=options)
    _assert_state(net, optimizer, want)


def test_checkpoints_go_between_numbers_of_ranks(tmp_path):
    ranks.run(4, _saves, (2, 2), str(tmp_path))
    for shape in ((1, 2), (2, 1), (1, 1)):
        ranks.run(int(np.prod(shape)), _loads, shape, str(tmp_path))
    want = ingot.load(f"{tmp_path}/whole.pt")
    state = {"net": make_transformer().state_dict()}
    dcp.load(state, checkpoint_id=str(tmp_path), no_dist=True)
    assert all(ingot.equal(state["net"][k], v) for k, v in want[0].items())
