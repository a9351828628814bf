"""Functions and methods with the arguments that PyTorch's samples leave at one value, or that have no samples."""

import math

import ml_dtypes
import numpy as np

from ..row import Leaf, Name, Row
from . import distinct, rounded

IMPRECISE = {"special.digamma", "special.psi", "special.polygamma", "special.gammainc", "special.gammaincc", "special.multigammaln"}
ROOM = (4e-9, "PyTorch's trigamma and incomplete gamma are good to 1e-9")


def _leaf(rng, *shape, **options):
    return Leaf(rounded(rng, *shape, **options))


def _positive(rng, n):
    a = rounded(rng, n, n)
    return a @ a.T + n * np.eye(n)


def _table(rng):
    """Yield (target, args, kwargs)."""
    x, free = _leaf(rng, 3, 4), Leaf(distinct(rng, 3, 4))
    nans = np.array([np.nan, 1.0, -np.inf, np.inf])
    for equal in (False, True):
        yield "allclose", (nans, np.array([np.nan, 1.0 + 1e-9, -np.inf, np.inf])), {"equal_nan": equal}
        yield "allclose", (rounded(rng, 3), rounded(rng, 3)), {"rtol": 4.0, "equal_nan": equal}
        yield "isclose", (nans, nans[[0, 1, 3, 2]]), {"equal_nan": equal}
    yield "allclose", (np.array([1.0, 2.0]), np.array([1.0, 2.25])), {"atol": 0.5, "rtol": 0.0}
    yield "allclose", (np.array([1.0, 1e5]), np.array([1.0 + 5e-9, 1e5 + 0.9])), {}
    yield "allclose", (np.array([1.0, 1e5]), np.array([1.0, 1e5 + 1.1])), {}
    for keep in (False, True):
        yield "count_nonzero", (rng.integers(0, 2, (3, 4)),), {"dim": 1} if not keep else {"dim": (0, 1)}
    for offset, d1, d2 in ((0, -2, -1), (1, 0, 2), (-2, 1, 0)):
        yield "diag_embed", (x, offset, d1, d2), {}
        yield "diagonal", (_leaf(rng, 3, 4, 5), offset, d1, d2), {}
        size = {0: (5, 3), 1: (4, 3)}.get(offset)
        if size is not None:
            base = rounded(rng, 3, 4, 5)
            yield "diagonal_scatter", (Leaf(base), Leaf(rounded(rng, *np.diagonal(base, offset, d1, d2).shape)), offset, d1, d2), {}
    for value in (1.5, -2):
        yield "fill", (x, value), {}
    yield "flatten", (_leaf(rng, 2, 3, 4), 0, 1), {}
    yield "flatten", (_leaf(rng, 2, 3, 4), 1, 2), {}
    yield "histogram", (rounded(rng, 12), 5), {"range": (-1.0, 1.5)}
    yield "histogram", (rounded(rng, 12), 4), {"weight": rounded(rng, 12), "density": True, "range": (-2.0, 2.0)}
    yield "histc", (rounded(rng, 12), 5, -1.0, 1.5), {}
    for unique, invert in ((False, True), (True, False), (True, True)):
        yield "isin", (rng.permutation(9)[:5], rng.permutation(9)[:4]), {"assume_unique": unique, "invert": invert}
    for n in (3, 4):
        a = rounded(rng, n, n) + n * np.eye(n)
        s = _positive(rng, n)
        wide = _leaf(rng, n - 1, n + 1)
        yield "linalg.cholesky", (Leaf(s),), {"upper": n == 4}
        for check in (False, True):
            yield "linalg.inv_ex", (Leaf(a),), {"check_errors": check}
            yield "linalg.cholesky_ex", (Leaf(s),), {"upper": check, "check_errors": check}
            yield "linalg.lu_factor_ex", (Leaf(a),), {"check_errors": check}
            yield "linalg.solve_ex", (Leaf(a), _leaf(rng, n, 2) if check else _leaf(rng, 2, n)), {"left": check, "check_errors": check}
            yield "linalg.ldl_factor", (s,), {"hermitian": check}
            yield "linalg.ldl_factor_ex", (s,), {"hermitian": check, "check_errors": check}
        yield "linalg.solve", (Leaf(a), _leaf(rng, 2, n)), {"left": False}
        yield "linalg.lu", (Leaf(a),), {"pivot": True}
        for p in (1, -1, 2, -2, math.inf, -math.inf, "fro", "nuc", None):
            yield "linalg.cond", (a, p), {}
        for mode in ("reduced", "complete", "r"):
            yield "linalg.qr", (_leaf(rng, n + 1, n) if mode == "reduced" else rounded(rng, n + 1, n),), {"mode": mode}
        yield "linalg.eigvalsh", (Leaf(s),), {"UPLO": "U" if n == 3 else "L"}
        yield "linalg.pinv", (_leaf(rng, n, n - 1),), {"rtol": 0.5}
        yield "linalg.pinv", (_leaf(rng, n, n - 1),), {"atol": 0.75, "rtol": 0.0}
        yield "linalg.matrix_rank", (rounded(rng, n, n),), {"atol": 1.0}
        yield "linalg.matrix_rank", (s,), {"hermitian": True, "rtol": 0.25}
        yield "linalg.svdvals", (wide,), {}
        yield "linalg.matrix_exp", (_leaf(rng, n, n),), {}
        yield "matrix_exp", (_leaf(rng, 2, n, n),), {}
        yield "logdet", (Leaf(s),), {}
        yield "linalg.tensorinv", (_leaf(rng, 2, n, 2 * n),), {"ind": 2}
        yield "linalg.vander", (_leaf(rng, n),), {"N": n + 1} if n == 4 else {}
        yield "linalg.matrix_norm", (wide, (1, 2, math.inf, "nuc", "fro")[n]), {"keepdim": n == 4}
        yield "pinverse", (_leaf(rng, n, n - 1),), {"rcond": 0.5 if n == 3 else 0.0}
        for upper, transpose, unit in ((True, False, False), (False, True, False), (True, True, True)):
            yield "triangular_solve", (_leaf(rng, n, 2), Leaf(a), upper, transpose, unit), {}
            yield "linalg.solve_triangular", (Leaf(a), _leaf(rng, n, 2) if not transpose else _leaf(rng, 2, n)), {"upper": upper, "left": not transpose, "unitriangular": unit}
        for data, pivots in ((True, False), (False, True)):
            yield "lu_unpack", (a, rng.integers(1, n + 1, n).astype("int32")), {"unpack_data": data, "unpack_pivots": pivots}
    for nan, up, down in ((0.0, None, None), (2.5, 7.0, -7.0), (1.0, 3.0, None)):
        yield "nan_to_num", (Leaf(nans), nan, up, down), {}
    yield "max", (free, Leaf(distinct(rng, 4) + 0.0625)), {}
    yield "min", (free, Leaf(distinct(rng, 3, 1) + 0.0625)), {}
    for name in ("elu", "celu", "leaky_relu", "hardtanh", "softplus", "threshold", "selu", "relu", "relu6", "silu", "mish", "hardsigmoid", "hardswish"):
        args = {"threshold": (0.25, -1.5)}.get(name, ())
        more = {"elu": {"alpha": 0.5}, "celu": {"alpha": 0.5}, "leaky_relu": {"negative_slope": 0.5}, "hardtanh": {"min_val": -0.25, "max_val": 0.5},
                "softplus": {"beta": 2.0, "threshold": 1.5}}.get(name, {})
        value = rounded(rng, 3, 4) if name != "hardsigmoid" else np.array([-4.0, 4.0, 5.0])
        yield f"nn.functional.{name}", (Leaf(value), *args), more
        if name != "softplus":
            yield f"nn.functional.{name}", (value, *args), {**more, "inplace": True}
    for name, args in (("celu_", (0.5,)), ("elu_", (0.5,)), ("hardtanh_", (-0.5, 0.75)), ("leaky_relu_", (0.5,)), ("relu_", ()), ("selu_", ()), ("threshold_", (0.25, -1.5))):
        yield f"nn.functional.{name}", (_leaf(rng, 3, 4), *args), {}
        yield f"nn.functional.{name}", (_leaf(rng, 5), *args), {}
    for name in ("sigmoid", "tanh"):
        yield f"nn.functional.{name}", (_leaf(rng, 3, 4),), {}
        yield f"nn.functional.{name}", (_leaf(rng, 2),), {}
    for name in ("softmax", "log_softmax", "softmin"):
        yield f"nn.functional.{name}", (_leaf(rng, 3, 4), 0), {}
        yield f"nn.functional.{name}", (_leaf(rng, 2, 3, 2), 1), {}
    for alpha, beta, k in ((1e-4, 0.75, 1.0), (0.5, 0.5, 2.0)):
        yield "nn.functional.local_response_norm", (_leaf(rng, 2, 5, 3), 3, alpha, beta, k), {}
    yield "nn.functional.conv_transpose3d", (_leaf(rng, 1, 4, 2, 3, 2), _leaf(rng, 4, 3, 2, 2, 2)), {"groups": 2}
    yield "nn.functional.adaptive_avg_pool3d", (_leaf(rng, 1, 2, 4, 3, 5), (2, 3, 1)), {}
    yield "nn.functional.adaptive_max_pool3d", (Leaf(distinct(rng, 1, 2, 4, 3, 5)), (2, 3, 1)), {"return_indices": True}
    yield "nn.functional.adaptive_max_pool3d", (Leaf(distinct(rng, 2, 4, 3, 2)), 2), {}
    yield "nn.functional.max_pool3d", (Leaf(distinct(rng, 1, 2, 4, 3, 5)), 2), {"return_indices": True, "stride": 1}
    yield "nn.functional.max_pool3d", (Leaf(distinct(rng, 2, 4, 5, 4)), 3), {"padding": 1, "ceil_mode": True}
    for stats in (True, False):
        running = (rounded(rng, 3), rounded(rng, 3, low=0.5))
        yield "nn.functional.instance_norm", (_leaf(rng, 2, 3, 4), *running), {"use_input_stats": stats, "momentum": 0.25, "eps": 0.5}
    for groups in (2, 3):
        yield "nn.functional.channel_shuffle", (_leaf(rng, 2, 6, 2, 3), groups), {}
        yield "nn.functional.native_channel_shuffle", (rounded(rng, 2, 6, 2, 3), groups), {}
    yield "nn.functional.conv_tbc", (_leaf(rng, 5, 2, 3), _leaf(rng, 2, 3, 4), _leaf(rng, 4)), {"pad": 1}
    yield "nn.functional.conv_tbc", (_leaf(rng, 4, 1, 3), _leaf(rng, 3, 3, 2), _leaf(rng, 2)), {}
    index = rng.integers(0, 6, (3, 4))
    for kwargs in ({"padding_idx": 1}, {"max_norm": 0.5, "norm_type": 1.0}, {"scale_grad_by_freq": True}):
        yield "nn.functional.embedding", (index, _leaf(rng, 6, 3) if "max_norm" not in kwargs else rounded(rng, 6, 3)), kwargs
        yield "nn.functional.embedding_bag", (index, _leaf(rng, 6, 3) if "max_norm" not in kwargs else rounded(rng, 6, 3)), {k: v for k, v in kwargs.items() if k != "scale_grad_by_freq"} | {"mode": "sum"}
    yield "nn.functional.fold", (_leaf(rng, 2, 12, 12), (4, 5), (2, 2)), {}
    yield "nn.functional.fold", (_leaf(rng, 1, 12, 6), (5, 4), (3, 2)), {"stride": 2, "padding": (1, 0)}
    for rank, shape in ((1, (2, 3, 7)), (2, (2, 3, 5, 6)), (3, (1, 2, 4, 3, 5))):
        yield f"nn.functional.lp_pool{rank}d", (_leaf(rng, *shape, low=0.25), 2.0, 2), {}
        yield f"nn.functional.lp_pool{rank}d", (_leaf(rng, *shape, low=0.25), 3.0, 2), {"stride": 1, "ceil_mode": True}
        pooled = (2, 3, *[n // 2 for n in shape[2:]])
        indices = np.stack([rng.choice(math.prod(2 * (n // 2) for n in shape[2:]), math.prod(pooled[2:]), replace=False) for _ in range(6)]).reshape(pooled)
        yield f"nn.functional.max_unpool{rank}d", (_leaf(rng, *pooled), indices, 2), {}
        yield f"nn.functional.max_unpool{rank}d", (_leaf(rng, *pooled), indices, 2), {"output_size": [2 * (n // 2) + 1 for n in shape[2:]]}
    yield "nn.functional.upsample", (_leaf(rng, 1, 2, 3, 4), (5, 6)), {}
    yield "nn.functional.upsample", (_leaf(rng, 1, 2, 3, 4),), {"scale_factor": 2, "mode": "bilinear", "align_corners": True}
    for fill in (-1, 7):
        yield "nonzero_static", (np.array([0, 3, 0, 5]),), {"size": 4, "fill_value": fill}
        yield "nonzero_static", (np.array([[0, 3], [2, 5]]),), {"size": 2, "fill_value": fill}
    yield "scatter", (_leaf(rng, 3, 4), 0, np.array([[2, 0, 1, 1]]), 1.5), {}
    yield "scatter", (rounded(rng, 3, 4), 1, np.array([[2], [0], [1]]), -2.5), {"reduce": "add"}
    for name, parameters in (("exponential", ({"tau": 0.75}, {"tau": 2.0, "sym": False, "center": 0.0})), ("gaussian", ({"std": 0.75}, {"std": 2.5, "sym": False})), ("kaiser", ({"beta": 5.0}, {"beta": 12.0, "sym": False})),
                             ("general_cosine", ({"a": [0.5, 0.25, 0.25]}, {"a": [0.75, 0.25], "sym": False})), ("general_hamming", ({"alpha": 0.75}, {"alpha": 0.625, "sym": False})),
                             ("bartlett", ({}, {"sym": False})), ("blackman", ({}, {"sym": False})), ("cosine", ({}, {"sym": False})), ("hamming", ({}, {"sym": False})), ("hann", ({}, {"sym": False})), ("nuttall", ({}, {"sym": False}))):
        for i, kwargs in enumerate(parameters):
            for m in (7 - i, 1, 0):
                yield f"signal.windows.{name}", (m,), kwargs | {"dtype": Name("float64")}
    for name in ("bartlett", "blackman", "hann", "hamming", "kaiser"):
        for periodic in (True, False):
            for n in (6, 1):
                yield f"{name}_window", (n,), {"periodic": periodic, "dtype": Name("float64")}
    yield "hamming_window", (6, True, 0.5, 0.375), {"dtype": Name("float64")}
    yield "kaiser_window", (6, False, 5.0), {"dtype": Name("float64")}
    signal = rounded(rng, 2, 24)
    for kwargs in ({"n_fft": 8}, {"n_fft": 6, "hop_length": 4, "win_length": 5, "window": rounded(rng, 5, low=0.25), "normalized": True, "onesided": False},
                   {"n_fft": 8, "hop_length": 3, "center": False}, {"n_fft": 8, "pad_mode": "constant", "hop_length": 5}):
        yield "stft", (Leaf(signal),), kwargs | {"return_complex": True}
    for kwargs in ({}, {"normalized": True, "length": 20}, {"window": rounded(rng, 8, low=0.25), "center": True}):
        yield "istft", (Leaf(np.fft.rfft(rounded(rng, 9, 8)).T.round(4)), 8, 2), kwargs
    for largest, in_order in ((True, True), (False, True)):
        for dim in (0, -1):
            yield "topk", (free, 2, dim, largest, in_order), {}
    for row, column, offset in ((3, 4, 0), (4, 3, 1), (5, 2, -1)):
        yield "tril_indices", (row, column, offset), {}
        yield "triu_indices", (row, column, offset), {}
    for correction in (0, 1, 2.5):
        for name in ("std", "var", "std_mean", "var_mean"):
            yield name, (_leaf(rng, 3, 4),), {"dim": 1, "correction": correction, "keepdim": correction == 0}
    yield "cov", (_leaf(rng, 3, 5),), {"correction": 0}
    yield "cov", (_leaf(rng, 3, 5),), {"fweights": np.array([1, 2, 1, 3, 1])}
    for n in (4, 5):
        for name in ("fftfreq", "rfftfreq"):
            yield f"fft.{name}", (n,), {"d": 0.25 if n == 5 else 1.0, "dtype": Name("float64")}
    yield "bucketize", (rounded(rng, 3, 4), np.array([-1.0, 0.0, 0.5])), {"right": True}
    yield "bucketize", (np.array([-1.0, 0.0, 0.5]), np.array([-1.0, 0.0, 0.5])), {"out_int32": True}
    yield "block_diag", (_leaf(rng, 2, 3), _leaf(rng, 1, 2), _leaf(rng, 3)), {}
    yield "cartesian_prod", (_leaf(rng, 2), _leaf(rng, 3)), {}
    yield "combinations", (_leaf(rng, 4),), {}
    yield "combinations", (_leaf(rng, 3), 3, True), {}
    yield "meshgrid", (_leaf(rng, 2), _leaf(rng, 3)), {"indexing": "xy"}
    yield "meshgrid", (_leaf(rng, 2), _leaf(rng, 3)), {"indexing": "ij"}
    yield "vander", (rounded(rng, 4), 3, True), {}
    yield "vander", (rounded(rng, 3),), {}
    yield "einsum", ("ij,jk->ik", _leaf(rng, 2, 3), _leaf(rng, 3, 4)), {}
    yield "einsum", ("bij,bkj,b->ki", _leaf(rng, 2, 3, 4), _leaf(rng, 2, 5, 4), _leaf(rng, 2)), {}
    yield "einsum", ("ii->i", _leaf(rng, 3, 3)), {}
    yield "tensordot", (_leaf(rng, 2, 3, 4), _leaf(rng, 4, 3, 5)), {"dims": ([1, 2], [1, 0])}
    yield "tensordot", (_leaf(rng, 2, 3), _leaf(rng, 3, 4)), {"dims": 1}
    for a in ((0.0, -8.000001, -4.0), (0.0, 5.0, 1.5), (0.9, 9.0, 2.9), (-0.5, 5.0, 1.0), (7, -3, -2), (0.0, 0.0, 1.0)):
        for kind in ("int64", "int32", "uint8", "float64") if min(a[:2]) >= 0 else ("int64", "int32", "float64"):
            yield "arange", a, {"dtype": Name(kind)}
    for name in ("linspace", "logspace"):
        for steps, kind in ((5, "float64"), (1, "float32"), (0, "float64"), (7, "float32")):
            yield name, (-1.5, 2.0, steps), {"dtype": Name(kind)}
    yield "logspace", (0.0, 3.0, 4, 2.0), {"dtype": Name("float64")}
    yield "linspace", (0, 9, 4), {"dtype": Name("int64")}
    for name, args in (("expit", ()), ("erf", ()), ("erfc", ()), ("exp2", ()), ("expm1", ()), ("sinc", ()), ("i0", ())):
        yield f"special.{name}", (_leaf(rng, 3, 4), *args), {}
        yield f"special.{name}", (_leaf(rng, 2, dtype="float32"), *args), {}
    positive = (lambda *s: _leaf(rng, *s, low=0.25, high=4.0))
    for name in ("log1p", "gammaln", "digamma", "psi"):
        yield f"special.{name}", (positive(3, 4),), {}
        yield f"special.{name}", (positive(2),), {}
    inner = (lambda *s: _leaf(rng, *s, low=0.0625, high=0.9375))
    yield "special.erfinv", (inner(3, 4),), {}
    yield "special.erfinv", (inner(2),), {}
    yield "special.logit", (inner(3, 4),), {}
    yield "special.logit", (inner(3),), {"eps": 0.25}
    yield "logit", (inner(3, 4), 0.25), {}
    for p in (1, 2, 5):
        yield "special.multigammaln", (_leaf(rng, 3, low=3.0, high=6.0), p), {}
        yield "special.polygamma", (p, positive(4)), {}
    yield "special.gammainc", (rounded(rng, 4, low=0.25, high=4.0), positive(4)), {}
    yield "special.gammaincc", (rounded(rng, 4, low=0.25, high=4.0), positive(4)), {}
    yield "special.gammainc", (rounded(rng, 3, low=20, high=40), _leaf(rng, 3, low=20, high=40)), {}
    yield "special.gammaincc", (rounded(rng, 3, low=20, high=40), _leaf(rng, 3, low=20, high=40)), {}
    yield "special.xlogy", (_leaf(rng, 3, 4), positive(4)), {}
    yield "special.xlogy", (np.array([0.0, 0.0, 2.0]), np.array([0.0, np.nan, 3.0])), {}
    yield "special.logsumexp", (_leaf(rng, 3, 4), 1), {}
    yield "special.logsumexp", (_leaf(rng, 3, 4), (0, 1)), {"keepdim": True}
    yield "special.softmax", (_leaf(rng, 3, 4), 0), {}
    yield "special.log_softmax", (_leaf(rng, 3, 4), 0), {}
    yield "special.softmax", (_leaf(rng, 3, 4), 1), {}
    yield "special.log_softmax", (_leaf(rng, 3, 4), 1), {}
    yield "special.round", (_leaf(rng, 5),), {"decimals": 1}
    yield "special.round", (np.array([0.5, 1.5, -2.5, 2.6]),), {}


def _rest(rng):
    """Yield functions whose last arguments other rows leave alone."""
    x = _leaf(rng, 3, 4)
    yield "gather", (x, 1, np.array([[0, 1], [3, 3], [2, 0]])), {"sparse_grad": False}
    yield "linalg.matmul", (x, _leaf(rng, 4, 2)), {}
    yield "linalg.matmul", (_leaf(rng, 2, 1, 3, 4), _leaf(rng, 3, 4, 5)), {}
    yield "where", (np.array([[True, False, True, False]]), x, -1.5), {}
    yield "where", (np.array([False, True, True]), _leaf(rng, 3), _leaf(rng, 2, 1)), {}
    for n in (3, 4):
        a = rounded(rng, n, n) + n * np.eye(n)
        factors = np.linalg.qr(a)[1].T + np.eye(n)
        yield "linalg.ldl_solve", (factors, np.arange(1, n + 1, dtype="int32"), rounded(rng, n, 2)), {"hermitian": n == 4}
        for some in (True, False):
            yield "qr", (_leaf(rng, n + 1, n) if some else rounded(rng, n + 1, n), some), {}
        yield "linalg.pinv", (Leaf(_positive(rng, n)),), {"hermitian": True}
        yield "linalg.pinv", (_leaf(rng, n, n - 1), 0.5), {}
        yield "linalg.matrix_rank", (_positive(rng, n), 8.0), {}
        yield "nn.functional.lp_pool1d", (_leaf(rng, 2, 3, 7, low=0.25), 2.0, n - 1), {}
        yield "nn.functional.lp_pool2d", (_leaf(rng, 2, 3, 7, 5, low=0.25), 2.0, n - 1), {}
        yield "nn.functional.lp_pool3d", (_leaf(rng, 1, 2, 4, 5, 4, low=0.25), 1.5, n - 1), {}
    for size, offsets, mode, last in ((12, np.array([0, 3, 3, 7]), "mean", False), (12, np.array([0, 5, 12]), "max", True), (9, np.array([0, 2, 9]), "sum", True)):
        yield "nn.functional.embedding_bag", (rng.integers(0, 6, size), _leaf(rng, 6, 3), offsets), {"mode": mode, "include_last_offset": last}
    yield "nn.functional.embedding_bag", (rng.integers(0, 6, (3, 4)), _leaf(rng, 6, 3)), {"mode": "sum", "per_sample_weights": _leaf(rng, 3, 4)}
    yield "nn.functional.fold", (_leaf(rng, 2, 6, 20), (6, 5), (2, 3)), {"dilation": (2, 1), "padding": (0, 1)}
    for rank in (1, 2, 3):
        for size, stride, padding in ((3, 2, 0), (2, 2, 1)):
            small = (4, 3, 4)[:rank]
            room = math.prod((n - 1) * stride - 2 * padding + size for n in small)
            count = math.prod(small)
            indices = np.stack([rng.choice(min(room, 200), min(count, room), replace=False) for _ in range(2)])
            if indices.size == 2 * count:
                yield f"nn.functional.max_unpool{rank}d", (_leaf(rng, 1, 2, *small), indices.reshape(1, 2, *small), size, stride, padding), {}
    for mode in (0, 1):
        yield "grid_sampler_3d", (_leaf(rng, 1, 2, 3, 2, 4), Leaf(rng.uniform(-1.2, 1.2, (1, 2, 3, 2, 3)).round(3)), mode, 0, mode == 0), {}
    for align in (True, False):
        yield "stft", (Leaf(rounded(rng, 24)), 8, 3, 5), {"center": False, "align_to_window": align, "return_complex": True}
    for kind in ("float32", "bfloat16"):
        dtype = np.dtype(ml_dtypes.bfloat16) if kind == "bfloat16" else np.dtype(kind)
        yield "nn.functional.grouped_mm", (rounded(rng, 2, 8, 16).astype(dtype), rounded(rng, 2, 16, 8).astype(dtype)), {}
        yield "nn.functional.grouped_mm", (rounded(rng, 8, 16).astype(dtype), rounded(rng, 2, 16, 8).astype(dtype)), {"offs": np.array([3, 8], dtype="int32")}
    spectrum = np.fft.fft(rounded(rng, 9, 8)).T.round(4)
    yield "istft", (Leaf(spectrum), 8, 2), {"onesided": False, "return_complex": True}
    yield "istft", (Leaf(np.fft.rfft(rounded(rng, 9, 8)).T.round(4)), 8, 2, 6), {"window": rounded(rng, 6, low=0.25)}
    yield "scatter", (_leaf(rng, 3, 4), 0, np.array([[2, 0, 1, 1]])), {"value": -0.75}
    yield "scatter", (_leaf(rng, 3, 4), 1, np.array([[2], [0], [1]])), {"value": 4.0}


def _ties(rng):
    """Yield gradients where values tie, and where products have zeros."""
    index = np.array([[0, 0, 1, 1, 2], [1, 1, 0, 2, 2]])
    for reduce in ("amax", "amin", "prod", "mean", "sum"):
        for include in (True, False):
            for dim in (1, -1):
                base = np.array([[2.0, -1.0, 0.0], [1.5, 2.0, 0.0]])
                source = np.array([[2.0, 2.0, -1.0, -1.0, 0.0], [2.0, 1.0, 1.5, 0.0, 0.0]])
                yield "scatter_reduce", (Leaf(base), dim, index, Leaf(source), reduce), {"include_self": include}
            yield "scatter_reduce", (Leaf(base.T.copy()), 0, index.T.copy(), Leaf(source.T.copy()), reduce), {"include_self": include}
            yield "index_reduce", (Leaf(base), 1, np.array([0, 0, 2]), Leaf(np.array([[2.0, 2.0, 0.0], [1.5, 1.5, 0.0]])), {"sum": "prod"}.get(reduce, reduce)), {"include_self": include}
    tied = np.array([[1.0, 3.0, 3.0], [2.0, -1.0, 2.0], [0.0, 0.0, 0.0]])
    for name in ("amax", "amin"):
        yield name, (Leaf(tied), 1), {}
        yield name, (Leaf(tied), (0, 1)), {}
    for name in ("max", "min", "median", "nanmedian"):
        yield name, (Leaf(tied),), {}
    for name in ("cummax", "cummin", "mode"):
        yield name, (Leaf(tied), 1), {}
    for zeros in (1, 2, 3):
        row = np.array([2.0, -1.5, 3.0, 0.5])
        row[:zeros] = 0.0
        yield "prod", (Leaf(row),), {}
        yield "prod", (Leaf(np.stack([row, row[::-1]])), 1), {"keepdim": zeros == 2}
        yield "cumprod", (Leaf(row), 0), {}
    for name in ("maximum", "minimum", "fmax", "fmin"):
        yield name, (Leaf(np.array([1.0, 2.0, np.nan, 3.0])), Leaf(np.array([1.0, 3.0, 2.0, np.nan]))), {}
    yield "clamp", (Leaf(np.array([-1.0, 0.5, 1.0, 2.0, np.nan])), -1.0, 1.0), {}
    yield "clamp", (Leaf(np.array([-1.0, 0.5, 1.0])), Leaf(np.array([-1.0, 0.75, 0.0])), Leaf(np.array([2.0, 0.5, 1.0]))), {}
    yield "pow", (Leaf(np.array([0.0, 2.0, 0.0, 1.5])), Leaf(np.array([0.0, 0.0, 2.0, -1.0]))), {}
    yield "pow", (0.0, Leaf(np.array([0.0, 2.0, 0.5]))), {}
    yield "xlogy", (Leaf(np.array([0.0, 0.0, 2.0])), Leaf(np.array([0.5, 2.0, 3.0]))), {}
    yield "where", (np.array([True, False, True]), Leaf(np.array([1.0, np.nan, 2.0])), Leaf(np.array([np.inf, 4.0, np.nan]))), {}
    yield "linalg.vector_norm", (Leaf(np.zeros(3)),), {}
    yield "norm", (Leaf(np.array([[0.0, 0.0], [3.0, 4.0]])), 2, 1), {}
    yield "abs", (Leaf(np.array([0.0, -0.0, -2.0])),), {}
    yield "sort", (Leaf(tied),), {"dim": 1, "stable": True}
    yield "sort", (Leaf(tied),), {"dim": 0, "stable": True, "descending": True}


def rows(torch, rng):
    """Yield all rows, numbered within their target."""
    counts: dict = {}
    for target, args, kwargs in [*_table(rng), *_rest(rng), *_ties(rng)]:
        counts[target] = counts.get(target, 0) + 1
        tolerance, reason = ROOM if target in IMPRECISE else (None, "")
        yield Row(f"{target}/{counts[target]}", "function", target, args, kwargs, tolerance=tolerance, reason=reason)
