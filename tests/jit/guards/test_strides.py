"""Traced functions of parts of larger tensors: strides are free, unless the function reads them."""

import warnings

import pytest

import ingot
from ingot import jit

WIDE = [ingot.arange(4.0 * width).reshape(4, width) for width in range(3, 12)]
CUBES = [ingot.arange(24.0 * n).reshape(2, 3, 4 * n) for n in range(2, 9)]
LONG = ingot.arange(64.0)
PAIRS, COLUMNS, BLOCKS = [w[:, :2] for w in WIDE], [w[:, -1:] for w in WIDE], [c[:, :, :4] for c in CUBES]
PARTS = [LONG[k:k + 4] for k in (0, 2, 5, 9)]

FREE = {        # function, arguments of its calls, recordings
    "a column": (lambda x: x * 2 + 1, COLUMNS, 1),
    "a column without its dim": (lambda x: x * 2, [w[:, 1] for w in WIDE], 1),
    "some columns": (lambda x: (x + 1).sum(1), PAIRS, 1),
    "reshaped": (lambda x: x.reshape(-1) + 1, PAIRS, 1),
    "merged dims": (lambda x: x.reshape(6, 4) + 1, BLOCKS, 1),
    "a view of merged dims": (lambda x: x.view(6, 4) + 1, BLOCKS, 1),
    "other bits": (lambda x: x.view(ingot.int32), PAIRS, 1),
    "every k-th": (lambda x: x * 2, [LONG[::k][:4] for k in (1, 2, 3, 4, 5, 6)], 2),
    "a part, from anywhere": (lambda x: x * 2, PARTS, 1),
    "columns or all": (lambda x: x * (2 if x.is_contiguous() else 3), [*PAIRS, ingot.ones(4, 2), ingot.ones(4, 2)], 2),
    "a window in a copy of a window, or in the window itself": (
        lambda x: (x * 1).as_strided((3, 3), (x.shape[1], 1), 1).contiguous().as_strided((2, 3), (3, 1), 2) + 1, WIDE[::-1], 3),
    "strides of what is made inside": (lambda x: x + (x * 1).repeat(1, 3)[:, :2].stride(0), PAIRS, 1)}

ASKED = {
    "strides": (lambda x: x * x.stride(0), PAIRS),
    "strides of a view": (lambda x: x * x[1:].stride(0), PAIRS),
    "a window by its own strides": (lambda x: ingot.as_strided(x, (2, 2), x.stride()), PAIRS),
    "where it begins": (lambda x: x * x.storage_offset(), PARTS),
    "where a view begins": (lambda x: x * x[1:].storage_offset(), PARTS),
    "where a view begins among sizes": (lambda x: x.sum() * (x + 1)[x.shape[0] // 2:].storage_offset(),
                                        [LONG[:n] for n in (4, 5, 7, 9, 12)]),
    "where a row begins": (lambda x: x.sum() * (x * 2)[1].storage_offset(), [w.clone() for w in WIDE]),
    "a window from where it begins": (lambda x: ingot.as_strided(x, (2,), (1,)), PARTS)}


def check(traced, fn, x):
    found, wanted = traced(x), fn(x)
    assert found.shape == wanted.shape and found.dtype is wanted.dtype and (found == wanted).all()


@pytest.mark.parametrize("case", FREE)
def test_strides_need_no_new_recording(case):
    fn, calls, recordings = FREE[case]
    traced = jit.trace(fn)
    with warnings.catch_warnings(action="error"):       # as when compiled code fails, and the function runs as it is
        for x in calls:
            check(traced, fn, x)
    assert traced.stats()["compiles"] == recordings


@pytest.mark.parametrize("case", ASKED)
def test_strides_that_are_read_are_guarded(case):
    fn, calls = ASKED[case]
    traced = jit.trace(fn)
    for x in calls * 2:
        check(traced, fn, x)
    assert traced.stats()["compiles"] == len(calls)


@pytest.mark.parametrize("fn", [lambda x: x.mul_(1.5), lambda x: x.reshape(8).mul_(2)], ids=["in place", "through a reshape"])
def test_parts_are_written_in_place(fn):
    traced = jit.trace(fn)
    for w in WIDE:
        eager, other = w.clone(), w.clone()
        fn(eager[:, :2]), traced(other[:, :2])
        assert (eager == other).all()
    assert traced.stats()["compiles"] == 1


def test_captured_parts():
    kept = {"x": PAIRS[0]}
    traced = jit.trace(lambda y: kept["x"] * y)
    for kept["x"] in PAIRS:
        assert (traced(ingot.ones(1)) == kept["x"]).all()
    kept["x"] = ingot.ones(4, 2)
    assert (traced(ingot.ones(1)) == 1).all()


def test_a_decoder_of_several_rows_is_recorded_a_few_times():
    embed, head = ingot.nn.Embedding(11, 8), ingot.nn.Linear(8, 11)
    traced = jit.trace(lambda last: head(embed(last)).argmax(-1))
    ids = ingot.randint(0, 11, (3, 4))
    for _ in range(12):
        following = traced(ids[:, -1:])
        assert (following == head(embed(ids[:, -1:])).argmax(-1)).all()
        ids = ingot.cat([ids, following], 1)
    assert traced.stats()["compiles"] == 1


def laid(t):
    """Return the strides along dims that have several elements."""
    return [step for n, step in zip(t.shape, t.stride()) if n > 1]


@pytest.mark.parametrize("fn", [
    lambda x: x.t() * 2, lambda x: (x * 2).t(), lambda x: (x @ x.mT).mT, lambda x: ingot.softmax(x, 0).t(),
    lambda x: (x * 2, x.t() * 2)[1], lambda x: ingot.zeros_like(x.t())])
@pytest.mark.parametrize("sizes", [
    ((1, 4), (5, 4)), ((3, 4), (1, 4), (5, 4)), ((5, 1), (1, 1), (1, 4), (5, 4)), ((1, 1), (2, 2), (3, 5))])
def test_sizes_of_1_do_not_decide_the_strides_of_results(fn, sizes):
    traced = jit.trace(fn)
    for shape in sizes * 3:
        for x in (ingot.ones(*shape), ingot.ones(*shape[::-1]).t()):
            assert laid(traced(x)) == laid(fn(x)), (shape, x.stride())


@pytest.mark.parametrize("fn", [lambda x: ingot.fft.rfft(x, dim=1), ingot.fft.fft, lambda x: ingot.fft.ifft(x * 1j),
                                lambda x: x.sort(1)[0]])
@pytest.mark.parametrize("lies", [lambda n: ingot.arange(4.0).expand(n, 4), lambda n: ingot.arange(4.0 * n).reshape(4, n).t(),
                                  lambda n: ingot.arange(8.0 * n).reshape(n, 8)[:, ::2]])
def test_results_without_a_native_call_are_row_major(fn, lies):
    traced = jit.trace(fn)
    for n in (4, 7, 7, 5, 5):
        assert laid(traced(lies(n))) == laid(fn(lies(n)))


@pytest.mark.parametrize("clears", [False, True])
@pytest.mark.parametrize("fn", [lambda w, x: w.t() * 2, lambda w, x: x[:, :4] @ w.t(), lambda w, x: (w.mT + 1).t(),
                                lambda w, x: w.t().expand(2, 4, 3)])
def test_gradients_are_row_major_from_the_first_call_on(fn, clears):
    w = ingot.ones(3, 4).requires_grad_()
    traced = jit.trace(lambda x: fn(w, x).sum().backward())
    for _ in range(3):
        w.grad = None if clears else w.grad
        traced(ingot.ones(2, 4))
        assert w.grad.stride() == (4, 1)


def test_gradients_of_a_graph_are_row_major():
    w = ingot.ones(3, 4).requires_grad_()
    (w.t() ** 2).sum().backward(create_graph=True)
    assert w.grad.stride() == (4, 1) and w.grad.requires_grad


@pytest.mark.parametrize(("look", "steps"), [
    (lambda x: x[None], (6, 3, 1)), (lambda x: x[:, None], (3, 3, 1)), (lambda x: x[..., None], (3, 1, 1)),
    (lambda x: x[None, :, None, None], (6, 3, 3, 3, 1)), (lambda x: x[0, None], (3, 1)),
    (lambda x: x[:, None].expand(2, 5, 3), (3, 0, 1))])
def test_steps_over_new_dims(look, steps):
    x = ingot.arange(6.0).reshape(2, 3)
    assert look(x).stride() == jit.trace(lambda x: look(x).stride())(x) == steps
