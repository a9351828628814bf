"""Memoised calls of public functions: same results as the function, for every way to call it, for other values, and for calls
that only look like a known one."""

import gc
import threading
import warnings
import weakref
import zlib

import numpy as np
import pytest

import ingot
import ingot.nn.functional as F
from ingot.ir import config
from ingot.ir.doors import Leaving
from ingot.ir.errors import DimError, IngotError, ShapeError
from ingot.runtime.api import load_rest
from ingot.runtime.api.register.register import FUNCTIONS
from ingot.runtime.core.tensor import Tensor
from ingot.runtime.memo import call_memo, call_recorder
from ingot.runtime.nn.layers import rnn

load_rest()


class P(tuple):
    """A tuple as an operand."""

    def __new__(cls, *items):
        return tuple.__new__(cls, items)


INDEX = np.array([[2, 0, 1, 1], [0, 2, 2, 1]])
# Calls of each memoised function: tuples of ints are the shapes of random tensors, a dictionary is what goes by keyword.
CALLS = {
    "adaptive_avg_pool1d": [((2, 3, 8), 3)], "adaptive_max_pool1d": [((2, 3, 8), 3)],
    "addbmm": [((2, 4), (3, 2, 5), (3, 5, 4))], "addcdiv": [((3, 4), (3, 4), (3, 4))],
    "addcmul": [((3, 4), (3, 4), (3, 4)), ((3, 4), (4,), (3, 1), {"value": 0.5}), ((3, 4), (3, 4), (3, 4), {"value": -0.0})],
    "addmm": [((2, 4), (2, 3), (3, 4)), ((4,), (2, 3), (3, 4), {"beta": 0.5, "alpha": 2.0}),
              ((4,), (2, 3), (3, 4), {"beta": 0})],
    "addmv": [((2,), (2, 3), (3,))], "addr": [((2, 3), (2,), (3,), {"beta": 0.0, "alpha": 0.3})],
    "all": [((3, 4),), ((3, 4), 1, True)], "any": [((3, 4),), ((3, 4), P(0, 1))],
    "amax": [((3, 4), 1), ((3, 4), P(0, 1), True)], "amin": [((3, 4), 1)], "aminmax": [((3, 4), {"dim": 1})],
    "argmax": [((3, 4),), ((3, 4), 1, True)], "argmin": [((3, 4), 0)], "argsort": [((3, 4), 0, True)],
    "avg_pool1d": [((2, 3, 8), 2)], "baddbmm": [((3, 2, 4), (3, 2, 5), (3, 5, 4))], "block_diag": [((2, 2), (3, 1))],
    "broadcast_tensors": [((3, 1), (4,))], "broadcast_to": [((3, 1), P(3, 4))], "bucketize": [((3, 4), (5,))],
    "cartesian_prod": [((3,), (2,))], "cat": [([(2, 3), (4, 3)],), ([(2, 3), (2, 1)], 1)], "cdist": [((3, 4), (5, 4))],
    "chain_matmul": [((2, 3), (3, 4), (4, 2))], "channel_shuffle": [((1, 4, 2, 2), 2)], "chunk": [((6, 4), 3), ((6, 4), 2, -1)],
    "clamp": [((3, 4), -1, 1), ((3, 4), 0.0), ((3, 4), -0.0), ((3, 4), {"max": 0.5}), ((3, 4), (3, 4), (4,))],
    "clamp_max": [((3, 4), 0.5)], "clamp_min": [((3, 4), 0), ((3, 4), (3, 1))],
    "column_stack": [([(3,), (3, 2)],)], "constant_pad_nd": [((2, 3), P(1, 2), 1.5)], "conv1d": [((2, 3, 8), (4, 3, 3), (4,))],
    "conv2d": [((2, 3, 6, 6), (4, 3, 3, 3), None, 1, 1), ((1, 4, 6, 6), (4, 2, 3, 3), {"groups": 2})],
    "conv3d": [((1, 2, 4, 4, 4), (2, 2, 2, 2, 2))], "conv_tbc": [((5, 2, 3), (3, 3, 4), (4,))],
    "conv_transpose1d": [((2, 3, 6), (3, 4, 3))], "conv_transpose2d": [((2, 3, 4, 4), (3, 4, 3, 3), (4,), 2, 1)],
    "conv_transpose3d": [((1, 2, 3, 3, 3), (2, 2, 2, 2, 2))],
    "convolution": [((2, 3, 6, 6), (4, 3, 3, 3), None, P(1, 1), P(1, 1), P(1, 1), False, P(0, 0), 1)],
    "corrcoef": [((3, 5),)], "cosine_similarity": [((3, 4), (3, 4)), ((3, 4), (1, 4), {"dim": -1})],
    "count_nonzero": [((3, 4), 0)], "cov": [((3, 5),)], "cross": [((4, 3), (4, 3), 1)], "cummax": [((3, 4), 1)],
    "cummin": [((3, 4), 1)], "cumprod": [((3, 4), 1)], "cumsum": [((3, 4), 0)], "cumulative_trapezoid": [((3, 4),)],
    "diag": [((3, 3),), ((4,), 1)], "diag_embed": [((2, 3),)], "diagflat": [((3,),)], "diagonal": [((3, 4), 1)],
    "diagonal_scatter": [((3, 4), (3,))], "diff": [((3, 5),)], "dist": [((3, 4), (3, 4), 1)], "dstack": [([(2, 3), (2, 3)],)],
    "einsum": [("ij,kj->ik", (3, 4), (5, 4)), ("bij->ij", (2, 3, 3))], "flatten": [((2, 3, 4), 1), ((2, 3),)],
    "flip": [((3, 4), 0), ((3, 4), P(0, 1))], "fliplr": [((3, 4),)], "flipud": [((3, 4),)], "float_power": [((3, 4), 2)],
    "gather": [((3, 4), 0, INDEX)], "grid_sampler": [((1, 2, 4, 4), (1, 3, 3, 2), 0, 0, False)],
    "group_norm": [((2, 4, 5), 2, (4,), (4,))], "hstack": [([(2, 3), (2, 1)],)],
    "index_add": [((3, 4), 0, INDEX[0], (4, 4))], "index_copy": [((4, 3), 0, np.array([2, 0]), (2, 3))],
    "index_fill": [((3, 4), 0, np.array([2, 0]), 1.5)], "index_select": [((3, 4), 0, INDEX[0])], "inner": [((2, 3), (4, 3))],
    "isclose": [((3, 4), (3, 4), {"atol": 1.0}), ((3, 4), (4,), {"rtol": 2.0, "equal_nan": True})],
    "isin": [((3, 4), (5,)), (INDEX, INDEX[0], {"invert": True})],
    "kron": [((2, 2), (3, 2))], "kthvalue": [((3, 5), 2)], "layer_norm": [((3, 4), P(4), (4,), (4,)), ((3, 4), [4])],
    "ldexp": [((3, 4), INDEX[0])], "lerp": [((3, 4), (3, 4), 0.3), ((3, 4), (3, 4), (3, 4)), ((3, 4), (4,), 0.3)],
    "logcumsumexp": [((3, 4), 1)], "logit": [((3, 4), 0.1)], "logsumexp": [((3, 4), 1), ((3, 4), P(0, 1))],
    "max": [((3, 4),), ((3, 4), 1), ((3, 4), (3, 4))], "max_pool1d": [((2, 3, 8), 2)],
    "max_pool1d_with_indices": [((2, 3, 8), 2)],
    "max_pool2d": [((2, 3, 6, 6), 3, 2, 1)], "max_pool3d": [((1, 2, 4, 4, 4), 2)], "median": [((3, 5),), ((3, 5), 1, True)],
    "meshgrid": [((3,), (2,), {"indexing": "ij"})], "min": [((3, 4), 1)],
    "mode": [((3, 5),)], "movedim": [((2, 3, 4), 0, 2), ((2, 3, 4), P(0, 1), P(2, 0))], "msort": [((5, 3),)],
    "multi_dot": [([(2, 3), (3, 4), (4, 2)],), ([(3,), (3, 4), (4,)],)],
    "nan_to_num": [((3, 4),)], "nanmean": [((3, 4), 1)], "nanmedian": [((3, 5),)], "nanquantile": [((3, 5), 0.3, 1)],
    "nansum": [((3, 4), 1)], "narrow": [((5, 4), 0, 1, 3)], "native_channel_shuffle": [((1, 4, 2, 2), 2)],
    "outer": [((3,), (4,))], "pairwise_distance": [((3, 4), (3, 4))], "pdist": [((4, 3),)],
    "permute": [((2, 3, 4), 2, 0, 1), ((2, 3, 4), P(-1, 0, 1))],
    "pixel_shuffle": [((1, 4, 2, 2), 2)], "pixel_unshuffle": [((1, 1, 4, 4), 2)], "prod": [((3, 4), 1)],
    "quantile": [((3, 5), 0.3, 1), ((3, 5), 0.5)], "reshape": [((3, 4), 2, -1), ((3, 4), P(12))],
    "renorm": [((3, 4), 2, 0, 1.0)], "repeat_interleave": [((3, 4), 2, 0), ((3,), 2), ((3, 4), 1, -1)],
    "rms_norm": [((3, 4), [4], (4,))],
    "roll": [((3, 4), 1), ((3, 4), P(1, 2), P(0, 1))], "rot90": [((3, 4),)], "scatter": [((3, 4), 0, INDEX, (2, 4))],
    "scatter_add": [((3, 4), 0, INDEX, (2, 4))], "scatter_reduce": [((3, 4), 0, INDEX, (2, 4), "amax")],
    "searchsorted": [((5,), (3, 4))], "select": [((3, 4), 1, -1)], "select_scatter": [((3, 4), (4,), 0, 1)],
    "slice_scatter": [((5, 4), (2, 4), 0, 1, 3)], "sort": [((3, 4),), ((3, 4), 0, True)],
    "split": [((7, 2), 3), ((7, 2), [3, 4])],
    "split_with_sizes": [((7, 2), [3, 4])], "squeeze": [((3, 1, 4),), ((3, 1, 4), 1)], "stack": [([(2, 3), (2, 3)], 1)],
    "std": [((3, 4), 1), ((3, 4),)], "std_mean": [((3, 4), 1)], "t": [((3, 4),)], "tensor_split": [((7, 2), 3)],
    "tensordot": [((3, 4), (4, 2), 1)], "tile": [((2, 3), P(2, 2))], "topk": [((3, 5), 2), ((3, 5), 2, 0, False)],
    "trace": [((3, 3),)], "transpose": [((3, 4), 0, 1), ((2, 3, 4), 1, -1)], "trapezoid": [((3, 4),)], "tril": [((4, 4), -1)],
    "triu": [((4, 4),)], "unbind": [((3, 4),)], "unflatten": [((2, 6), 1, P(2, 3))], "unsafe_chunk": [((6, 4), 3)],
    "unsafe_split": [((6, 4), 2)], "unsqueeze": [((3, 4), -1)], "vander": [((4,),)], "var": [((3, 4), 1)],
    "var_mean": [((3, 4), 1)], "vdot": [((4,), (4,))], "vstack": [([(2, 3), (3,)],)],
}
OF_TENSORS = {"expand": [((3, 1), -1, 4)], "repeat": [((2, 3), 2, 2)], "unfold": [((8,), 0, 3, 2)],
              "view": [((2, 3, 4), 2, 1, -1, 4), ((2, 3, 4), P(1, 2, 3, 4))]}
OF_NETWORKS = {
    **{f"adaptive_avg_pool{d}d": [((2, 3) + (6,) * d, 3)] for d in (1, 2, 3)},
    **{f"adaptive_max_pool{d}d{w}": [((2, 3) + (6,) * d, 3)] for d in (1, 2, 3) for w in ("", "_with_indices")},
    **{f"max_pool{d}d{w}": [((2, 3) + (6,) * d, 2)] for d in (1, 2, 3) for w in ("", "_with_indices")},
    **{f"lp_pool{d}d": [((2, 3) + (6,) * d, 2, 2)] for d in (1, 2, 3)},
    **{f"max_unpool{d}d": [((1, 1) + (2,) * d, 3 * np.arange(2**d).reshape((1, 1) + (2,) * d), 2)] for d in (1, 2, 3)},
    "avg_pool2d": [((2, 3, 6, 6), 2), ((2, 3, 6, 6), 3, {"stride": 2, "padding": 1})], "avg_pool3d": [((1, 2, 4, 4, 4), 2)],
    "affine_grid": [((2, 2, 3), P(2, 1, 3, 3), False)], "bilinear": [((3, 4), (3, 5), (2, 4, 5), (2,))],
    "binary_cross_entropy_with_logits": [((3, 4), (3, 4))], "cosine_embedding_loss": [((3, 4), (3, 4), (3,))],
    "cross_entropy": [((2, 4), INDEX[:, 0]), ((2, 4), (2, 4), {"label_smoothing": 0.1})], "fold": [((1, 12, 4), P(3, 3), 2)],
    "glu": [((3, 4),)], "grid_sample": [((1, 2, 4, 4), (1, 3, 3, 2), {"align_corners": False})],
    "group_norm": [((2, 4, 5), 2, (4,), (4,))], "hinge_embedding_loss": [((3, 4), (3, 4))], "huber_loss": [((3, 4), (3, 4))],
    "interpolate": [((1, 2, 4, 4), {"scale_factor": 2}), ((1, 2, 4, 4), P(6, 7), {"mode": "bilinear"})],
    "kl_div": [((3, 4), (3, 4), {"reduction": "batchmean"})], "l1_loss": [((3, 4), (3, 4))],
    "linear_cross_entropy": [((2, 3), (4, 3), INDEX[:, 0])], "local_response_norm": [((2, 4, 5), 3)], "logsigmoid": [((3, 4),)],
    "margin_ranking_loss": [((3,), (3,), (3,))], "mse_loss": [((3, 4), (3, 4)), ((3, 4), (3, 4), {"reduction": "sum"})],
    "multi_head_attention_forward": [
        ((5, 2, 8), (5, 2, 8), (5, 2, 8), 8, 2, (24, 8), (24,), None, None, False, 0.0, (8, 8), (8,), True, None, weights)
        for weights in (True, False)],
    "multi_margin_loss": [((2, 4), INDEX[:, 0])], "multilabel_margin_loss": [((2, 4), INDEX)],
    "multilabel_soft_margin_loss": [((3, 4), (3, 4))], "nll_loss": [((2, 4), INDEX[:, 0])], "normalize": [((3, 4),)],
    "pad": [((1, 2, 4, 4), P(1, 1, 2, 0)), ((1, 2, 4, 4), P(1, 1, 1, 1), {"mode": "reflect"})],
    "poisson_nll_loss": [((3, 4), (3, 4))], "prelu": [((3, 4), (1,))],
    "scaled_dot_product_attention": [((2, 3, 4), (2, 5, 4), (2, 5, 4)), ((2, 3, 4), (2, 3, 4), (2, 3, 4), {"is_causal": True}),
                                     ((2, 3, 4), (2, 5, 4), (2, 5, 4), (3, 5))],
    "smooth_l1_loss": [((3, 4), (3, 4))], "soft_margin_loss": [((3, 4), (3, 4))], "softmin": [((3, 4), 1)],
    "softsign": [((3, 4),)],
    "tanhshrink": [((3, 4),)], "triplet_margin_loss": [((3, 4), (3, 4), (3, 4))], "unfold": [((1, 2, 4, 4), 2)],
}
OF_CELLS = {
    "rnn_step": [((2, 3), (2, 4), (4, 3), (4, 4), (4,), (4,), "tanh")],
    "lstm_step": [((2, 3), (2, 4), (2, 4), (16, 3), (16, 4), *biases) for biases in (((16,), (16,)), (None, None))],
    "gru_step": [((2, 3), (2, 4), (12, 3), (12, 4), (12,), (12,))],
}
CASES = [pytest.param(home[name], call, id=f"{kind}{name}-{i}")
         for kind, home, table in (("", FUNCTIONS, CALLS), ("Tensor.", vars(Tensor), OF_TENSORS), ("F.", vars(F), OF_NETWORKS),
                                   ("rnn.", vars(rnn), OF_CELLS))
         for name, calls in table.items() for i, call in enumerate(calls)]
MEMOISED = [fn for fn, _ in call_memo.tables]


@pytest.fixture(autouse=True)
def known_at_once(monkeypatch):
    """Calls are compiled soon, and nothing is known before a test."""
    monkeypatch.setattr(call_recorder, "call_threshold", lambda operators: operators)
    monkeypatch.setattr(call_recorder, "_LONG", float("inf"))
    call_memo.forget()
    yield
    call_memo.forget()


def kinds_of(fn) -> dict:
    """Return the memo of a function's calls."""
    return next(table for f, table in call_memo.tables if f is fn)


def arguments_of(call, rng, dtype="float32", leaf=False, transposed=False) -> tuple:
    """Return (arguments, keywords) of a call."""
    def value_of(value):
        if isinstance(value, P):
            return tuple(value)
        if isinstance(value, np.ndarray):
            return ingot.tensor(value)
        if type(value) is list and type(value[0]) is tuple:
            return [value_of(v) for v in value]
        if type(value) is not tuple:
            return value
        a = (3 * rng.standard_normal(value)).astype(dtype)
        if transposed and len(value) > 1:
            a = np.ascontiguousarray(a.swapaxes(-1, -2)).swapaxes(-1, -2)
        return ingot.from_numpy(a).requires_grad_(leaf)

    *args, last = call
    keywords = last if isinstance(last, dict) else {}
    return [value_of(v) for v in (args if keywords else call)], keywords


def seed_of(fn) -> int:
    """Return a seed for a function."""
    return zlib.crc32(fn.__name__.encode())


def flat(result) -> list:
    return [t for item in result for t in flat(item)] if isinstance(result, (tuple, list)) else [result]


def outcome(fn, args, keywords):
    """Return all about a call's results: container, dtypes, strides and bits."""
    result = fn(*args, **keywords)
    return type(result), [(t.dtype, t.shape, t.stride(), t.detach().numpy().tobytes()) if isinstance(t, Tensor) else t
                          for t in flat(result)]


def gradients(fn, call, seed, **how):
    args, keywords = arguments_of(call, np.random.default_rng(seed), leaf=True, **how)
    results = [t for t in flat(fn(*args, **keywords)) if isinstance(t, Tensor) and t.requires_grad]
    if results:
        sum((t * t).sum() for t in results).backward()
    return [None if t.grad is None else t.grad.numpy().tobytes() for t in flat(args) if isinstance(t, Tensor)]


def test_each_memoised_function_is_called_here():
    assert {id(fn) for fn in MEMOISED} == {id(case.values[0]) for case in CASES}


@pytest.mark.drawn
@pytest.mark.parametrize("fn, call", CASES)
def test_a_memoised_call_returns_the_result_of_the_function(fn, call):
    general, seed = fn.__wrapped__, seed_of(fn)
    for transposed in (False, True):
        for i in range(8):              # called, watched, by operators, compiled
            args, keywords = arguments_of(call, np.random.default_rng(seed + i), transposed=transposed)
            assert outcome(fn, args, keywords) == outcome(general, args, keywords), (seed, i)
    for i in range(4):
        assert gradients(fn, call, seed + i) == gradients(general, call, seed + i), (seed, i)


@pytest.mark.drawn
@pytest.mark.parametrize("dtype", ["float64", "float16", "int64"])
@pytest.mark.parametrize("fn, call", CASES)
def test_other_dtypes_do_the_same_or_are_refused_in_the_same_words(fn, call, dtype):
    general, seed = without_memo(fn), seed_of(fn)

    def outcome_of(f, i):
        args, keywords = arguments_of(call, np.random.default_rng(seed + i), dtype)
        return outcome_or_error(f, *args, **keywords)

    for i in range(6):
        assert outcome_of(fn, i) == outcome_of(general, i), (seed, i)


def without_memo(fn):
    """Return the function behind a memo, with errors as those of the public one: `grid_sampler` names itself, not
    `grid_sample`."""
    def call(*args, **keywords):
        try:
            return fn.__wrapped__(*args, **keywords)
        except IngotError as error:
            for leaving in [constant for constant in fn.__code__.co_consts if type(constant) is Leaving]:
                leaving.change(error.with_traceback(None), leaving.name)
            raise

    return call


# The contents of the memo.


def ways(fn) -> list:
    """Return how the known kinds of calls of a function are run."""
    return [way.__globals__.get("run", "operators") if way.__name__ == "memoised" else way.__name__
            for way in kinds_of(fn).values()]


def repeat(fn, *args, times=6, **keywords):
    for _ in range(times):
        result = fn(*args, **keywords)
    return result


def test_calls_without_gradients_become_one_graph_and_others_operators():
    x, y = ingot.randn(3, 4), ingot.randn(3, 4)
    repeat(ingot.lerp, x, y, 0.5)
    assert [callable(way) for way in ways(ingot.lerp)] == [True]
    call_memo.forget()
    assert repeat(ingot.lerp, x.requires_grad_(), y, 0.5).grad_fn is not None
    assert ways(ingot.lerp) == ["operators"]
    with ingot.no_grad():
        repeat(ingot.lerp, x, y, 0.5)
    assert [callable(way) for way in ways(ingot.lerp)] == [False, True]


def test_views_stay_views():
    x = ingot.arange(12.0).reshape(3, 4)
    for _ in range(6):
        x.transpose(0, 1)[0] = 5.0
        x.split(2, 1)[1].zero_()
    assert x.tolist() == [[5, 1, 0, 0], [5, 5, 0, 0], [5, 9, 0, 0]]
    assert repeat(ingot.reshape, x, 4, 3).data_ptr() == repeat(ingot.chunk, x, 1)[0].data_ptr() == x.data_ptr()


@pytest.mark.parametrize("see", [
    lambda x: x.view(4, 3), lambda x: x.reshape((2, -1)), lambda x: x.t(), lambda x: x.narrow(1, 1, 2),
    lambda x: x.unsqueeze(0).expand(5, -1, -1), lambda x: x.select(0, -1), lambda x: x.flatten(),
    lambda x: x.permute((1, 0)).unflatten(0, (2, 2)), lambda x: x.diagonal()])
@pytest.mark.parametrize("leaf", [False, True])
def test_views_asked_for_by_ints_look_into_the_same_memory_at_every_call(see, leaf):
    x = ingot.arange(12.0).reshape(3, 4).clone().requires_grad_(leaf)
    for i in range(4):
        with ingot.no_grad():
            view = see(x)
        assert view._base is x and view._version == x._version == i
        view.detach().fill_(100.0 + i)
        assert (x.detach() == 100 + i).sum() == see(where(x)).unique().numel()


def test_a_reshape_that_copies_is_no_view_where_others_of_its_shape_were():
    for see in (ingot.Tensor.reshape, ingot.Tensor.view):
        assert repeat(see, ingot.ones(4, 3), 12)._base is not None
    x = ingot.zeros(3, 4).t()
    copy = x.reshape(12)
    copy.fill_(1.0)
    assert copy._base is None and x.sum() == 0 and x._version == 0
    with pytest.raises(ShapeError, match="does not fit the strides"):
        x.view(12)


def where(x):
    """Return new numbers in x's shape."""
    return ingot.arange(float(x.numel())).reshape(x.shape)


@pytest.mark.parametrize("int_, like", [(1, True), (1, 1.0), ((1, 0), (True, False)), ((1, 0), (1.0, 0.0))])
def test_values_equal_to_ints_are_no_keys_of_views(int_, like):
    x = ingot.randn(3, 4)
    see = ingot.permute if type(int_) is tuple else ingot.unsqueeze
    outcomes = [outcome_or_error(without_memo(see), x, like), repeat(see, x, int_), outcome_or_error(see, x, like)]
    assert outcomes[0] == outcomes[2]


def outcome_or_error(fn, *args, **keywords):
    try:
        return outcome(fn, args, keywords)
    except Exception as error:      # whatever it is
        return type(error), str(error)


@pytest.mark.parametrize("one, other", [(1, True), (0.0, -0.0), (2, 2.0), ((1,), [1]), (float("nan"), float("inf"))])
def test_equal_values_of_other_types_have_other_keys(one, other):
    assert call_memo.kind_of_call((one,), {}, True) != call_memo.kind_of_call((other,), {}, True)


@pytest.mark.parametrize("unknown", [np.float32(1), np.ones(2), object(), ingot.device("cpu"), {"a": 1}, float("nan"),
                                     [np.int64(3)]])
def test_calls_with_arguments_without_a_key_are_not_memoised(unknown):
    assert call_memo.kind_of_call((ingot.ones(2), unknown), {}, True) is None
    assert call_memo.kind_of_call((ingot.ones(2),), {"value": unknown}, True) is None


def test_only_plain_host_tensors_are_memoised():
    class Own(Tensor):
        pass

    for other in (ingot.ones(2, device="meta"), ingot.ones(2).as_subclass(Own), ingot.ones(2).to_sparse()):
        assert call_memo.kind_of_call((other,), {}, True) is call_memo.kind_of_call(([other],), {}, True) is None
    assert call_memo.kind_of_call((ingot.nn.Parameter(ingot.ones(2)),), {}, False) is not None


def test_calls_of_very_many_operators_are_not_generated(monkeypatch):
    monkeypatch.setattr(call_recorder, "_MANY", 2)
    assert repeat(F.cosine_similarity, ingot.ones(2, 3), ingot.ones(2, 3)).tolist() == pytest.approx([1, 1])
    assert ways(FUNCTIONS["cosine_similarity"]) == ["_plainly"]


def test_the_same_tensor_twice_is_two_tensors():
    x, y = ingot.tensor([1.0, 2.0]), ingot.tensor([3.0, 5.0])
    repeat(ingot.addcmul, x, x, x)
    assert ingot.addcmul(x, x, y).tolist() == [4, 12]
    assert ingot.addcmul(y, x, x).tolist() == [4, 9]


def test_results_given_to_out_are_written():
    x, y, out = ingot.ones(2), ingot.ones(2), ingot.zeros(2)
    repeat(ingot.lerp, x, y, 0.5)
    for _ in range(4):
        out.zero_()
        assert ingot.lerp(x, y, 0.5, out=out) is out
        assert out.tolist() == [1, 1]


def test_functions_in_place_write_once():
    x, y = ingot.ones(100, 100), ingot.ones(100, 100)
    for i in range(6):
        x.addcmul_(y, y)
        assert x[0, 0].item() == i + 2


def test_errors_have_the_functions_message():
    x, index = ingot.ones(3, 2), ingot.tensor([0, 1])
    repeat(ingot.index_select, x, 0, index)
    for wrong in ([0, -1], [0, 3]):
        with pytest.raises(IndexError) as known:
            ingot.index_select(x, 0, ingot.tensor(wrong))
        with pytest.raises(IndexError) as general:
            ingot.index_select.__wrapped__(x, 0, ingot.tensor(wrong))
        assert str(known.value) == str(general.value)
        assert known.value.__context__ is None or "index" in str(known.value)


def test_a_public_function_puts_its_name_into_errors_of_memoised_calls():
    """`embedding` with `max_norm` calls `index_select`: with and without a memo, its errors name `embedding`."""
    table, texts = ingot.ones(6, 3), []
    for index in (-1, 1, 1, 1, -1):
        try:
            F.embedding(ingot.tensor([index]), table, max_norm=1.0)
        except DimError as error:
            texts.append(str(error))
    assert texts == ["embedding: index -1 is out of range for dim 0 of size 6"] * 2


def test_a_function_that_reads_writes_draws_or_warns_is_not_memoised():
    def reads(x):
        return ingot.exp(x) if x.sum().item() > 0 else ingot.log(x)

    def writes(x):
        return ingot.exp(x.add_(1.0))

    def draws(x):
        return x + ingot.rand(2)

    def says(x):
        return F.mse_loss(x, ingot.ones(1, 2))

    def own(x):
        return x + OWN

    for fn in (reads, writes, draws, says, own):
        x, kind, table = ingot.ones(2), ("kind",), {}
        state = ingot.get_rng_state()
        with warnings.catch_warnings(record=True) as told:
            warnings.simplefilter("always")
            call_recorder.first_call(table, fn, kind, (x,), {})
            table[kind](None, (x,), {})
        assert table[kind].__name__ == "_plainly", fn
        if fn is writes:
            assert x.tolist() == [3, 3]         # each call wrote once
        if fn is says:
            assert len(told) == 2
        if fn is draws:
            after = ingot.get_rng_state()
            ingot.set_rng_state(state)
            ingot.rand(2), ingot.rand(2)
            assert ingot.get_rng_state().tolist() == after.tolist()


OWN = ingot.ones(2)


def test_another_default_dtype_is_another_result():
    x = ingot.tensor([1, 2])
    repeat(ingot.logsumexp, x, 0)
    ingot.set_default_dtype(ingot.float64)
    try:
        assert repeat(ingot.logsumexp, x, 0).dtype is ingot.float64
    finally:
        ingot.set_default_dtype(ingot.float32)
    assert repeat(ingot.logsumexp, x, 0).dtype is ingot.float32


def test_settings_of_a_thread_hold():
    """Winograd's convolutions need settings other than "strict"."""
    x, w = ingot.randn(1, 32, 32, 32), ingot.randn(32, 32, 3, 3)
    quick = repeat(ingot.conv2d, x, w, None, 1, 1)
    with config.override(numerics="strict"):
        exact = ingot.conv2d.__wrapped__(x, w, None, 1, 1)
        assert repeat(ingot.conv2d, x, w, None, 1, 1).tolist() == exact.tolist() != quick.tolist()
    assert ingot.conv2d(x, w, None, 1, 1).tolist() == quick.tolist()
    call_memo.forget()
    with config.override(numerics="strict"):
        repeat(ingot.conv2d, x, w, None, 1, 1)
    assert repeat(ingot.conv2d, x, w, None, 1, 1).tolist() == quick.tolist()


def test_listeners_see_the_operators():
    x, y = ingot.randn(3, 4), ingot.randn(3, 4)
    repeat(F.cosine_similarity, x, y)
    traced = ingot.jit.trace(F.cosine_similarity)
    assert traced(x, y).tolist() == traced(x, y).tolist() == F.cosine_similarity(x, y).tolist()
    per_sample = ingot.vmap(lambda a, b: F.cosine_similarity(a, b, dim=0))(x, y)
    assert np.allclose(per_sample.numpy(), F.cosine_similarity(x, y).numpy())
    with ingot.autocast("cpu", ingot.bfloat16):
        assert repeat(ingot.addmm, ingot.ones(2, 2), x[:2, :2], y[:2, :2]).dtype is ingot.bfloat16


def test_calls_that_take_long_are_not_watched(monkeypatch):
    x, y = ingot.randn(3, 4), ingot.randn(3, 4)
    monkeypatch.setattr(call_recorder, "_LONG", 0.0)
    repeat(ingot.lerp, x, y, 0.5, times=call_recorder._TRIES)
    assert [type(way) for way in kinds_of(ingot.lerp).values()] == [call_recorder.PendingCall]
    repeat(ingot.lerp, x, y, 0.5)
    assert ways(ingot.lerp) == ["_plainly"]


def test_a_small_table_that_a_function_keeps_is_part_of_its_calls():
    x, more = ingot.randn(6, 3), ingot.randn(200, 1)
    first = F.pdist(x)
    assert repeat(F.pdist, x, times=40).equal(first) and repeat(F.pdist, x + 1, times=3).allclose(first, atol=1e-5)
    repeat(F.pdist, more)
    assert [callable(way) for way in ways(F.pdist)[:1]] == [True] and ways(F.pdist)[1:] == ["_plainly"]


def test_entries_hold_no_memory_of_a_call(monkeypatch):
    monkeypatch.setattr(call_recorder, "call_threshold", lambda operators: 1000)
    x = ingot.ones(50)
    seen = [weakref.ref(repeat(F.cosine_similarity, x, x, 0, times=3)), weakref.ref(x._a)]
    del x
    gc.collect()
    assert [r() for r in seen] == [None, None]
    assert ways(FUNCTIONS["cosine_similarity"]) == ["counted"]


def test_many_kinds_do_not_fill_the_memory(monkeypatch):
    monkeypatch.setattr(call_memo, "MOST", 20)
    for n in range(1, 100):
        repeat(ingot.flip, ingot.ones(n), 0, times=3)
        assert len(kinds_of(ingot.flip)) <= 20


def test_threads_may_learn_of_a_call_together():
    x, y = ingot.randn(50), ingot.randn(50)
    want, wrong = ingot.lerp.__wrapped__(x, y, 0.25).tolist(), []

    def work():
        for _ in range(50):
            if ingot.lerp(x, y, 0.25).tolist() != want:
                wrong.append(True)

    threads = [threading.Thread(target=work) for _ in range(4)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert not wrong
