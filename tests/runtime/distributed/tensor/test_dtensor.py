"""DTensors: redistribution, and programs on them, against the same on one rank."""

import copy
import importlib
import io
import itertools
import pickle

import numpy as np
import pytest

import ingot
import ranks
from ingot import nn, optim
from ingot.distributed import init_device_mesh

dt = importlib.import_module("ingot.distributed.tensor")
layout = importlib.import_module("ingot.runtime.distributed.tensor.sharded_layout")
DTensor, P, R, S, Strided = dt.DTensor, dt.Partial, dt.Replicate, dt.Shard, dt._StridedShard
F = nn.functional
close = ingot.testing.assert_close


def whole_of(t):
    return t.full_tensor() if isinstance(t, DTensor) else t


# Redistribution.


def _moves(rank, shape, sizes):
    mesh = init_device_mesh("cpu", shape)
    kinds = [R(), *map(S, range(len(sizes)))]
    layouts = [*itertools.product(kinds, repeat=len(shape))]
    layouts += [(Strided(0, split_factor=2), S(0))] if len(shape) == 2 else []
    x = ingot.arange(int(np.prod(sizes)), dtype=ingot.float32).reshape(sizes)
    for before, after in itertools.product(layouts, repeat=2):
        t = dt.distribute_tensor(x.clone(), mesh, before)
        local, first = layout.place_in(sizes, mesh, before)
        assert tuple(t.to_local().shape) == local
        assert ingot.equal(t.to_local(), x[tuple([slice(a, a + n) for a, n in zip(first, local)])])
        redistributed = t.redistribute(placements=after)
        assert redistributed.placements == after
        assert ingot.equal(redistributed.to_local(), dt.distribute_tensor(x, mesh, after).to_local())
    for op, placements in itertools.product(("sum", "avg", "max", "min", "product"), layouts):
        mine = x + mesh.get_local_rank(0)
        terms = DTensor.from_local(mine, mesh, [P(op), *[R()] * (len(shape) - 1)])
        all_of = ingot.stack([x + i for i in range(shape[0])])
        want = {"sum": all_of.sum(0), "avg": all_of.mean(0), "max": all_of.amax(0), "min": all_of.amin(0),
                "product": all_of.prod(0)}[op]
        redistributed = terms.redistribute(placements=placements)
        assert redistributed.placements == placements and ingot.equal(redistributed.full_tensor(), want)


@pytest.mark.parametrize("shape, sizes", [((2,), (5, 3)), ((2, 2), (5, 3)), ((2, 2), (2, 1)), ((2,), (4, 2, 3))])
def test_layouts_become_each_other(shape, sizes):
    ranks.run(int(np.prod(shape)), _moves, shape, sizes)


# Programs that run in every layout: (mesh, placement) -> None. `both` makes a plain tensor and a DTensor.

PROGRAMS = {}


def program(fn):
    PROGRAMS[fn.__name__] = fn
    return fn


def both(mesh, placement, *sizes):
    x = ingot.randn(*sizes)
    return x.clone(), dt.distribute_tensor(x, mesh, [placement])


@program
def writes(mesh, p):
    pair = both(mesh, p, 5, 4)
    for t in pair:
        t.add_(1)
        t.mul_(2).sub_(0.5)
        t[:, 1:3] *= 3
        t.t().add_(1)
        t.clamp_(-1, 3)
        t[1] = 7.0
        t[2:4] = 1
        t[:, -1] += 2
        t[t > 2] = 9.0
        t.masked_fill_(t < -1, 0.0)
    close(pair[1].full_tensor(), pair[0])
    assert pair[1].placements == (p,)


@program
def views_see_writes_and_write(mesh, p):
    found = []
    for t in both(mesh, p, 4, 6):
        flat, row = t.reshape(-1), t[1]
        part = row[2:4]
        t.add_(1)
        seen = flat.clone(), row.clone(), part.clone()
        part.zero_()
        row[0] = 5.0
        found.append((*seen, t, flat, row, part))
    for a, b in zip(*found):
        close(b.full_tensor(), a)


@program
def gradients_of_writes_through_views(mesh, p):
    found = []
    for t in both(mesh, p, 5, 4):
        t.requires_grad_()
        y = t * 2
        v, w = y[1:3], y[:, 2]
        y.mul_(3)
        y[0] = 0.0
        w.add_(1)
        v.mul_(2)
        ((y * y).sum() + (v * 3).sum() + w.sum()).backward()
        found.append((y, v, w, t.grad))
    for a, b in zip(*found):
        close(b.full_tensor(), a)


@program
def what_python_reads(mesh, p):
    x, d = both(mesh, p, 5, 4)
    assert d.tolist() == x.tolist() and len(d) == len(list(d)) == 5 and bool((d == d).all())
    close(d.sum().item(), x.sum().item())
    assert f"{d.sum():.2f}" == f"{x.sum().item():.2f}" and str(p) in ("S(0)", "S(1)", "R")
    assert repr(d).startswith("DTensor(local_tensor=tensor(") and repr(d).endswith(f"placements=({p!r},))")
    assert (d.shape, d.dtype, d.stride(), d.numel()) == (x.shape, x.dtype, x.stride(), 20) and d.is_contiguous()
    assert ingot.equal(d, d) and ingot.allclose(d, d + 0)
    close(d[d > 0].full_tensor(), x[x > 0])
    close((d > 0).nonzero().full_tensor(), (x > 0).nonzero())
    with pytest.raises(ingot.IngotError, match="full_tensor"):
        d.numpy()


@program
def histories(mesh, p):
    x, d = both(mesh, p, 5, 4)

    def squares(t):
        g, = ingot.autograd.grad((t**3).sin().sum(), t, create_graph=True)
        return (g**2).sum()

    for t in (x, d):
        squares(t.requires_grad_()).backward()
    close(d.grad.full_tensor(), x.grad)
    seen = []
    d.grad = None
    d.register_hook(lambda g: seen.append(type(g)) or g * 2)
    y = d * 3
    y.retain_grad()
    y.sum().backward()
    assert seen == [DTensor] and isinstance(y.grad, DTensor) and d.grad is d.grad
    close(d.grad.full_tensor(), ingot.full((5, 4), 6.0))
    checkpoint = importlib.import_module("ingot.utils.checkpoint").checkpoint
    d.grad = x.grad = None
    for t in (x, d):
        checkpoint(lambda t: (t.sin() * t).sum(), t, use_reentrant=False).backward()
    close(d.grad.full_tensor(), x.grad * 2)             # through the hook


@program
def transforms(mesh, p):
    x, d = both(mesh, p, 5, 4)
    func = importlib.import_module("ingot.func")
    close(func.grad(lambda t: (t.sin() ** 2).sum())(d).full_tensor(), func.grad(lambda t: (t.sin() ** 2).sum())(x))
    close(func.jvp(lambda t: t.sin(), (d,), (d,))[1].full_tensor(), x * x.cos())
    close(ingot.vmap(lambda row: (row * row).sum())(d).full_tensor(), (x * x).sum(1))


@program
def gradients_of_parts(mesh, p):
    part = both(mesh, p, 4, 6)[1].to_local().clone().requires_grad_()
    d = DTensor.from_local(part, mesh, [p])
    (d * d).sum().backward()
    close(part.grad, 2 * part.detach())
    x, d = both(mesh, p, 4, 6)
    d.requires_grad_()
    (d.full_tensor() ** 2).sum().backward()
    close(d.grad.full_tensor(), 2 * x)
    assert d.grad.placements == (p,)
    d.grad = None
    (d.redistribute(placements=[R()]).to_local(grad_placements=[P()]) ** 2).sum().backward()
    close(d.grad.full_tensor(), 4 * x)
    terms = DTensor.from_local(ingot.ones(4, 6).requires_grad_(), mesh, [P()])
    terms.sum().backward()


@program
def random_numbers(mesh, p):
    ingot.manual_seed(7 if mesh.get_rank() == 0 else 8)         # the first process's seed counts
    x, d = ingot.ones(6, 4), dt.ones(6, 4, device_mesh=mesh, placements=[p]).requires_grad_()

    def same(of_one, of_all):
        ingot.manual_seed(7 if mesh.get_rank() == 0 else 8)
        got = of_all()
        assert isinstance(got, DTensor)
        ingot.manual_seed(7)
        close(got.full_tensor(), of_one())
        return got

    y = same(lambda: F.dropout(x, 0.5), lambda: F.dropout(d, 0.5))
    y.sum().backward()
    close(d.grad.full_tensor(), y.full_tensor().detach())
    held = d.detach()
    for name in ("normal_", "uniform_", "kaiming_normal_", "trunc_normal_", "orthogonal_", "eye_"):
        init = getattr(nn.init, name)
        assert same(lambda init=init: init(x.clone()), lambda init=init: init(held)) is held and held.placements == (p,)
    for name in ("rand_like", "randn_like"):
        like = getattr(ingot, name)
        assert same(lambda like=like: like(x), lambda like=like: like(held)).placements == (p,)
    same(lambda: ingot.randn(6, 4), lambda: dt.randn(6, 4, device_mesh=mesh, placements=[p]))
    same(lambda: ingot.bernoulli(x * 0.5), lambda: ingot.bernoulli(dt.full((6, 4), 0.5, device_mesh=mesh, placements=[p])))
    nn.init.sparse_(held, 0.5)
    assert int((held == 0).sum()) == 12


@program
def makers(mesh, p):
    d = dt.full((6, 4), 2.5, device_mesh=mesh, placements=[p])
    close(d.full_tensor(), ingot.full((6, 4), 2.5))
    for name in ("zeros_like", "ones_like", "empty_like"):
        assert getattr(ingot, name)(d).placements == (p,)
    assert isinstance(d.new_zeros(3, 3), DTensor) and d.to(ingot.float64).placements == (p,) and d.cpu().placements == (p,)
    assert float(dt.ones(4, device_mesh=mesh, placements=[P()]).sum()) == 4
    with mesh:
        assert dt.zeros(4, 4).placements == (R(),)


@program
def modules(mesh, p):
    ingot.manual_seed(0)
    alone = nn.Sequential(nn.Conv1d(3, 4, 3), nn.BatchNorm1d(4), nn.ReLU(), nn.Flatten(), nn.Linear(16, 5))
    net = dt.distribute_module(copy.deepcopy(alone), mesh)
    x, d = both(mesh, p, 4, 3, 6)
    alone(x).pow(2).sum().backward()
    net(d).pow(2).sum().backward()
    for a, b in zip(net.parameters(), alone.parameters()):
        assert isinstance(a, nn.Parameter) and isinstance(a, DTensor)
        close(a.grad.full_tensor(), b.grad, rtol=1e-4, atol=1e-4)
    state = net.state_dict()
    again = copy.deepcopy(net)
    again.load_state_dict(state)
    again.load_state_dict(state, assign=True)
    close({k: whole_of(v) for k, v in again.double().state_dict().items()}, dict(alone.state_dict()),
          check_dtype=False)


@program
def copies_and_files(mesh, p):
    d = both(mesh, p, 5, 4)[1]
    for t in (d, nn.Parameter(d)):
        memory = io.BytesIO()
        ingot.save({"t": t}, memory)
        memory.seek(0)
        for again in (copy.deepcopy(t), copy.copy(t), pickle.loads(pickle.dumps(t)), ingot.load(memory)["t"]):
            assert type(again) is type(t) and again.placements == (p,) and again.requires_grad is t.requires_grad
            close(again.full_tensor(), d.full_tensor())
    q = nn.Parameter(d)
    q.data = d * 2
    q.data.mul_(2)
    close(q.full_tensor(), d.full_tensor() * 4)
    q.to_local().detach().zero_()
    assert float(q.detach().abs().sum()) == 0


@program
def functions_of_many_kinds(mesh, p):
    x, d = both(mesh, p, 4, 6)
    for fn in (lambda t: ingot.einsum("ij,kj->ik", t, t), lambda t: ingot.cat([t, t]), lambda t: t.unbind(1)[2],
               lambda t: t.split(2, 0)[1], lambda t: t.roll(1, 0), lambda t: t.repeat(2, 1), lambda t: t.unique(),
               lambda t: F.one_hot(t.argmax(1), 6), lambda t: F.interpolate(t[None, None], scale_factor=2),
               lambda t: ingot.quantile(t, 0.3), lambda t: ingot.cdist(t, t + 1), lambda t: t.median(1)[0],
               lambda t: ingot.linalg.svdvals(t), lambda t: ingot._foreach_norm([t, t * 2])[1], lambda t: t.tril()):
        close(fn(d).full_tensor(), fn(x), rtol=1e-4, atol=1e-4)


@program
def functions_of_local_tensors(mesh, p):
    x, d = both(mesh, p, 4, 6)
    d.requires_grad_()
    summed = dt.local_map(lambda t, k: (t.sum() * k, t * k), out_placements=([P()] if p != R() else [R()], [p]))
    total, scaled = summed(d, 3.0)
    close(total.full_tensor(), x.sum() * 3)
    close(scaled.full_tensor(), x * 3)
    total.backward()
    close(d.grad.full_tensor(), ingot.full((4, 6), 3.0))
    wants_whole = {"out_placements": [R()], "in_placements": ([R()],)}
    if p != R():
        with pytest.raises(ingot.IngotError, match="redistribute_inputs"):
            dt.local_map(lambda t: t, **wants_whole)(d)
    close(dt.local_map(lambda t: t + 0, **wants_whole, redistribute_inputs=True)(d).to_local(), x)


@program
def refusals(mesh, p):
    x, d = both(mesh, p, 4, 6)
    for mix in (lambda: d + x, lambda: x @ d, lambda: d * x.numpy(), lambda: ingot.cat([x, d]), lambda: d[x > 0]):
        with pytest.raises(ingot.IngotError, match="implicit_replication"):
            mix()
    with pytest.raises(ingot.IngotError, match="indexed by a DTensor"):
        x[d > 0]
    for name, a, b in (("grad", x, d), ("grad", d, x), ("data", x, d), ("data", d, x)):
        with pytest.raises(ingot.IngotError, match=f"{name} of a"):
            setattr(a.detach(), name, b)
    with dt.implicit_replication():
        close((d + x).full_tensor(), 2 * x)
    close((d * ingot.tensor(2.0)).full_tensor(), 2 * x)
    close(ingot.jit.trace(lambda t: t * 2)(d).full_tensor(), 2 * x)
    with pytest.raises(ingot.IngotError, match="DTensor"):
        ingot.jit.trace(lambda t: dt.distribute_tensor(t, mesh, [p]).to_local())(x)
    for wrong in ([S(2)], [S(0), S(0)], [0]):
        with pytest.raises(ingot.IngotError):
            dt.distribute_tensor(x, mesh, wrong)
    with pytest.raises(ingot.IngotError, match="makes no terms"):
        d.redistribute(placements=[P()])
    with pytest.raises(ingot.IngotError, match="distribute_tensor"):
        DTensor(x)
    with pytest.raises(ingot.IngotError, match="together with plain"):
        for t in (x, d):
            t.grad = t * 1
        nn.utils.clip_grad_norm_([x, d], 1.0)


def _all_programs(rank):
    mesh = init_device_mesh("cpu", (2,))
    for fn, placement in itertools.product(PROGRAMS.values(), (S(0), S(1), R())):
        ingot.manual_seed(0)
        try:
            fn(mesh, placement)
        except Exception as e:
            e.add_note(f"in {fn.__name__} of {placement}")
            raise


def test_programs_on_parts_match_one_rank():
    ranks.run(2, _all_programs)


# Optimizers.

OPTIMIZERS = [(name, {}) for name in ("ASGD", "LBFGS", "Adadelta", "Adafactor", "Adagrad", "Adam", "AdamW", "Adamax", "Muon",
                                      "NAdam", "RAdam", "RMSprop", "Rprop")]
OPTIMIZERS += [("SGD", {"momentum": 0.9, "lr": 0.01}),
               ("AdamW", {"foreach": True, "amsgrad": True}), ("SGD", {"foreach": True})]


def _optimizes(rank):
    mesh = init_device_mesh("cpu", (2,))
    ingot.manual_seed(3)
    values = [ingot.randn(*sizes, dtype=ingot.float64) for sizes in ((5, 4), (4, 6), (7, 5))]
    x = ingot.randn(3, 7, dtype=ingot.float64)
    of_all = dt.distribute_tensor(x, mesh, [R()])
    for name, options in OPTIMIZERS:
        kind = getattr(optim, name)
        alone = [nn.Parameter(v.clone()) for v in values]
        parts = [nn.Parameter(dt.distribute_tensor(v.clone(), mesh, [p])) for v, p in zip(values, (S(0), S(1), R()))]

        def step(ps, optimizer, x):
            def closure():
                optimizer.zero_grad()
                loss = ((((x @ ps[2]).tanh() @ ps[0].sin()) @ ps[1]) ** 2).sum()
                loss.backward()
                return loss

            optimizer.step(closure)

        both_of = kind(alone, **options), kind(parts, **options)
        for _ in range(3):
            step(alone, both_of[0], x)
            step(parts, both_of[1], of_all)
        for a, b in zip(alone, parts):
            close(b.full_tensor(), a, rtol=1e-6, atol=1e-8, msg=lambda m, name=name: f"{name}: {m}")
        both_of[1].load_state_dict(both_of[1].state_dict())


def test_optimizers_step_by_parts():
    ranks.run(2, _optimizes)


# Meshes without some ranks.


def _part_of_the_ranks(rank):
    mesh = dt.DeviceMesh("cpu", [0, 1])
    x = ingot.arange(6.0).reshape(3, 2)
    d = dt.distribute_tensor(x, mesh, [S(0)])
    y = (d * 2).sum(1)
    if rank < 2:
        close(y.full_tensor(), (x * 2).sum(1))
    else:
        assert mesh.get_coordinate() is None and d.to_local().numel() == 0 and tuple(y.shape) == (3,)


def test_other_ranks_have_nothing_of_a_tensor():
    ranks.run(3, _part_of_the_ranks)
