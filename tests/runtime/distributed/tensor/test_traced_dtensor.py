"""Traced functions that compute with DTensors: the values of eager code, with the same messages, or an error."""

import itertools
import warnings

import numpy as np
import pytest

import ingot
import ranks
from ingot import distributed as dist
from ingot import jit, nn, optim
from ingot.distributed.fsdp import fully_shard
from ingot.distributed.tensor import DTensor, Replicate, Shard, distribute_tensor
from ingot.distributed.tensor import parallel as tp
from ingot.nn import functional as F

CALLS = 6


def _mesh():
    return dist.init_device_mesh("cpu", (dist.get_world_size(),))


def _columns_and_rows(mesh):
    net = nn.Sequential(nn.Linear(6, 12), nn.GELU(), nn.Linear(12, 4))
    return tp.parallelize_module(net, mesh, {"0": tp.ColwiseParallel(), "2": tp.RowwiseParallel()})


def _sequence(mesh):
    net = nn.Sequential(nn.LayerNorm(6), nn.Linear(6, 12), nn.ReLU(), nn.Linear(12, 4))
    return tp.parallelize_module(net, mesh, {
        "0": tp.SequenceParallel(sequence_dim=0), "1": tp.ColwiseParallel(input_layouts=Shard(0)),
        "3": tp.RowwiseParallel(output_layouts=Shard(0), use_local_output=False)})


def _embedding(mesh):
    net = nn.Sequential(nn.Embedding(9, 12), nn.Linear(12, 4))
    return tp.parallelize_module(net, mesh, {"0": tp.ColwiseParallel(output_layouts=Replicate()), "1": tp.RowwiseParallel(
        input_layouts=Replicate())})


def _rows_of_table(mesh):
    net = nn.Sequential(nn.Embedding(9, 12), nn.Linear(12, 4))
    return tp.parallelize_module(net, mesh, {"0": tp.RowwiseParallel(input_layouts=Replicate())})


def _classes(mesh):
    """A classifier whose 7 classes are split; 7 is no multiple of the number of processes."""
    net = nn.Sequential(nn.Linear(6, 12), nn.GELU(), nn.Linear(12, 7))
    return tp.parallelize_module(net, mesh, {"2": tp.ColwiseParallel(use_local_output=False)})


def _grid(*names):
    return dist.init_device_mesh("cpu", (2, dist.get_world_size() // 2), mesh_dim_names=names or None)


def _rows_of_grid():
    """A mesh whose second dim has no columns of `_weights`: a write to a column lies as its base."""
    return _grid("rows", "copies")


def _both_dims(mesh):
    """Rows of the batch along one dim of the mesh, columns and rows of the weights along the other."""
    mesh = _grid("dp", "tp")
    return fully_shard(_columns_and_rows(mesh["tp"]), mesh=mesh["dp"])


def _blocks_of_both_dims(mesh):
    mesh = _grid("dp", "tp")
    net = _sequence(mesh["tp"])
    for layer in net:
        if isinstance(layer, nn.Linear):
            fully_shard(layer, mesh=mesh["dp"])
    return fully_shard(net, mesh=mesh["dp"])


def _batch(net, i):
    ingot.manual_seed(i)
    if isinstance(net[0], nn.Embedding):
        return ingot.randint(0, 9, (12,)), ingot.randn(12, 4)
    return ingot.randn(12, 6), ingot.randn(12, 4)


def _step(net, opt, x, y, limit):
    opt.zero_grad()
    out = net(x)
    if out.shape[-1] == 7:
        target = DTensor.from_local(y[:, 0].abs().clamp(max=2).long() + 3, out.device_mesh, [Replicate()])
        loss = F.cross_entropy(out, target, label_smoothing=0.1).full_tensor()
    else:
        out = out.full_tensor() if isinstance(out, DTensor) else out
        loss = F.mse_loss(out, y[0].expand(out.shape))
    loss.backward()
    if limit is not None:
        nn.utils.clip_grad_norm_(list(net.parameters()), limit)
    opt.step()
    return loss


def _training(make, make_optimizer, limit, wrap):
    ingot.manual_seed(0)
    net = make(_mesh())
    opt = make_optimizer(net.parameters())
    run = wrap(lambda x, y: _step(net, opt, x, y, limit))
    losses = [run(*_batch(net, i)).item() for i in range(CALLS)]
    return losses, [[(t.to_local() if isinstance(t, DTensor) else t).tolist() for t in (p, p.grad)] for p in net.parameters()]


ROWS = {
    "columns and rows": (_columns_and_rows, lambda p: optim.AdamW(p, lr=0.01), None),
    "momentum": (_columns_and_rows, lambda p: optim.SGD(p, lr=0.1, momentum=0.9), None),
    "clipped": (_columns_and_rows, lambda p: optim.SGD(p, lr=0.1), 0.1),
    "sequence": (_sequence, lambda p: optim.AdamW(p, lr=0.01), None),
    "embedding": (_embedding, lambda p: optim.AdamW(p, lr=0.01), None),
    "rows of a table": (_rows_of_table, lambda p: optim.AdamW(p, lr=0.01), None),
    "classes": (_classes, lambda p: optim.AdamW(p, lr=0.01), None),
}
GRIDS = {
    "both dims": (_both_dims, lambda p: optim.AdamW(p, lr=0.01), None),
    "both dims, clipped": (_both_dims, lambda p: optim.SGD(p, lr=0.1, momentum=0.9), 0.1),
    "blocks of both dims": (_blocks_of_both_dims, lambda p: optim.AdamW(p, lr=0.01), None),
}


def _same(rank, names):
    for name in names:
        traced: list = []

        def wrap(step, traced=traced):
            traced.append(jit.trace(step, fullgraph=True))
            return traced[0]

        row = (ROWS | GRIDS)[name]
        (losses, tensors), (eager_losses, eager) = _training(*row, wrap), _training(*row, lambda step: step)
        assert losses == pytest.approx(eager_losses, rel=1e-6), name
        for pair in zip(tensors, eager):
            for a, b in zip(*pair):             # (products in traces promise a tolerance)
                np.testing.assert_allclose(a, b, 1e-5, 1e-7, err_msg=name)
        assert traced[0].stats()["compiles"] <= 3, (name, traced[0].stats())


def test_parallel_steps():
    ranks.run(2, _same, ["columns and rows", "rows of a table", "classes"])


@pytest.mark.slow
@pytest.mark.parametrize("size", [2, 3])
def test_more_parallel_steps(size):
    ranks.run(size, _same, [*ROWS], timeout=60)


@pytest.mark.parametrize("name", GRIDS)
def test_steps_on_meshes_of_two_dims(name):
    ranks.run(4, _same, [name], timeout=60)


# Functions of captured DTensors.


def _weights(mesh):
    if mesh.ndim == 2:
        ingot.manual_seed(1)
        columns = Shard(1) if mesh.mesh_dim_names is None else Replicate()
        return (distribute_tensor(ingot.randn(6, 4), mesh, [Shard(0), columns]),
                distribute_tensor(ingot.randn(4, 6), mesh, [Replicate(), Shard(1)]))
    ingot.manual_seed(1)
    return distribute_tensor(ingot.randn(6, 4), mesh, [Shard(0)]), distribute_tensor(ingot.randn(4, 6), mesh, [Shard(1)])


def _product(a, b, x):
    return (a @ b * x).full_tensor()


def _number(a, b, x):
    return (a.sum() * x).full_tensor().item()


def _views(a, b, x):
    return (a.t()[1:3] * b[1:3] + x).redistribute(placements=[Replicate()] * a.device_mesh.ndim).to_local()


def _writes(a, b, x):
    with ingot.no_grad():
        a.mul_(x)
        a[:, 0] = 1
        b.copy_(a.t().redistribute(placements=b.placements))
        b.fill_(0) if b.shape[0] == 1 else b.add_(a.t(), alpha=2)
    return a.full_tensor()


def _moved(a, b, x):
    columns = [Shard(1), *[Replicate()] * (a.device_mesh.ndim - 1)]
    return (a.redistribute(placements=columns) * x).softmax(-1).sum(0).full_tensor()


def _of_parts(a, b, x):
    part = a.to_local() * x
    return DTensor.from_local(part, a.device_mesh, a.placements).full_tensor()


def _returned(a, b, x):
    return a.detach() * x + 1


def _read(a, b, x):
    return (a * x).sum().item() + float(b.amax()) * 2


def _asked(a, b, x):
    if (a * x).amax() > 3:
        x = x + 1
    return (a * x).full_tensor() if bool((b > 0).any()) else x


def _listed(a, b, x):
    rows = int((a * 0 + 2).amax())
    return ingot.stack([x * n for n in (a * 0 + 1).sum(1).tolist()[:rows]])


def _written(a, b, x):
    return ingot.tensor([len(f"{(a * x).sum():.3f}")])


def _dropped(a, b, x):
    return F.dropout(a * x).full_tensor() + F.dropout(b.t(), 0.2).full_tensor()


def _drawn(a, b, x):
    noise = ingot.rand_like(a) * x + ingot.bernoulli(a.sigmoid())
    with ingot.no_grad():
        b.normal_()
    return noise.full_tensor()


FUNCTIONS = [_product, _number, _views, _writes, _moved, _of_parts, _returned, _read, _asked, _listed, _written, _dropped,
             _drawn]


def _functions(rank, functions, make_mesh=_mesh):
    warnings.simplefilter("error", jit.TracerWarning)
    for function in functions:
        found = []
        for wrap in (lambda fn: jit.trace(fn, fullgraph=True), lambda fn: fn):
            a, b = _weights(make_mesh())
            ingot.manual_seed(4 + rank)
            run = wrap(lambda x, a=a, b=b, function=function: function(a, b, x))
            for i in range(4):
                y = run(ingot.tensor(1.0 + i))
                y = y.full_tensor() if isinstance(y, DTensor) else y
                found.append((y.tolist() if isinstance(y, ingot.Tensor) else y, a.to_local().tolist(), b.to_local().tolist()))
        assert found[:4] == found[4:], function.__name__


def test_functions_of_shared_tensors():
    ranks.run(2, _functions, FUNCTIONS)


def test_functions_of_tensors_shared_along_two_dims():
    ranks.run(4, _functions, [f for f in FUNCTIONS if f is not _writes], _grid, timeout=60)
    ranks.run(4, _functions, [_writes], _rows_of_grid, timeout=60)


# Gradients: each rule gets the sizes of the whole, and values of the part.

LOSSES = {
    "sum": lambda w: w.sum().full_tensor(),
    "mean": lambda w: w.mean().full_tensor(),
    "of squares": lambda w: w.pow(2).sum().full_tensor(),
    "of products": lambda w: (w * w).sum().full_tensor(),
    "along a row": lambda w: w.exp().sum(1).full_tensor().sum(),
    "along a column": lambda w: w.exp().sum(0).full_tensor().sum(),
    "extremes": lambda w: (w.amax(0) * w.amin(0)).sum().full_tensor(),
    "softmax": lambda w: (w.softmax(0) * w.softmax(1)).sum().full_tensor(),
    "variance": lambda w: w.var(0).sum().full_tensor() + w.std().full_tensor(),
    "views": lambda w: (w.t()[1:3].reshape(-1).sin() * 2).sum().full_tensor(),
    "joined": lambda w: ingot.cat([w, w * 2]).cumsum(1).sum().full_tensor(),
    "whole": lambda w: w.exp().full_tensor().mean(),
}


def _gradients(rank, names):
    for name in names:
        for placement in (Shard(0), Shard(1), Replicate()):
            found = []
            for wrap in (lambda fn: fn, lambda fn: jit.trace(fn, fullgraph=True)):
                ingot.manual_seed(2)
                w = distribute_tensor(ingot.randn(6, 4), _mesh(), [placement]).requires_grad_()

                def step(x, w=w, name=name):
                    loss = LOSSES[name](w) * x
                    loss.backward()
                    return loss

                run = wrap(step)
                for i in range(3):
                    w.grad = None
                    loss = run(ingot.tensor(1.0 + i)).item()
                    found.append((loss, w.grad.shape, w.grad.full_tensor().tolist()))
            for want, got in zip(found[:3], found[3:]):
                assert want[1] == got[1], (name, placement)
                np.testing.assert_allclose(want[0], got[0], 1e-5, 1e-6, err_msg=name)
                np.testing.assert_allclose(want[2], got[2], 1e-5, 1e-6, err_msg=f"{name} {placement}")


def test_gradients_of_shared_tensors():
    ranks.run(2, _gradients, [*LOSSES], timeout=60)


# Arguments.


def _takes_layouts(mesh):
    ingot.manual_seed(3)
    b, x = distribute_tensor(ingot.randn(4, 6), mesh, [Shard(1)]), ingot.tensor(3.0)
    run = jit.trace(_product, fullgraph=True)
    for rows, placement in [(6, Shard(0)), (6, Shard(1)), (6, Replicate()), (6, Shard(0)), (8, Shard(0)), (5, Shard(0)),
                            (7, Shard(0)), (6, Shard(1))]:
        for _ in range(3):
            a = distribute_tensor(ingot.randn(rows, 4), mesh, [placement])
            assert run(a, b, x).tolist() == _product(a, b, x).tolist(), (rows, placement)
    assert run.stats()["compiles"] <= 7


def _takes_leaves(mesh):
    def step(w, x):
        loss = (w * x).pow(2).sum().full_tensor()
        loss.backward()
        with ingot.no_grad():
            w.sub_(w.grad, alpha=0.1)
        return loss

    found = []
    for run in (step, jit.trace(step, fullgraph=True)):
        ingot.manual_seed(2)
        w = distribute_tensor(ingot.randn(6, 4), mesh, [Shard(0)]).requires_grad_()
        for i in range(5):
            w.grad = None
            found.append((run(w, ingot.tensor(1.0 + i)).item(), w.grad.to_local().tolist(), w.to_local().tolist()))
    for want, got in zip(found[:5], found[5:]):
        for a, b in zip(want, got):
            np.testing.assert_allclose(a, b, 1e-5, 1e-6)


def _takes_one_twice(mesh):
    w, v = (distribute_tensor(ingot.randn(6, 4), mesh, [Shard(0)]) for _ in range(2))
    run = jit.trace(lambda a, b: (a * b).full_tensor(), fullgraph=True)
    for a, b in [(w, w)] * 3 + [(w, v)] * 3 + [(w, w)] * 2:
        assert run(a, b).tolist() == (a * b).full_tensor().tolist()
    itself = jit.trace(lambda a: a, fullgraph=True)
    for _ in range(3):
        assert itself(w).full_tensor().tolist() == w.full_tensor().tolist() and itself(w).placements == w.placements
    either = jit.trace(lambda a: a * 2)
    for t in (w, w, ingot.ones(6, 4), ingot.ones(6, 4), w, ingot.ones(6, 4)):
        assert type(either(t)) is type(t)


def _takes(rank):
    warnings.simplefilter("ignore", jit.TracerWarning)      # (of several layouts)
    for body in (_takes_layouts, _takes_leaves, _takes_one_twice):
        body(_mesh())


def test_shared_tensors_as_arguments():
    ranks.run(2, _takes, timeout=60)


# Views from outside, as arguments or captured.

VIEWS = {
    "rows": (Shard(1), lambda a: a[1:5]),
    "a row": (Shard(1), lambda a: a[2]),
    "every second row": (Replicate(), lambda a: a[::2]),
    "turned": (Shard(0), lambda a: a.t()),
    "turned rows": (Shard(1), lambda a: a.t()[:, 1:3]),
    "of a view": (Shard(1), lambda a: a[1:][1:3]),
    "reshaped": (Shard(0), lambda a: a.view(6, 2, 2)),
    "detached": (Shard(1), lambda a: a[1:].detach()),
    "all": (Shard(0), lambda a: a.detach()),
}


def _reads_view(a, v, x):
    return (v * x).full_tensor()


def _writes_view(a, v, x):
    with ingot.no_grad():
        v.mul_(x).add_(1)
    return (v * 2).full_tensor()


def _reads_both(a, v, x):
    return (a.sum() * v).full_tensor() * x


def _writes_view_reads_base(a, v, x):
    with ingot.no_grad():
        before = v.sum().full_tensor()
        v.add_(x)
    return (a * x).full_tensor() + before


def _writes_base_reads_view(a, v, x):
    with ingot.no_grad():
        a.add_(x)
    return (v * x).full_tensor()


def _returns_view(a, v, x):
    with ingot.no_grad():
        v.mul_(x)
    return v


USES = [_reads_view, _writes_view, _reads_both, _writes_view_reads_base, _writes_base_reads_view, _returns_view]
ALONE = _reads_view, _writes_view, _returns_view
PARTS = {"detached"}      # no views to autograd: a trace that writes where two parts of memory came in refuses them


def _calls(wrap, mesh, name, use, way) -> list:
    """Return what four calls give, with the values of the base, of its view, and of one that had to be sent."""
    placement, view = VIEWS[name]
    ingot.manual_seed(1)
    a = distribute_tensor(ingot.randn(6, 4), mesh, [placement])
    v, sent = view(a), a[1:3]
    if way == "captured":
        run = wrap(lambda x: use(a, v, x))
    elif way == "argument":
        traced = wrap(lambda v, x: use(None, v, x))
        run = lambda x: traced(v, x)
    else:
        traced = wrap(use)
        run = lambda x: traced(a, v, x)
    found = []
    for i in range(4):
        y = run(ingot.tensor(1.0 + i))
        found.append((y is v, [t.tolist() for t in (y, a, v, sent)]))
    return found


def _views(rank, names):
    warnings.simplefilter("ignore", jit.TracerWarning)
    mesh = _mesh()
    for name, use, way in itertools.product(names, USES, ("captured", "argument", "arguments")):
        if way == "argument" and use not in ALONE:
            continue
        try:
            found = _calls(lambda fn: jit.trace(fn, fullgraph=True), mesh, name, use, way)
        except jit.TraceError as e:
            assert name in PARTS and "writes to memory that came in as several tensors" in str(e), (name, use, way)
            continue
        assert found == _calls(lambda fn: fn, mesh, name, use, way), (name, use.__name__, way)


def test_views_of_shared_tensors_from_outside():
    ranks.run(2, _views, [*VIEWS], timeout=60)


def _other_views(rank):
    """A recording serves views at other places of their bases, and not those that other layouts give."""
    warnings.simplefilter("ignore", jit.TracerWarning)
    mesh = _mesh()
    ingot.manual_seed(1)
    a, b = (distribute_tensor(ingot.randn(6, 4), mesh, [p]) for p in (Shard(1), Shard(0)))
    reads = jit.trace(lambda v, x: (v * x).full_tensor(), fullgraph=True)
    writes = jit.trace(lambda a, v, x: (v.add_(x), a.sum().full_tensor())[1], fullgraph=True)
    for i, (t, at) in enumerate([(a, 0), (a, 1), (a, 2), (a, 0), (a, 3)]):
        x, v = ingot.tensor(1.0 + i), t[at:at + 2]
        assert reads(v, x).tolist() == (v * x).full_tensor().tolist()
        want = t.clone()
        want[at:at + 2].add_(x)
        assert writes(t, v, x).tolist() == want.sum().full_tensor().tolist() and t.tolist() == want.tolist(), i
    assert reads.stats()["compiles"] == 1
    own = distribute_tensor(ingot.ones(6, 4), mesh, [Shard(1)])
    with pytest.raises(jit.TraceError, match="another layout"):
        reads(b[1:3], ingot.tensor(1.0))
    assert reads(own[1:3], ingot.tensor(2.0)).tolist() == [[2.0] * 4] * 2


def test_views_at_other_places():
    ranks.run(2, _other_views, timeout=60)


def _gradients_of_views(rank):
    """Gradients of a view from outside arrive at its base."""
    mesh, found = _mesh(), []
    for wrap in (lambda fn: fn, lambda fn: jit.trace(fn, fullgraph=True)):
        ingot.manual_seed(2)
        w = distribute_tensor(ingot.randn(6, 4), mesh, [Shard(1)]).requires_grad_()
        v = w[1:4]

        def step(x, v=v):
            loss = (v * v * x).sum().full_tensor()
            loss.backward(retain_graph=True)
            return loss

        run = wrap(step)
        for i in range(3):
            w.grad = None
            found.append((run(ingot.tensor(1.0 + i)).item(), w.grad.full_tensor().tolist()))
    assert found[:3] == found[3:]


def test_gradients_of_views_from_outside():
    ranks.run(2, _gradients_of_views, timeout=60)


def _sent_views(rank):
    """A view that had to be sent sees what a replay writes to its base."""
    a = distribute_tensor(ingot.zeros(6, 4), _mesh(), [Shard(0)])
    v = a[1:5]
    run = jit.trace(lambda x: a.add_(x).sum().full_tensor())
    for i in range(4):
        run(ingot.tensor(1.0))
        assert v.tolist() == [[1.0 + i] * 4] * 4, i


def test_views_that_were_sent_see_replays():
    ranks.run(2, _sent_views)


def _beyond(rank):
    """An index that no row has raises an error in a replay as in eager code, and the next call goes on."""
    warnings.simplefilter("ignore", jit.TracerWarning)
    mesh = _mesh()
    table = distribute_tensor(ingot.randn(9, 4), mesh, [Shard(0)])
    run = jit.trace(lambda i: F.embedding(i, table).full_tensor())
    for indices in ([0, 8, 4], [1, 7, 3], [2, 9, 3], [0, -1, 3], [5, 4, 3]):
        i = DTensor.from_local(ingot.tensor(indices), mesh, [Replicate()])
        for call in (run, lambda i: F.embedding(i, table).full_tensor()):
            if min(indices) >= 0 and max(indices) < 9:
                assert call(i).tolist() == table.full_tensor()[indices].tolist()
            else:
                with pytest.raises(IndexError, match="out of range for a table of 9 rows"):
                    call(i)
            dist.barrier()


def test_rows_beyond_a_table():
    ranks.run(2, _beyond, timeout=60)


def _written_view(a, x):
    a.redistribute(placements=[Replicate()])
    view = a.view(4, 6)
    view.mul_(x)
    return a.full_tensor()


def _written_row(a, x):
    a.t()[0] = x
    return a.full_tensor()


def _refused(rank):
    mesh = _mesh()
    for function in (_written_view, _written_row):
        a = distribute_tensor(ingot.ones(6, 4), mesh, [Shard(1)])
        with pytest.raises(jit.TraceError):
            jit.trace(lambda x, a=a, function=function: function(a, x))(ingot.tensor(2.0))
    sent = distribute_tensor(ingot.ones(6, 4), mesh, [Shard(0)])[1:]
    for function, arguments in ((lambda t: t * 2, [sent]), (lambda: sent * 2, [])):
        with pytest.raises(jit.TraceError, match=r"a view of a DTensor that lies in another layout .* use a clone\(\) of it"):
            jit.trace(function)(*arguments)
    with pytest.raises(jit.TraceError, match="distributes a tensor"):
        jit.trace(lambda x: distribute_tensor(x, mesh, [Shard(0)]).to_local())(ingot.ones(6, 4))


def _moves_on(rank):
    """A recording does not serve another layout."""
    state = nn.Module()
    state.register_buffer("a", distribute_tensor(ingot.arange(24.0).reshape(6, 4), _mesh(), [Shard(0)]))
    run = jit.trace(lambda x: (state.a * x).full_tensor())
    for i in range(6):
        if i == 3:
            state.a.data = state.a.redistribute(placements=[Shard(1)])
        assert run(ingot.tensor(1.0 + i)).tolist() == (ingot.arange(24.0).reshape(6, 4) * (1 + i)).tolist(), i


def _both(rank):
    _refused(rank)
    dist.barrier()
    _moves_on(rank)


def test_what_no_trace_repeats():
    ranks.run(2, _both)
