"""Products of groups on a device: any cut of rows or depth, many groups, factors that lie otherwise, ends that do not rise."""

import numpy as np
import pytest

import ingot
import mock_cuda
from ingot import jit
from ingot.ir.errors import ArgumentError, ShapeError
from ingot.nn import functional as F

SEED = 5


@pytest.fixture(autouse=True)
def device():
    with mock_cuda.installed(alone=True):
        yield


def draw(*shape):
    return ingot.tensor(np.random.default_rng([SEED, *shape]).standard_normal(shape).astype(np.float32))


def cut(length, groups):
    """Return the ends of groups, some of them empty, with a rest after the last."""
    return ingot.tensor(np.sort(np.random.default_rng([SEED, groups]).integers(0, length, groups)).astype(np.int32))


FORMS = {
    "rows": lambda t, g: (draw(t, 19), draw(g, 19, 37)),
    "rows, weights turned": lambda t, g: (draw(t, 19), draw(g, 37, 19).mT),
    "columns": lambda t, g: (draw(g, 21, 19), draw(19, t)),
    "columns of a turned matrix": lambda t, g: (draw(g, 21, 19), draw(t, 19).mT),
    "depth": lambda t, g: (draw(t, 21).mT, draw(t, 37)),
    "depth, along rows": lambda t, g: (draw(21, t), draw(37, t).mT),
    "every second row": lambda t, g: (draw(2 * t, 19)[::2], draw(g, 19, 37)),
}


@pytest.mark.parametrize("length, groups", [(70, 3), (150, 1), (40, 300)], ids=str)
@pytest.mark.parametrize("form", FORMS)
def test_equals_the_cpu(form, length, groups):
    x, y = FORMS[form](length, groups)
    ends = cut(length, groups)
    for kind, tolerance in ((ingot.float32, 1e-5), (ingot.bfloat16, 2e-2)):
        a, b = x.to(kind), y.to(kind)
        want = F.grouped_mm(a, b, offs=ends)
        got = F.grouped_mm(a.cuda(), b.cuda(), offs=ends.cuda()).cpu()
        np.testing.assert_allclose(got.float().numpy(), want.float().numpy(), rtol=tolerance, atol=tolerance)


@pytest.mark.parametrize("build", [lambda f: f, jit.trace], ids=["eager", "traced"])
def test_experts_train_on_the_device(build):
    """Tokens go to experts, whose layers learn; nothing waits for the host."""
    def loss(x, chosen, w, v):
        order = chosen.argsort(stable=True)
        ends = ingot.bincount(chosen, minlength=4).cumsum(0).to(ingot.int32)
        hidden = F.grouped_mm(x[order], w, offs=ends).relu()
        return F.grouped_mm(hidden, v, offs=ends).square().mean()

    found = []
    for there, how in (("cpu", lambda f: f), ("cuda", build)):
        w, v = (p.to(there).requires_grad_() for p in (draw(4, 8, 16), draw(4, 16, 8)))
        x, chosen = draw(50, 8).to(there), ingot.tensor(np.random.default_rng(SEED).integers(0, 4, 50)).to(there)
        run = how(loss)
        for _ in range(4):
            w.grad = v.grad = None
            run(x, chosen, w, v).backward()
        found.append([w.grad.cpu().numpy(), v.grad.cpu().numpy()])
    for want, got in zip(*found):
        np.testing.assert_allclose(got, want, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("ends", [[5, 3, 8], [2, 4, 11], [-1, 4, 6]], ids=str)
@pytest.mark.parametrize("form", ["rows", "columns", "depth"])
def test_ends_that_do_not_rise(form, ends):
    x, y = FORMS[form](10, 3)
    offs = ingot.tensor(ends, dtype=ingot.int32)
    with pytest.raises(ShapeError, match="offs must rise to at most 10"):
        F.grouped_mm(x, y, offs=offs)
    got = F.grouped_mm(x.cuda(), y.cuda(), offs=offs.cuda())
    with pytest.raises(ArgumentError, match=r"grouped_mm: offs must rise to at most .*, on cuda:0"):
        got.cpu()
    assert F.grouped_mm(x.cuda(), y.cuda(), offs=ingot.tensor([2, 4, 10], dtype=ingot.int32).cuda()).cpu().isfinite().all()
