"""Indices out of range: an exported model refuses what eager mode refuses, and gives what it gives, for each operator
with indices.

Models are loaded from files, and run as C libraries (a slow test).
"""

import ctypes

import numpy as np
import pytest

import ingot
from c_misuse import needs_linux_x86, tensors
from ingot import jit
from ingot.ir.errors import IngotError

F = ingot.nn.functional
X = ingot.arange(12.0).reshape(4, 3)
V = ingot.arange(1.0, 7.0).reshape(2, 3)
ROW, ROWS = ingot.tensor([0, 2]), ingot.tensor([[0, 2, 1], [1, 0, 2]])
CLASSES = ingot.tensor([0, 2, 1, 0])
ENTRIES = ingot.tensor([1.0, 2.0, 3.0])
STARTS, COLUMNS = ingot.tensor([0, 1, 2, 3]), ingot.tensor([1, 5, 0])
PIVOTS = ingot.tensor([1, 2, 3], dtype=ingot.int32)
MATRIX = X[:3] + 5 * ingot.eye(3)


def written(x, i, v):
    x = x.clone()
    x[i] = v
    return x


# name -> (function of indices and floats, indices, floats, size that indices are for)
CASES = {
    "x[i]": (lambda i, x: x[i], ROW, X, 4),
    "x[:, i]": (lambda i, x: x[:, i], ROW, X, 3),
    "x[i, j]": (lambda i, x: x[i, ingot.tensor([0, 1])], ROW, X, 4),
    "x[i] of int32": (lambda i, x: x[i.int()], ROW, X, 4),
    "index_select": (lambda i, x: x.index_select(0, i), ROW, X, 4),
    "gather": (lambda i, x: x.gather(0, i), ROWS, X, 4),
    "take": (lambda i, x: x.take(i), ROWS, X, 12),
    "take_along_dim": (lambda i, x: ingot.take_along_dim(x, i, 0), ROWS, X, 4),
    "scatter": (lambda i, x: x.scatter(0, i, V), ROWS, X, 4),
    "scatter a number": (lambda i, x: x.scatter(0, i, 2.0), ROWS, X, 4),
    "scatter_add": (lambda i, x: x.scatter_add(0, i, V), ROWS, X, 4),
    "scatter_reduce": (lambda i, x: x.scatter_reduce(0, i, V, "amax"), ROWS, X, 4),
    "index_add": (lambda i, x: x.index_add(0, i, V), ROW, X, 4),
    "index_copy": (lambda i, x: x.index_copy(0, i, V), ROW, X, 4),
    "index_fill": (lambda i, x: x.index_fill(0, i, 1.0), ROW, X, 4),
    "index_reduce": (lambda i, x: x.index_reduce(0, i, V, "prod"), ROW, X, 4),
    "index_put": (lambda i, x: x.index_put((i,), V), ROW, X, 4),
    "index_put, summed": (lambda i, x: x.index_put((i,), V, accumulate=True), ROW, X, 4),
    "put": (lambda i, x: x.put(i, V), ROWS, X, 12),
    "x[i] = v": (lambda i, x: written(x, i, V), ROW, X, 4),
    "embedding": (lambda i, x: F.embedding(i, x), ROW, X, 4),
    "embedding_bag": (lambda i, x: F.embedding_bag(i, x), ROWS, X, 4),
    "embedding_bag, offsets": (lambda i, x: F.embedding_bag(ingot.tensor([0, 1, 2]), x, i), ROW, X, 3),
    "one_hot": (lambda i: F.one_hot(i, 5), ROW, None, 5),
    "nll_loss": (lambda i, x: F.nll_loss(x, i), CLASSES, X, 3),
    "cross_entropy": (lambda i, x: F.cross_entropy(x, i), CLASSES, X, 3),
    "linear_cross_entropy": (lambda i, x: F.linear_cross_entropy(x, ingot.ones(5, 3), i), CLASSES, X, 5),
    "multi_margin_loss": (lambda i, x: F.multi_margin_loss(x, i), CLASSES, X, 3),
    "multilabel_margin_loss": (lambda i, x: F.multilabel_margin_loss(x, i), ingot.tensor([[0, 2, -1]] * 4), X, 3),
    "ctc_loss": (lambda i, x: F.ctc_loss(x.log_softmax(-1).reshape(4, 1, 3), i, (4,), (2,)), ingot.tensor([[1, 2]]), X, 3),
    "unravel_index": (lambda i: ingot.unravel_index(i, (4, 3)), ROW, None, 12),
    "max_unpool1d": (lambda i, x: F.max_unpool1d(x.reshape(1, 4, 3), i, 2), ingot.tensor([[[0, 2, 4]] * 4]), X, 6),
    "max_unpool2d": (lambda i, x: F.max_unpool2d(x.reshape(1, 4, 3), i, 2), ingot.tensor([[[0, 2, 4]] * 4]), X, 48),
    "max_unpool3d": (lambda i, x: F.max_unpool3d(x.reshape(1, 1, 4, 3), i, 2), ingot.tensor([[[[0, 2, 4]] * 4]]), X, 96),
    "lu_solve": (lambda i, x: ingot.linalg.lu_solve(MATRIX, i, x[:3]), PIVOTS, X, 4),
    "lu_unpack": (lambda i: ingot.lu_unpack(MATRIX, i), PIVOTS, None, 4),
    "ldl_solve": (lambda i, x: ingot.linalg.ldl_solve(MATRIX, i, x[:3]), PIVOTS, X, 4),
    "grouped_mm": (lambda i, x: F.grouped_mm(x, ingot.ones(2, 3, 2), offs=i), ingot.tensor([2, 4], dtype=ingot.int32), X, 4),
    "coo": (lambda i, v: ingot.sparse_coo_tensor(i, v, (7, 6)).to_dense(), ingot.tensor([[0, 2, 6], [1, 5, 0]]), ENTRIES, 6),
    "coo @": (lambda i, v: ingot.sparse_coo_tensor(i, v, (7, 6)) @ ingot.ones(6, 2), ingot.tensor([[0, 2, 6], [1, 5, 0]]),
              ENTRIES, 6),
    "csr": (lambda i, v: ingot.sparse_csr_tensor(STARTS, i, v, (3, 6)).to_dense(), COLUMNS, ENTRIES, 6),
    "csr @": (lambda i, v: ingot.sparse_csr_tensor(STARTS, i, v, (3, 6)) @ ingot.ones(6, 2), COLUMNS, ENTRIES, 6),
    "csr, starts": (lambda i, v: ingot.sparse_csr_tensor(i, COLUMNS, v, (3, 6)).to_dense(), STARTS, ENTRIES, 4),
    "csc": (lambda i, v: ingot.sparse_csc_tensor(STARTS, i, v, (6, 3)).to_dense(), COLUMNS, ENTRIES, 6),
    "bsr": (lambda i, v: ingot.sparse_bsr_tensor(ingot.tensor([0, 1, 2]), i, v, (4, 6)).to_dense(), ingot.tensor([1, 0]),
            ingot.ones(2, 2, 2), 3),
    "bsc": (lambda i, v: ingot.sparse_bsc_tensor(ingot.tensor([0, 1, 2]), i, v, (6, 4)).to_dense(), ingot.tensor([1, 0]),
            ingot.ones(2, 2, 2), 3),
}
# Operators without native code, which C libraries refuse by name.
NO_C = {"lu_solve", "lu_unpack", "ldl_solve", "embedding_bag, offsets", "nll_loss", "ctc_loss", "grouped_mm", "coo", "csr",
        "csr, starts", "csc", "bsr", "bsc"}


def listed(results) -> list:
    return [r.numpy() for r in (results if isinstance(results, (tuple, list)) else (results,))]


def arguments(name):
    """Yield the arguments of calls with one index replaced, the first or the last: some in range, some not."""
    _, indices, floats, size = CASES[name]
    for at in (0, -1):
        for value in (-1, -size, -size - 1, size - 1, size, 1 << 30):
            changed = indices.numpy().copy()
            changed.reshape(-1)[at] = value
            yield value, [changed] if floats is None else [changed, floats.numpy()]


def result_of(function, arrays):
    """Return the results of a call, or None where it is refused."""
    try:
        return listed(function(*map(ingot.from_numpy, arrays)))
    except (IngotError, IndexError, RuntimeError):
        return None


def check(name, model):
    """Compare a model with eager mode."""
    function, wrong = CASES[name][0], []
    for value, arrays in arguments(name):
        want, got = result_of(function, arrays), model(arrays)
        if (want is None) != (got is None):
            wrong.append(f"{value}: eager {'refuses' if want is None else want}, the model {'refuses' if got is None else got}")
        elif want is not None:
            for a, b in zip(want, got):
                np.testing.assert_allclose(b, a, rtol=1e-5, err_msg=f"{name} {value}")
    assert not wrong, "\n".join(wrong)


def example(name) -> tuple:
    _, indices, floats, _ = CASES[name]
    return (indices,) if floats is None else (indices, floats)


@pytest.mark.parametrize("name", CASES)
def test_files_refuse_what_eager_mode_refuses(name, tmp_path):
    model = jit.export(CASES[name][0], example(name), tmp_path / "model.ingot", targets=())
    check(name, lambda arrays: result_of(model, arrays))


@pytest.mark.slow
@needs_linux_x86
@pytest.mark.parametrize("name", [name for name in CASES if name not in NO_C])
def test_c_libraries_refuse_what_eager_mode_refuses(name, tmp_path):
    library = ctypes.CDLL(jit.to_c(CASES[name][0], example(name), tmp_path / "model").shared)

    def run(arrays):
        outs = [np.zeros(r.shape, r.dtype) for r in listed(CASES[name][0](*example(name)))]
        code = library.model_run(tensors([np.ascontiguousarray(a) for a in arrays]), tensors(outs))
        assert code in (0, 5), code
        return None if code else outs

    check(name, run)
