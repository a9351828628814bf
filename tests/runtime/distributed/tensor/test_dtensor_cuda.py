"""DTensors on a GPU (mock driver), against the host of one rank."""

import contextlib
import importlib
import itertools

import ingot
import mock_cuda
import nccl_ranks
import ranks
from ingot import nn, optim
from ingot.distributed import init_device_mesh
from ingot.distributed.fsdp import fully_shard

dt = importlib.import_module("ingot.distributed.tensor")
DTensor, R, S = dt.DTensor, dt.Replicate, dt.Shard
F = nn.functional
close = ingot.testing.assert_close


def _computes(mesh, p):
    ingot.manual_seed(0)
    x, w = ingot.randn(5, 4), ingot.randn(4, 6)
    pairs = []
    for make in (lambda t: t.clone(), lambda t: dt.distribute_tensor(t.cuda(), mesh, [p])):
        a, b = make(x).requires_grad_(), make(w).requires_grad_()
        loss = (F.softmax((a @ b).relu() + 1, 0) * 2).pow(2).sum()
        loss.backward()
        q = nn.Parameter(a.detach().clone())
        q.grad = a.grad
        norm = nn.utils.clip_grad_norm_([q], 0.1)
        optim.AdamW([q], lr=0.1).step()
        q.data[1] = 3.0
        q.data.t().mul_(2)
        ingot.manual_seed(1)
        pairs.append((loss, a.grad, b.grad, norm, q, F.dropout(q, 0.5), q.detach()[q.detach() > 0]))
    for alone, parts in zip(*pairs):
        assert parts.is_cuda and parts.device.type == "cuda" and isinstance(parts, DTensor)
        close(parts.detach().full_tensor().cpu(), alone.detach(), rtol=1e-4, atol=1e-5)
    table = dt.distribute_tensor(x.cuda(), mesh, [p])
    rows = dt.distribute_tensor(ingot.arange(4).cuda(), mesh, [R()])
    close(F.embedding(rows, table).full_tensor().cpu(), x[:4])
    close(F.cross_entropy(table[:4], rows).full_tensor().cpu(), F.cross_entropy(x[:4], ingot.arange(4)))
    here = table.cpu()
    assert isinstance(here, DTensor) and not here.is_cuda and here.placements == (p,) and here.cuda().is_cuda
    assert dt.rand(4, 4, device_mesh=mesh, placements=[p]).is_cuda and ingot.zeros_like(table).to_local().is_cuda
    assert table.tolist() == x.tolist()


def _on_a_gpu(rank, nccl=None):
    with contextlib.nullcontext() if nccl else mock_cuda.installed():
        mesh = init_device_mesh("cuda", (2,))
        for p in (S(0), S(1), R()):
            _computes(mesh, p)
        net = fully_shard(nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 2)).cuda(), mesh=mesh)
        net(ingot.randn(3, 4).cuda()).sum().backward()
        nn.utils.clip_grad_norm_(net.parameters(), 1.0)
        optim.SGD(net.parameters(), lr=0.1).step()
        assert all(p.is_cuda and isinstance(p, DTensor) and p.grad.is_cuda for p in net.parameters())


def test_parts_may_lie_on_gpus():
    ranks.run(2, _on_a_gpu)


def test_parts_on_gpus_move_by_nccl():
    nccl_ranks.run(2, _on_a_gpu)


def _moves(rank, nccl):
    """Every way to place a tensor anew, against its whole value; nothing is copied to the host on the way."""
    mesh = init_device_mesh("cuda", (3,))
    whole = ingot.arange(7 * 5.0).reshape(7, 5)
    for first, second in itertools.product((S(0), S(1), R()), repeat=2):
        t = dt.distribute_tensor(whole.cuda(), mesh, [first])
        before = nccl.cuda.calls.get("cuMemcpyDtoHAsync_v2", 0)
        u = t.redistribute(placements=[second])
        assert nccl.cuda.calls.get("cuMemcpyDtoHAsync_v2", 0) == before, (first, second)
        assert u.full_tensor().cpu().tolist() == whole.tolist(), (first, second)
    for how, want in (("sum", whole * 6), ("avg", whole * 2), ("max", whole * 3)):
        for second in (S(0), S(1), R()):
            terms = DTensor.from_local((whole * (rank + 1)).cuda(), mesh, [dt.Partial(how)])
            before = nccl.cuda.calls.get("cuMemcpyDtoHAsync_v2", 0)
            found = terms.redistribute(placements=[second])
            assert nccl.cuda.calls.get("cuMemcpyDtoHAsync_v2", 0) == before, (how, second)
            close(found.full_tensor().cpu(), want)


def test_placements_change_on_the_device():
    nccl_ranks.run(3, _moves)

