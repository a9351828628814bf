"""Errors that a traced function catches: their messages are those of eager code for the sizes of each call."""

import contextlib

import pytest

import ingot
from ingot import jit, nn
from ingot.nn import functional as F

ROWS = {
    "matmul": lambda x: x @ ingot.ones(3, 3),
    "add": lambda x: x + ingot.ones(3),
    "view": lambda x: x.view(7, -1),
    "reshape": lambda x: x.reshape(1000),
    "expand": lambda x: x.expand(3, 3),
    "cat": lambda x: ingot.cat([x, ingot.ones(1, 3)], 0),
    "index": lambda x: x[100],
    "select": lambda x: x.select(0, 100),
    "narrow": lambda x: x.narrow(0, 0, 100),
    "conv": lambda x: F.conv2d(x, ingot.ones(3, 3, 3, 3)),
    "item": lambda x: x.item(),
    "bool": lambda x: bool(x),
    "float": lambda x: float(x),
    "linear": lambda x: F.linear(x, ingot.ones(3, 3)),
    "split": lambda x: x.split([1, 2]),
    "transpose": lambda x: x.transpose(0, 5),
    "sum": lambda x: x.sum(7),
    "gather": lambda x: x.gather(0, ingot.zeros(3, 3, 3, dtype=ingot.int64)),
    "state": lambda x: nn.Linear(2, 2).load_state_dict({"weight": x, "bias": ingot.ones(2)}),
    "layer norm": lambda x: F.layer_norm(x, (9,)),
    "stack": lambda x: ingot.stack([x, ingot.ones(3)]),
    "windows": lambda x: x.unfold(0, 100, 1),
    "written": lambda x: x.add_(ingot.ones(9, 9, 9)),
    "unpacked": lambda x: (lambda a, b: a)(*x),
    "batch norm": lambda x: nn.BatchNorm1d(5)(x),
    "attention": lambda x: F.scaled_dot_product_attention(x, x, ingot.ones(3, 3)),
    "cross entropy": lambda x: F.cross_entropy(x, ingot.ones(3, dtype=ingot.int64)),
    "pool": lambda x: F.max_pool2d(x, 2),
    "einsum": lambda x: ingot.einsum("ij,jk->ik", x, ingot.ones(3, 3)),
    "backward": lambda x: (x * ingot.ones(2, requires_grad=True)).backward(),
}


def _told(function, x):
    try:
        function(x)
    except Exception as error:
        return x.sum(), str(error)
    return x.sum(), ""


def _by_manager(function, x):
    with contextlib.suppress(Exception):
        function(x)
        return x.sum(), ""
    try:
        function(x)
    except RuntimeError as error:
        return x.sum(), error.args[0]
    except Exception as error:
        return x.sum(), repr(error)
    return x.sum(), ""


@pytest.mark.filterwarnings("ignore::ingot.jit.TracerWarning")
@pytest.mark.parametrize("caught", [_told, _by_manager])
@pytest.mark.parametrize("name", ROWS)
def test_messages_have_the_sizes_of_their_call(name, caught):
    run = jit.trace(lambda x: caught(ROWS[name], x))
    for n in (4, 5, 6, 7, 4):
        x = ingot.ones(n, 2)
        (_, want), (total, text) = caught(ROWS[name], x), run(x)
        assert (text, total.item()) == (want, 2 * n), n


@pytest.mark.filterwarnings("error::ingot.jit.TracerWarning")
def test_a_handler_that_nothing_reaches_fixes_no_sizes():
    def function(x):
        try:
            return (x * x.shape[0]).sum()
        except RuntimeError as error:
            return str(error)

    run = jit.trace(function)
    for n in range(2, 9):
        assert run(ingot.ones(n, 2)).item() == 2 * n * n
    assert run.stats()["compiles"] <= 2


def test_an_error_that_leaves_the_function_is_that_of_eager_code():
    run = jit.trace(lambda x: F.layer_norm(x, (9,)))
    for n in (4, 5, 6):
        with pytest.raises(RuntimeError) as want:
            F.layer_norm(ingot.ones(n, 2), (9,))
        with pytest.raises(RuntimeError) as got:
            run(ingot.ones(n, 2))
        assert str(got.value) == str(want.value)
