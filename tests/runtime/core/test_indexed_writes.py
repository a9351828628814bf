"""Indexed writes in place: they write the named elements, copy nothing else, keep histories, and do nothing for a wrong index.
"""

import numpy as np
import pytest

import ingot
from ingot.ir.errors import DimError
from ingot.ir.ops.index import indexing
from ingot.runtime.core import dispatch
from ingot.runtime.core.inplace import SMALL

ROWS, WIDTH = 700, 6
AT = ingot.tensor([3, 0, 41, 7])
PLACES = ingot.tensor([[3, 0, 41, 7, 1, 2], [4, 4, 3, 0, 0, 9]])
assert ROWS * WIDTH >= SMALL        # (less is copied)

def at(x):
    """Return positions on the device of a tensor."""
    return AT.to(x.device)


def places(x):
    """Return places on the device of a tensor."""
    return PLACES.to(x.device)


# name: (method, its arguments for values of the given shape, that shape)
UPDATES = {
    "index_put_": (lambda x, v: x.index_put_((at(x),), v), (4, WIDTH)),
    "index_put_, added": (lambda x, v: x.index_put_((at(x),), v, accumulate=True), (4, WIDTH)),
    "index_put_ of two dims": (lambda x, v: x.index_put_((at(x), at(x) % WIDTH), v), (4,)),
    "index_put_ of two dims, added": (lambda x, v: x.index_put_((at(x), at(x) % WIDTH), v, accumulate=True), (4,)),
    "x[i] = v": (lambda x, v: x.__setitem__(at(x), v), (4, WIDTH)),
    "x[i] = one row": (lambda x, v: x.__setitem__(at(x), v), (WIDTH,)),
    "index_copy_": (lambda x, v: x.index_copy_(0, at(x), v), (4, WIDTH)),
    "index_copy_ of columns": (lambda x, v: x.index_copy_(1, at(x)[:2], v), (ROWS, 2)),
    "index_add_": (lambda x, v: x.index_add_(0, at(x), v), (4, WIDTH)),
    "index_add_ of many": (lambda x, v: x.index_add_(0, at(x).repeat(30), v), (120, WIDTH)),
    "index_add_ of columns": (lambda x, v: x.index_add_(1, at(x)[:2], v, alpha=2), (ROWS, 2)),
    "put_": (lambda x, v: x.put_(at(x) * 5 - 9, v), (4,)),
    "put_, added": (lambda x, v: x.put_(at(x) * 5 - 9, v, accumulate=True), (4,)),
    "scatter_": (lambda x, v: x.scatter_(0, places(x)[:1], v), (1, WIDTH)),
    "scatter_, added": (lambda x, v: x.scatter_(0, places(x), v, reduce="add"), (2, WIDTH)),
    "scatter_add_": (lambda x, v: x.scatter_add_(0, places(x), v), (2, WIDTH)),
    "scatter_add_ of many": (lambda x, v: x.scatter_add_(0, places(x).repeat(200, 1), v), (400, WIDTH)),
    "scatter_reduce_, amax": (lambda x, v: x.scatter_reduce_(0, places(x), v, "amax"), (2, WIDTH)),
    "scatter_reduce_, prod of what comes": (
        lambda x, v: x.scatter_reduce_(0, places(x), v, "prod", include_self=False), (2, WIDTH)),
}
WITHOUT_HISTORIES = ("scatter_reduce_, amax", "scatter_reduce_, prod of what comes")
DTYPES = (ingot.float32, ingot.float64, ingot.int64, ingot.int32)
OPERATORS = (indexing.index_put, indexing.scatter, indexing.scatter_reduce)


def _operands(shape, dtype=ingot.float32):
    rng = np.random.default_rng(3)
    return (ingot.from_numpy(rng.integers(-9, 9, (ROWS, WIDTH))).to(dtype),
            ingot.from_numpy(rng.integers(-9, 9, shape)).to(dtype))


@pytest.fixture
def kernels(monkeypatch):
    """Count the kernels of updates, which make a copy."""
    called = []
    for op in OPERATORS:
        plain = dispatch.kernel_of(op)
        monkeypatch.setitem(dispatch.KERNELS, op, lambda *a, _plain=plain, _op=op, **k: called.append(_op) or _plain(*a, **k))
    return called


def _out_of_place(update, x, v):
    """Return the result of an update that cannot write over its operand, which is strided."""
    across = ingot.empty(x.shape[::-1], dtype=x.dtype).t().copy_(x)
    update(across, v)
    return across


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
@pytest.mark.parametrize("name", UPDATES)
def test_writes_equal_the_form_out_of_place_without_a_copy(name, dtype, kernels):
    update, shape = UPDATES[name]
    x, v = _operands(shape, dtype)
    want = _out_of_place(update, x, v)
    assert kernels or "=" in name
    kernels.clear()
    x = x.clone()
    before, array = x._version, x._a
    update(x, v)
    assert x._a is array and x._version > before and not kernels
    assert ingot.equal(x, want)


@pytest.mark.parametrize("name", [n for n in UPDATES if n not in WITHOUT_HISTORIES])
def test_values_with_histories(name, kernels):
    update, shape = UPDATES[name]
    x, v = _operands(shape)
    weights = ingot.arange(1.0, ROWS * WIDTH + 1).reshape(ROWS, WIDTH)
    found = []
    for target in (x.clone(), ingot.empty(WIDTH, ROWS).t().copy_(x)):
        kernels.clear()
        leaf = v.clone().requires_grad_()
        update(target, leaf * 1)
        assert bool(kernels) == (not target.is_contiguous())
        assert target.requires_grad
        (target * weights).sum().backward()
        found.append((target.detach(), leaf.grad))
    assert ingot.equal(found[0][0], found[1][0]) and ingot.equal(found[0][1], found[1][1])


WRONG = {
    "index_put_": lambda x: x.index_put_((ingot.tensor([0, ROWS]),), ingot.ones(2, WIDTH)),
    "index_put_, added": lambda x: x.index_put_((ingot.tensor([0, ROWS]),), ingot.ones(2, WIDTH), accumulate=True),
    "index_add_ of many": lambda x: x.index_add_(0, ingot.tensor([0] * 99 + [ROWS]), ingot.ones(100, WIDTH)),
    "scatter_": lambda x: x.scatter_(0, PLACES + ROWS - 1, ingot.ones(2, WIDTH)),
    "scatter_ of many": lambda x: x.scatter_(0, ingot.full((ROWS, WIDTH), ROWS).index_fill_(0, AT, 0), ingot.ones(ROWS, WIDTH)),
}


@pytest.mark.parametrize("name", WRONG)
def test_nothing_is_written_where_an_index_is_wrong(name):
    x = ingot.zeros(ROWS, WIDTH)
    with pytest.raises(DimError):
        WRONG[name](x)
    assert not x.any()


OVERLAPS = {
    "rows of itself": (lambda x: x.index_copy_(0, ingot.tensor([1, 2, 3], device=x.device), x[:3]),
                       lambda a: a.__setitem__(slice(1, 4), a[:3].copy())),
    "an index in itself": (lambda x: x.view(-1).scatter_(0, x.view(-1)[:5],
                                                         ingot.tensor([9, 8, 7, 6, 5], device=x.device)),
                           lambda a: a.reshape(-1).__setitem__(a.reshape(-1)[:5].copy(), [9, 8, 7, 6, 5])),
    "itself added": (lambda x: x.index_add_(0, ingot.tensor([1, 1], device=x.device), x[:2]),
                     lambda a: a.__setitem__(1, a[0] + 2 * a[1])),
}


@pytest.mark.parametrize("name", OVERLAPS)
def test_overlapping_sources_are_read_first(name):
    update, wanted = OVERLAPS[name]
    a = np.arange(ROWS * WIDTH).reshape(ROWS, WIDTH)
    a.reshape(-1)[:5] = [4, 3, 2, 1, 0]
    x = ingot.from_numpy(a.copy())
    update(x)
    wanted(a)
    assert (x.numpy() == a).all()


def test_sums_of_narrow_floats_round_once():
    x = ingot.ones(8, dtype=ingot.bfloat16) * 256
    x.index_add_(0, ingot.zeros(8, dtype=ingot.int64), ingot.ones(8, dtype=ingot.bfloat16))
    assert x.tolist() == [264.0] + [256.0] * 7


def test_a_view_and_its_base_see_the_write():
    base = ingot.zeros(4, 6)
    part = base[1:3]
    v = ingot.ones(6, requires_grad=True)
    part[ingot.tensor([1])] = v * 3
    assert base.sum() == 18 and base.requires_grad and part.requires_grad
    base.sum().backward()
    assert v.grad.tolist() == [3.0] * 6
