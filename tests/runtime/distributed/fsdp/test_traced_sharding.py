"""Traced steps of sharded modules: the losses, parameters and gradients of eager steps, whichever rank records or replays."""

import contextlib
import gc
import tracemalloc
import warnings
from pathlib import Path

import pytest

import ingot
import ranks
from ingot import distributed as dist
from ingot import jit, nn, optim
from ingot.distributed.fsdp import (
    FullyShardedDataParallel,
    MixedPrecision,
    MixedPrecisionPolicy,
    ShardingStrategy,
    fully_shard,
)
from ingot.distributed.tensor import Shard
from ingot.nn import functional as F
from ingot.runtime.cpu.memory import alloc

CALLS = 6


class Block(nn.Module):
    """A block of a small language model."""

    def __init__(self, width):
        super().__init__()
        self.norm, self.qkv, self.out = nn.LayerNorm(width), nn.Linear(width, 3 * width), nn.Linear(width, width)

    def forward(self, x):
        q, k, v = self.qkv(self.norm(x)).view(*x.shape[:2], 2, -1).transpose(1, 2).chunk(3, -1)
        return x + self.out(F.scaled_dot_product_attention(q, k, v, is_causal=True).transpose(1, 2).flatten(2))


class Language(nn.Module):
    """A small language model, whose embedding and last layer share their weight."""

    def __init__(self):
        super().__init__()
        self.tokens, self.blocks, self.head = nn.Embedding(11, 8), nn.ModuleList([Block(8), Block(8)]), nn.Linear(8, 11, False)
        self.head.weight = self.tokens.weight

    def forward(self, ids):
        x = self.tokens(ids) * self.tokens.weight.abs().mean()
        for block in self.blocks:
            x = block(x)
        return self.head(x)


def _mlp():
    return nn.Sequential(nn.Linear(6, 16), nn.Tanh(), nn.Linear(16, 7), nn.Tanh(), nn.Linear(7, 1))


def _images():
    return nn.Sequential(nn.Conv2d(2, 4, 3), nn.BatchNorm2d(4), nn.ReLU(), nn.Flatten(), nn.Linear(64, 1))


def _batch(model, generator):
    if isinstance(model, Language):
        ids = ingot.randint(0, 11, (3, 6), generator=generator)
        return ids[:, :-1], ids[:, 1:]
    shape = (8, 6) if isinstance(model[0], nn.Linear) else (3, 2, 6, 6)
    return ingot.randn(*shape, generator=generator), ingot.randn(shape[0], 1, generator=generator)


def _loss(net, x, y):
    out = net(x)
    return F.cross_entropy(out.flatten(0, 1), y.flatten()) if y.dtype == ingot.int64 else F.mse_loss(out, y)


def _plain(net, opt, x, y):
    opt.zero_grad()
    loss = _loss(net, x, y)
    loss.backward()
    opt.step()
    return loss


def _clipped(net, opt, x, y):
    opt.zero_grad()
    loss = _loss(net, x, y)
    loss.backward()
    norm = net.clip_grad_norm_(0.1) if isinstance(net, FullyShardedDataParallel) else nn.utils.clip_grad_norm_(
        net.parameters(), 0.1)
    opt.step()
    return loss.detach() + norm


def _accumulated(net, opt, x, y):
    opt.zero_grad()
    first = _loss(net, x[:1], y[:1])
    first.backward()
    loss = _loss(net, x[1:], y[1:])
    loss.backward()
    opt.step()
    return loss + first


def _without_sync(net, opt, x, y):
    opt.zero_grad()
    with net.no_sync() if isinstance(net, FullyShardedDataParallel) else _without_gradient_sync(net):
        first = _loss(net, x[:1], y[:1])
        first.backward()
    loss = _loss(net, x[1:], y[1:])
    loss.backward()
    opt.step()
    return loss + first


@contextlib.contextmanager
def _without_gradient_sync(net):
    net.set_requires_gradient_sync(False)
    yield
    net.set_requires_gradient_sync(True)


def _wrapped(**options):
    def shard(model):
        for layers, i in _inner(model):
            layers[i] = FullyShardedDataParallel(layers[i], **options)
        return FullyShardedDataParallel(model, **options)

    return shard


def _parted(half=False, **options):
    def shard(model):
        policy = MixedPrecisionPolicy(ingot.bfloat16, ingot.float32) if half else MixedPrecisionPolicy()
        for layers, i in _inner(model):
            fully_shard(layers[i], mp_policy=policy, **options)
        return fully_shard(model, mp_policy=policy, **options)

    return shard


def _last_dim(p):
    return Shard(p.ndim - 1)


def _inner(model):
    """Return the (list of modules, number) of those that are units of their own."""
    if isinstance(model, Language):
        return [(model.blocks, i) for i in range(len(model.blocks))]
    return [(model, i) for i in range(len(model) - 1) if [*model[i].parameters()]]


def _training(rank, model, shard, step, make_optimizer, wrap):
    ingot.manual_seed(0)
    net = model()
    generator = ingot.Generator().manual_seed(rank)
    batches = [_batch(net, generator) for _ in range(CALLS)]
    net = shard(net)
    opt = make_optimizer(net.parameters())
    run = wrap(lambda x, y: step(net, opt, x, y))
    losses = [run(x, y).item() for x, y in batches]
    return losses, [[_local(t).tolist() for t in (p, p.grad) if t is not None] for p in net.parameters()]


def _local(t):
    return t.to_local() if isinstance(t, dist.tensor.DTensor) else t


def _adamw(params):
    return optim.AdamW(params, lr=0.01)


def _sgd(params):
    return optim.SGD(params, lr=0.1, momentum=0.9)


def _same(rank, rows):
    warnings.simplefilter("error", jit.TracerWarning)
    for name in rows:
        row, made = ROWS[name], []

        def wrap(step, made=made):
            made.append(jit.trace(step, fullgraph=True))
            return made[0]

        found = _training(rank, *row, wrap)
        assert found == _training(rank, *row, lambda step: step), name
        assert made[0].stats()["calls"] == CALLS and made[0].stats()["compiles"] <= 3, (name, made[0].stats())
        dist.barrier()


HALF = MixedPrecision(param_dtype=ingot.bfloat16, reduce_dtype=ingot.float32)
ROWS = {
    "flat": (_mlp, _wrapped(), _plain, _adamw),
    "flat, language": (Language, _wrapped(), _plain, _adamw),
    "flat, images": (_images, _wrapped(), _plain, _sgd),
    "flat, original": (Language, _wrapped(use_orig_params=True), _plain, _adamw),
    "flat, clipped": (_mlp, _wrapped(), _clipped, _sgd),
    "flat, original, clipped": (_mlp, _wrapped(use_orig_params=True), _clipped, _sgd),
    "flat, accumulated": (_mlp, _wrapped(), _accumulated, _adamw),
    "flat, without sync": (_mlp, _wrapped(), _without_sync, _adamw),
    "flat, original, without sync": (_mlp, _wrapped(use_orig_params=True), _without_sync, _adamw),
    "flat, kept": (_mlp, _wrapped(sharding_strategy=ShardingStrategy.SHARD_GRAD_OP), _plain, _adamw),
    "flat, not sharded": (_mlp, _wrapped(sharding_strategy=ShardingStrategy.NO_SHARD), _plain, _adamw),
    "flat, not sharded, without sync": (_mlp, _wrapped(sharding_strategy=ShardingStrategy.NO_SHARD), _without_sync, _sgd),
    "flat, half": (Language, _wrapped(mixed_precision=HALF), _plain, _adamw),
    "parts": (_mlp, _parted(), _plain, _adamw),
    "parts, language": (Language, _parted(), _plain, _adamw),
    "parts, images": (_images, _parted(), _plain, _sgd),
    "parts, clipped": (_mlp, _parted(), _clipped, _sgd),
    "parts, accumulated": (_mlp, _parted(), _accumulated, _adamw),
    "parts, without sync": (_mlp, _parted(), _without_sync, _adamw),
    "parts, kept": (_mlp, _parted(reshard_after_forward=False), _plain, _adamw),
    "parts, dropped": (_mlp, _parted(reshard_after_forward=True), _plain, _adamw),
    "parts, half": (Language, _parted(half=True), _plain, _adamw),
    "parts, last dim": (Language, _parted(shard_placement_fn=_last_dim), _plain, _adamw),
}
QUICK = ("flat", "parts")


@pytest.mark.parametrize("size", [2])
def test_steps(size):
    ranks.run(size, _same, QUICK)


@pytest.mark.slow
@pytest.mark.parametrize("name", [n for n in ROWS if n not in QUICK])
def test_more_steps(name):
    ranks.run(2, _same, [name], timeout=60)


@pytest.mark.slow
@pytest.mark.parametrize("first", range(6))
def test_steps_of_three_ranks(first):
    ranks.run(3, _same, [*ROWS][first::6], timeout=60)


def _recording_beside_replays(rank):
    found = []
    for wrap in (jit.trace, lambda step: step):
        ingot.manual_seed(0)
        model = _mlp()
        batches = [_batch(model, ingot.Generator().manual_seed(rank + 2 * i)) for i in range(8)]
        net = _wrapped()(model)
        opt = optim.SGD(net.parameters(), lr=0.1)
        step = wrap(lambda x, y, net=net, opt=opt: _plain(net, opt, x, y))
        for i in range(8):
            if wrap is jit.trace and i in (4, 6) and rank == i % 4 // 2:
                step.forget()                       # this rank records, the other one replays
            found.append(step(*batches[i]).item())
    assert found[:8] == found[8:]


def test_a_rank_records_while_others_replay():
    ranks.run(2, _recording_beside_replays)


def _disagreement(rank):
    net = _wrapped()(_mlp())

    @jit.trace
    def forward(x, order):
        with ingot.no_grad():
            if order:
                return net(x)
            y = ingot.ones(3)
            dist.all_reduce(y)
            return y

    for order in (True, False, True, False):
        forward(ingot.ones(2, 6), order)
    with pytest.raises(dist.DistBackendError, match=r"all_reduce of 3 float32 sum|parameters of unit 3 \(4.weight"):
        forward(ingot.ones(2, 6), rank == 0)


def test_ranks_that_trace_differently_are_told_the_first_difference():
    ranks.run(2, _disagreement)


def _refused(rank):
    x = ingot.ones(3, 6)

    def step(net, keeps):
        with net.no_sync() if keeps else contextlib.nullcontext():
            net(x).sum().backward()

    with pytest.raises(jit.TraceError, match="leaves gradients that no_sync"):
        jit.trace(step)(_wrapped()(_mlp()), True)
    net = _wrapped()(_mlp())
    step(net, True)
    with pytest.raises(jit.TraceError, match=r"an earlier call kept .* accumulate gradients within one call"):
        jit.trace(step)(net, False)
    net = _wrapped()(_mlp())
    with (FullyShardedDataParallel.summon_full_params(net), ingot.no_grad(),
          pytest.raises(jit.TraceError, match="within summon_full_params")):
        jit.trace(net)(x)
    with pytest.raises(jit.TraceError, match="calls summon_full_params"):
        jit.trace(_summons)(net)


def _refused_parts(rank):
    x = ingot.ones(3, 6)

    def step(net, syncs):
        net.set_requires_gradient_sync(syncs)
        net(x).sum().backward()

    with pytest.raises(jit.TraceError, match=r"leaves gradients that wait for a backward|leaves set_requires_gradient_sync"):
        jit.trace(step)(_parted()(_mlp()), False)
    net = _parted()(_mlp())
    step(net, False)
    net.set_requires_gradient_sync(True)
    with pytest.raises(jit.TraceError, match=r"an earlier call kept .* accumulate gradients within one call"):
        jit.trace(step)(net, True)
    net = _parted()(_mlp())
    net.unshard()
    with pytest.raises(jit.TraceError, match="whole since an earlier call"):
        jit.trace(step)(net, True)
    net = _parted()(_mlp())
    net.set_reshard_after_backward(False)
    with pytest.raises(jit.TraceError, match="keeps whole parameters after backward"):
        jit.trace(step)(net, True)


def _summons(net):
    with FullyShardedDataParallel.summon_full_params(net):
        return next(net.parameters()).sum()


def _sees_precision(rank):
    changes = (lambda net, dtype: setattr(net.mixed_precision, "param_dtype", dtype),
               lambda net, dtype: [setattr(unit, "mixed_precision", MixedPrecision(param_dtype=dtype))
                                   for unit in FullyShardedDataParallel.fsdp_modules(net)],
               lambda net, dtype: setattr(net.mixed_precision, "cast_root_forward_inputs", dtype is None))
    for change in changes:
        found = []
        for wrap in (jit.trace, lambda step: step):
            ingot.manual_seed(0)
            net = _wrapped(use_orig_params=True, mixed_precision=MixedPrecision())(_mlp())
            forward = wrap(ingot.no_grad()(lambda x, net=net: net(x)))
            for i in range(8):
                change(net, None if i < 4 else ingot.bfloat16)
                y = forward(ingot.full((2, 6), i / 8))
                found += [str(y.dtype), y.tolist()]
        assert found[:16] == found[16:]


def test_a_precision_that_changes_in_place_is_seen():
    ranks.run(2, _sees_precision)


def _sees_changes(rank):
    """A recording does not serve calls for which gradients wait."""
    found = []
    for wrap in (jit.trace, lambda step: step):
        ingot.manual_seed(0)
        net = _wrapped()(_mlp())
        step = wrap(lambda x, net=net: (net.zero_grad(), net(x).sum().backward())[0])
        for i in range(5):
            if i == 3:
                with net.no_sync():
                    net(ingot.ones(2, 6)).sum().backward()
                with pytest.raises(jit.TraceError, match="earlier call") if wrap is jit.trace else contextlib.nullcontext():
                    step(ingot.ones(3, 6) * (rank + i))
                net(ingot.ones(2, 6)).sum().backward()
            step(ingot.ones(3, 6) * (rank + i))
            found.append([p.grad.tolist() for p in net.parameters()])
    assert found[:5] == found[5:]


def _outside(shard, inside):
    """Return the gradients of calls whose backward comes outside, as traced and as eager ones. `inside` runs in the call."""
    found = []
    for wrap in (jit.trace, lambda fn: fn):
        ingot.manual_seed(0)
        net = shard(_mlp())
        forward = wrap(lambda x, net=net: inside(net(x).pow(2).mean()))
        for i in range(5):
            net.zero_grad()
            losses = [forward(ingot.ones(3, 6) * (dist.get_rank() + i + k)) for k in range(1 + i % 2)]
            sum(losses).backward()
            found.append([p.grad if p.grad is None else _local(p.grad).tolist() for p in net.parameters()])
        assert any(found[-1])
    return found


def _backward_outside(rank, shards):
    """Calls that are recorded in vain, and several calls for one backward, lose no gradients."""
    warnings.simplefilter("ignore", jit.TracerWarning)
    for shard in shards:
        found = _outside(shard, lambda loss: loss)
        assert found[:5] == found[5:]


def _each(rank, bodies):
    for body in bodies:
        body(rank)
        dist.barrier()


def test_a_backward_outside():
    ranks.run(2, _backward_outside, [_wrapped()])


@pytest.mark.slow
def test_a_backward_outside_of_more_modules():
    ranks.run(2, _backward_outside, [_wrapped(use_orig_params=True), _parted()])


def test_gradients_that_wait_outside():
    ranks.run(2, _each, [_refused, _refused_parts, _sees_changes])


# Memory.

LAYERS, WIDTH = 10, 512


def _steps(wrap, shard, make_optimizer, layers, width):
    """Return a step of a model of so many layers."""
    net = shard(nn.Sequential(*[shard(nn.Linear(width, width)) for _ in range(layers)]))
    optimizer = make_optimizer(net.parameters())

    def step(x):
        optimizer.zero_grad()
        loss = net(x).sum()
        loss.backward()
        optimizer.step()
        return loss

    return wrap(step)


def _peaks(wrap, shard) -> list:
    """Return the bytes that each of some steps takes at most beyond those before, without the first one and compiling ones."""
    run, x, found = _steps(wrap, shard, _sgd, LAYERS, WIDTH), ingot.ones(4, WIDTH), []
    graphs = getattr(run, "stats", lambda: {"graphs": 0})
    for _ in range(CALLS):
        compiled = graphs()["graphs"]
        alloc.reset_peak()
        tracemalloc.reset_peak()
        before = tracemalloc.get_traced_memory()[0] + alloc.stats()["in_use"]
        run(x)
        if graphs()["graphs"] == compiled:
            found.append(tracemalloc.get_traced_memory()[1] + alloc.stats()["peak"] - before)
    return found[1:]


def _eager(step):
    return step


def _traced(step):
    return jit.trace(step, fullgraph=True)


def _memory(rank, shard):
    tracemalloc.start()
    layer = 4 * (WIDTH * WIDTH + WIDTH)
    eager, traced = max(_peaks(_eager, shard)), _peaks(_traced, shard)
    assert max(traced) < eager + LAYERS // 2 * layer, [round((n - eager) / layer, 1) for n in traced]


def test_recordings_and_replays_hold_no_more_whole_parameters_than_eager_steps():
    ranks.run(2, _memory, FullyShardedDataParallel)


def _memory_of_process(field) -> int:
    line = next(line for line in Path("/proc/self/status").read_text().splitlines() if line.startswith(field))
    return int(line.split()[1]) * 1024


def _least_memory(rank, size, layers, width, wrap):
    """A rank needs its parts of parameters, gradients and two moments, and whole two layers and a gradient."""
    dist.group.WORLD.channel.__class__.round_bytes = 1 << 18    # (as layers are smaller than those for which it is made)

    def fit(width):
        run = _steps(wrap, fully_shard, optim.AdamW, layers, width)
        for _ in range(CALLS):
            run(ingot.ones(4, width))

    fit(8)      # code is loaded, and compiled; the engine has the buffers that it keeps
    dist.all_gather([ingot.empty(1 << 16) for _ in range(size)], ingot.ones(1 << 16))
    gc.collect()
    alloc.empty_cache()
    before = _memory_of_process("VmRSS")
    Path("/proc/self/clear_refs").write_text("5")
    fit(width)
    layer = 4 * (width * width + width)
    needed, most = 4 * layers * layer / size + 3 * layer, _memory_of_process("VmHWM") - before
    assert most < 1.1 * needed, round(most / needed, 2)


@pytest.mark.skipif(not Path("/proc/self/clear_refs").exists(), reason="the system does not tell the peak of a process")
@pytest.mark.parametrize("wrap", [_eager, _traced])
@pytest.mark.parametrize("size, layers, width", [
    (2, 6, 1024), pytest.param(2, 5, 1100, marks=pytest.mark.slow), pytest.param(4, 12, 1100, marks=pytest.mark.slow)])
def test_steps_take_a_tenth_more_memory_than_they_need_at_most(size, layers, width, wrap):
    ranks.run(size, _least_memory, size, layers, width, wrap)
