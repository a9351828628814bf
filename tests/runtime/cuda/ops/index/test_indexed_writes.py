"""Indexed writes in place on a device write what they name, eagerly and in traces: values and histories are those of the CPU,
the rest is not copied, and what a wrong index names is left out."""

import pytest

import ingot
import mock_cuda
from ingot import jit
from ingot.ir.errors import DimError
from ingot.runtime.cuda.offline.cost_model import Ledger
from tests.passes.schedule import test_inplace_updates as traces
from tests.runtime.core import test_indexed_writes as eager
from tests.runtime.core.test_indexed_writes import AT, OVERLAPS, ROWS, UPDATES, WIDTH, WITHOUT_HISTORIES, kernels

assert kernels          # (a fixture)
RUNS = 5                # the first work it out, one is noted, the others repeat


@pytest.fixture(scope="module")
def cuda():
    with mock_cuda.installed() as mock:
        ingot.zeros(1, device="cuda")       # (from now on kernels look where their operands are)
        yield mock


@pytest.mark.parametrize("dtype", [*eager.DTYPES, ingot.bfloat16, ingot.complex64], ids=str)
@pytest.mark.parametrize("name", UPDATES)
def test_as_on_the_host_and_without_a_copy(name, dtype, cuda, kernels):
    if dtype is ingot.complex64 and "amax" in name:
        pytest.skip("complex numbers have no order")
    update, shape = UPDATES[name]
    for n in range(RUNS):
        x, v = eager._operands(shape, dtype)
        x = x * (n + 1)
        there, given = x.to("cuda"), v.to("cuda")
        update(x, v)
        kernels.clear()
        place, before = there.data_ptr(), there._version
        update(there, given)
        assert there.data_ptr() == place and there._version > before and not kernels
        assert ingot.equal(there.cpu(), x)


@pytest.mark.parametrize("name", [n for n in UPDATES if n not in WITHOUT_HISTORIES])
def test_values_with_histories(name, cuda, kernels):
    update, shape = UPDATES[name]
    x, v = eager._operands(shape)
    weights = ingot.arange(1.0, ROWS * WIDTH + 1).reshape(ROWS, WIDTH)
    found = []
    for device in ("cpu", "cuda"):
        target, leaf = x.clone().to(device), v.clone().to(device).requires_grad_()
        kernels.clear()
        update(target, leaf * 1)
        assert not kernels and target.requires_grad
        (target * weights.to(device)).sum().backward()
        found.append((target.detach().cpu(), leaf.grad.cpu()))
    assert ingot.equal(found[0][0], found[1][0]) and ingot.equal(found[0][1], found[1][1])


def test_few_launches_for_one_position(cuda):
    """Such as the row that a decoder adds to its cache, whatever that holds: its number, and the row."""
    cache, row, at = (t.to("cuda") for t in (ingot.zeros(2, 3, 40, 8), ingot.ones(2, 3, 1, 8), ingot.tensor([7])))
    cache[:, :, at] = row       # the first write of a process also makes what all later ones have in common
    for n in range(RUNS):
        ingot.cuda.synchronize()
        before, allocations = len(cuda.launches), ingot.cuda.memory_stats()["allocation.all.allocated"]
        cache[:, :, at] = row
        ingot.cuda.synchronize()
        assert len(cuda.launches) == before + 2, n
        assert ingot.cuda.memory_stats()["allocation.all.allocated"] == allocations + 1
    assert cache.sum() == 48 and cache[:, :, 7].sum() == 48


WRONG = {
    "index_put_": (lambda x, i: x.index_put_((i,), ingot.ones(3, WIDTH, device="cuda")), [5, ROWS, 6]),
    "index_put_ of one": (lambda x, i: x.index_put_((i,), ingot.ones(1, WIDTH, device="cuda")), [-ROWS - 1]),
    "index_put_, added": (lambda x, i: x.index_put_((i,), ingot.ones(3, WIDTH, device="cuda"), accumulate=True), [5, ROWS, 6]),
    "index_copy_ of columns": (lambda x, i: x.index_copy_(1, i, ingot.ones(ROWS, 1, device="cuda")), [WIDTH]),
    "index_add_": (lambda x, i: x.index_add_(0, i, ingot.ones(3, WIDTH, device="cuda")), [5, ROWS, 6]),
    "scatter_": (lambda x, i: x.scatter_(0, i[:, None].expand(3, WIDTH), ingot.ones(3, WIDTH, device="cuda")), [5, -1, 6]),
}


@pytest.mark.parametrize("is_traced", [False, True])
@pytest.mark.parametrize("name", WRONG)
def test_writes_at_wrong_indices_are_skipped(name, is_traced, cuda):
    update, wrong = WRONG[name]
    run = jit.trace(update) if is_traced else update
    for _ in range(RUNS):
        x = ingot.zeros(ROWS, WIDTH, device="cuda")
        run(x, ingot.tensor(wrong, device="cuda"))
        with pytest.raises(DimError, match="out of range"):
            x.sum().item()
        assert x.cpu().sum(1).tolist() == [WIDTH * (len(wrong) > 1 and n in (5, 6)) for n in range(ROWS)]


@pytest.mark.parametrize("name", OVERLAPS)
def test_values_that_share_memory_are_read_first(name, cuda):
    update, _ = OVERLAPS[name]
    for _ in range(RUNS):
        x = ingot.arange(ROWS * WIDTH).reshape(ROWS, WIDTH)
        x.view(-1)[:5] = ingot.tensor([4, 3, 2, 1, 0])
        there = x.to("cuda")
        update(x)
        update(there)
        assert ingot.equal(there.cpu(), x)


def test_views_and_strided_arrays(cuda):
    for _ in range(RUNS):
        x = ingot.zeros(4, 6, 5, device="cuda")
        at = ingot.tensor([1, 0], device="cuda")
        x[2].index_copy_(0, at, ingot.ones(2, 5, device="cuda"))
        x[:, 3].index_fill_(0, at, 2.0)
        x.permute(2, 0, 1)[at, :, at] = 3.0
        want = ingot.zeros(4, 6, 5)
        want[2, :2] = 1
        want[:2, 3] = 2
        want.permute(2, 0, 1)[at.cpu(), :, at.cpu()] = 3
        assert ingot.equal(x.cpu(), want)


def test_a_graph_that_is_captured_updates_at_every_replay(cuda):
    x, v, i = (t.to("cuda") for t in (ingot.zeros(ROWS, WIDTH), ingot.ones(2, WIDTH), ingot.tensor([1, 4])))
    x.index_add_(0, i, v)
    g = ingot.cuda.CUDAGraph()
    with ingot.cuda.graph(g):
        x.index_add_(0, i, v)
    for _ in range(3):
        g.replay()
    i.add_(1)
    g.replay()
    assert x.cpu()[:6, 0].tolist() == [0, 4, 1, 0, 4, 1]


# Traces.


def _there(seed):
    return [t.to("cuda") for t in traces._arguments(seed)]


@pytest.mark.parametrize("name", traces.WRITES)
def test_traces_write_in_place_as_eager_code_does(name, cuda):
    fn = traces.WRITES[name]
    traced = jit.trace(fn)
    for seed in range(6):
        (x, v, i), (y, *others) = _there(seed), traces._arguments(seed)
        want, found = fn(y, *others), traced(x, v, i)
        ingot.testing.assert_close(found.cpu(), want)
        ingot.testing.assert_close(x.cpu(), y)
    (plan,) = [job.compiled.plan for job in traced._jobs()]
    assert bool(plan.in_place) == (name not in traces.COPIED)


def _fails_behind(x, v, i):
    x.mul_(2)
    x[0] += v[0]
    y = x.sum() * 0 + v[:, :3]
    return ingot.linalg.cholesky(y + 0.0)


def test_a_failing_call_writes_as_eager_code_does(cuda):
    """Python makes it again: what had been added before would be added twice."""
    traced = jit.trace(_fails_behind)
    good = ingot.eye(3, traces.WIDTH, device="cuda")
    for _ in range(3):
        traced(_there(0)[0], good, AT)
    x = _there(1)[0]
    y = x.clone()
    for run, target in ((_fails_behind, y), (traced, x)):
        with pytest.raises(ingot.linalg.LinAlgError):
            run(target, -good, AT)
    assert ingot.equal(x.cpu(), y.cpu())


def test_caches_of_several_layers(cuda):
    """From the third call on a CUDA graph, which writes the caches where they lie."""
    def step(caches, new, at):
        for cache, k in zip(caches, new):
            cache.index_copy_(1, at, k)
        return [ingot.nn.functional.scaled_dot_product_attention(k, c, c) for c, k in zip(caches, new)]

    traced = jit.trace(step)
    caches = [ingot.zeros(2, 16, 4, device="cuda") for _ in range(3)]
    plain = [c.cpu() for c in caches]
    for n in range(6):
        new, at = [ingot.randn(2, 1, 4) for _ in range(3)], ingot.tensor([n])
        for found, want in zip(traced(caches, [k.to("cuda") for k in new], at.to("cuda")), step(plain, new, at)):
            ingot.testing.assert_close(found.cpu(), want)
    for found, want in zip(caches, plain):
        ingot.testing.assert_close(found.cpu(), want)


def test_bytes_count_written_elements_alone():
    """A step of a decoder reads and writes a row of its cache, whatever that holds."""
    def by_index(cache, row, at):
        cache.index_copy_(2, at, row)

    def by_number(cache, row, at):
        cache[:, :, 7:8] = row

    mock_cuda.drop_caches()
    with Ledger() as ledger:
        cache = ingot.empty(1, 12, 1024, 64, device="cuda")
        row, at = ingot.empty(1, 12, 1, 64, device="cuda"), ingot.empty(1, device="cuda", dtype=ingot.int64)
        for fn, indices in ((by_index, 8), (by_number, 0)):
            traced = jit.trace(fn)
            for _ in range(2):
                ledger.clear()
                traced(cache, row, at)
            assert sum(r.read for r in ledger.rows) <= 2 * row.nbytes + indices, fn
            assert sum(r.written for r in ledger.rows) == row.nbytes + indices
    mock_cuda.drop_caches()
