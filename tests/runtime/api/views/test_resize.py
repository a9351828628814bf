"""Shapes set in place, against a model in NumPy: memory from the first element on, in the new shape, then zeros."""

import numpy as np
import pytest

import ingot
from ingot import jit

LAST = ingot.channels_last
VIEWS = {       # of a vector of 24 elements: offset, and number of elements in memory from there
    "all": (lambda z: z, 0),
    "a part": (lambda z: z[4:10], 4),
    "every second": (lambda z: z[1::2], 1),
    "columns": (lambda z: z.view(6, 4).t(), 0),
    "a column": (lambda z: z.view(6, 4)[:, 3], 3),
    "repeated": (lambda z: z[5:6].expand(7), 5),
    "a part of a part that was detached": (lambda z: z[4:].detach()[2:6], 6),
    "a parameter over a part": (lambda z: ingot.nn.Parameter(z[4:10], requires_grad=False), 4)}
SHAPES = [((3,), None), ((2, 5), None), ((30,), None), ((), None), ((0, 4), None), ((1, 2, 3, 2), LAST), ((2, 3, 2, 2), LAST),
          ((2, 3, 2, 4), LAST)]


def expected(start, shape, memory_format, size=24):
    n = int(np.prod(shape))
    found = np.zeros(n, np.float32)
    known = np.arange(size, dtype=np.float32)[start:start + n]
    found[:len(known)] = known
    if memory_format is None:
        return found.reshape(shape)
    images, channels, *rest = shape
    return np.moveaxis(found.reshape(images, *rest, channels), -1, 1)


@pytest.mark.parametrize("traced", [False, True])
@pytest.mark.parametrize("case", VIEWS)
def test_the_memory_from_here_on_under_another_shape(case, traced):
    view, start = VIEWS[case]
    for shape, memory_format in SHAPES:
        def resized(z, shape=shape, memory_format=memory_format):
            x = view(z * 1)
            x.resize_(shape, memory_format=memory_format)
            return x * 1

        run = jit.trace(resized) if traced else resized
        for _ in range(1 + 2 * traced):
            found, wanted = run(ingot.arange(24.0)), expected(start, shape, memory_format)
            assert found.shape == shape and (found.numpy() == wanted).all(), (shape, memory_format)
            if memory_format is not None:
                assert found.is_contiguous(memory_format=LAST)


def test_shapes_that_fit_reuse_the_memory():
    z = ingot.arange(10.0)
    part = z[2:4]
    part.resize_(2, 3).fill_(-1)
    assert z.tolist() == [0, 1, *[-1] * 6, 8, 9] and part.storage_offset() == 2
    assert part._base is z
    part.resize_(12).fill_(5)
    assert z.tolist() == [0, 1, *[-1] * 6, 8, 9] and part.storage_offset() == 0


def test_tensors_with_views_become_no_views():
    """A new shape in place turns a tensor with views into no view itself."""
    given_data = lambda y: setattr(x := ingot.empty(0), "data", y) or x
    for over in (lambda y: y.detach(), lambda y: ingot.empty(0).set_(y), given_data):
        y = ingot.arange(6.0).reshape(2, 3).clone()
        row, x = y[0], over(y)
        x.t_()
        assert x._base is None and not x._is_view() and row._base is y
        x.fill_(3)
        assert row.tolist() == [3, 3, 3]


@pytest.mark.parametrize("traced", [False, True])
def test_cut_off_elements_return_when_grown(traced):
    def shrink_and_grow(z):
        x = z * 1
        x.resize_(4)
        x.resize_(2, 6)
        return x * 1

    run = jit.trace(shrink_and_grow) if traced else shrink_and_grow
    for _ in range(3):
        assert run(ingot.arange(10.0)).tolist() == [[0, 1, 2, 3, 4, 5], [6, 7, 8, 9, 0, 0]]


@pytest.mark.parametrize("memory_format, template, strides", [
    (None, (2, 3, 2, 2), (12, 4, 2, 1)), (ingot.contiguous_format, (2, 3, 2, 2), (12, 4, 2, 1)),
    (LAST, (2, 3, 2, 2), (12, 1, 6, 3)), (ingot.preserve_format, (2, 3, 2, 2), (12, 1, 6, 3)),
    (ingot.preserve_format, (2, 12), (12, 1))], ids=str)
def test_the_shape_and_order_of_a_template(memory_format, template, strides):
    like = ingot.zeros(template)
    like = like.to(memory_format=LAST) if like.ndim == 4 else like
    x = ingot.arange(24.0)
    x.resize_as_(like, memory_format=memory_format)
    assert x.shape == template and x.stride() == strides
    assert x.as_strided((24,), (1,)).tolist() == list(range(24))


def test_wrong_resizes_raise():
    with pytest.raises(RuntimeError, match="preserve_format"):
        ingot.zeros(24).resize_(2, 3, 2, 2, memory_format=ingot.preserve_format)
    with pytest.raises(RuntimeError, match="4 dimensions"):
        ingot.zeros(24).resize_(24, memory_format=LAST)
    with pytest.raises(RuntimeError, match="requires grad"):
        ingot.zeros(4, requires_grad=True).resize_(2)


# Other bits.

ROWS = {
    "rows in another order": lambda z: z.view(2, 4, 8).transpose(0, 1),
    "parts of rows": lambda z: z.view(2, 4, 8)[:, 1:, 2:6],
    "one row, repeated": lambda z: z[:8].expand(3, 8),
    "rows from behind": lambda z: z.view(8, 8)[::2],
    "a column of one": lambda z: z.view(64, 1)[::2]}


@pytest.mark.parametrize("traced", [False, True])
@pytest.mark.parametrize("dtype", [ingot.uint8, ingot.int16, ingot.int32, ingot.float64, ingot.complex64], ids=str)
@pytest.mark.parametrize("case", ROWS)
def test_bits_of_rows_that_lie_apart(case, dtype, traced):
    view = ROWS[case]
    given = np.random.default_rng(3).standard_normal(64).astype(np.float32)
    rows = view(ingot.tensor(given))
    if rows.shape[-1] * 4 % dtype.itemsize:
        pytest.skip("no whole elements")
    wanted = np.ascontiguousarray(rows.numpy()).view(dtype.np)
    if not traced:
        seen = rows.view(dtype)
        assert seen.data_ptr() == rows.data_ptr() and (seen.numpy() == wanted).all()
        steps = [s * 4 // dtype.itemsize for s in rows.stride()[:-1]]
        assert all(n == 1 or s == t for n, s, t in zip(seen.shape, seen.stride(), steps))
        return
    run = jit.trace(lambda z: view(z * 1).view(dtype) * 1)
    for _ in range(2):
        assert (run(ingot.tensor(given)).numpy() == wanted * 1).all()


@pytest.mark.parametrize("view", [
    lambda z: z.view(4, 4).t(), lambda z: z[1:], lambda z: z[:15].view(3, 5)[:, :4], lambda z: z[0]],
    ids=["columns", "from the middle of an element", "rows of odd sizes", "a number"])
def test_bits_that_are_no_whole_elements(view):
    with pytest.raises(RuntimeError, match=r"changes the element size|whole element"):
        view(ingot.zeros(16)).view(ingot.float64)


def test_results_that_are_written_over_memory_with_gaps():
    out = ingot.from_numpy(np.zeros(8, np.float32)[::2])
    assert ingot.add(ingot.ones(2), 1, out=out) is out and out.tolist() == [2, 2]
    with pytest.raises(RuntimeError, match="has gaps"):
        ingot.from_numpy(np.zeros(8, np.float32)[::2]).resize_(2)


def test_results_that_are_written_into_memory_of_another_size():
    out = ingot.arange(6.0)
    for n in (2, 5, 9):
        x = ingot.ones(n)
        for add in (ingot.add, jit.trace(lambda x, y, *, out: ingot.add(x, y, out=out))):
            add(x, x, out=out)
            assert out.tolist() == [2] * n
            out.resize_(1)
