"""Functions and methods that PyTorch publishes no samples of, or none that are plain data."""


import math

import numpy as np

from ..row import Build, Function, Leaf, Name, Row
from . import distinct, rounded


def _leaf(rng, *shape, **options):
    return Leaf(rounded(rng, *shape, **options))


def _sparse(rng, *shape):
    a = rounded(rng, *shape)
    return Build("Tensor.to_sparse", (a * (rng.integers(0, 2, shape) > 0),))


def _factorisations(rng):
    """Yield factorisations, which are unique but for signs and orders."""
    for n in (3, 4):
        a, s = rounded(rng, n, n), rounded(rng, n, n)
        wide, tall = _leaf(rng, n - 1, n + 1), _leaf(rng, n + 2, n)
        yield "linalg.eig", (Leaf(a + np.diag(np.arange(n) * 3.0)),), {}, "rebuilt from eigenvectors"
        yield "linalg.eigvals", (a,), {}, "in order"
        yield "linalg.eigvals", (Leaf(s + s.T + np.diag(np.arange(n) * 3.0)),), {}, "in order"
        for uplo in "LU":
            yield "linalg.eigh", (Leaf(s),), {"UPLO": uplo}, "rebuilt from eigenvectors"
            yield "linalg.eigh", (s + 1j * rounded(rng, n, n),), {"UPLO": uplo}, "rebuilt from eigenvectors"
        for full in (False, True):
            for matrix in (wide, tall):
                yield "linalg.svd", (matrix if not full else matrix.array,), {"full_matrices": full}, "rebuilt from singular vectors"
                for path in ("svd", "Tensor.svd"):
                    yield path, (matrix if not full else matrix.array,), {"some": not full}, "rebuilt from singular vectors as columns"
        for path in ("svd", "Tensor.svd"):
            yield path, (_leaf(rng, n, 2),), {"compute_uv": False}, "second result"
        yield "linalg.lstsq", (Leaf(rounded(rng, n + 2, n)), _leaf(rng, n + 2, 2)), {}, "first result"
        yield "linalg.lstsq", (rounded(rng, n + 2, n), rounded(rng, n + 2, 2)), {"driver": ("gels", "gelsd")[n - 3]}, None
        yield "linalg.lstsq", (rounded(rng, n, n) + n * np.eye(n), rounded(rng, n, 1)), {"rcond": 0.5, "driver": "gelsd"}, None
        q, tau = rounded(rng, n + 1, n), rounded(rng, n, low=0.25, high=1.5)
        for path in ("linalg.householder_product", "orgqr", "Tensor.orgqr"):
            yield path, (Leaf(q + 0.0), Leaf(tau + 0.0)), {}, None
        for path in ("geqrf", "Tensor.geqrf"):
            yield path, (rounded(rng, n + 1, n),), {}, None
        for path in ("ormqr", "Tensor.ormqr"):
            yield path, (q, tau, rounded(rng, n + 1, 2)), {}, None
            yield path, (q, tau, rounded(rng, n + 1, 2)), {"transpose": True}, None
            yield path, (q, tau, rounded(rng, 2, n + 1)), {"left": False}, None
        yield "chain_matmul", (_leaf(rng, n, 2), _leaf(rng, 2, 5), _leaf(rng, 5, n)), {}, None
        yield "linalg.matmul", (_leaf(rng, n, 2), _leaf(rng, 3, 2, 5)), {}, None
        for path in ("frobenius_norm", "nuclear_norm"):
            yield path, (wide, (0, 1)), {"keepdim": n == 4}, None
        for p in (2, 3):
            yield "norm_except_dim", (_leaf(rng, n, 2, 3), p, n - 3), {}, None
        yield "linalg.vander", (_leaf(rng, n),), {"N": 3}, None
        yield "linalg.vander", (_leaf(rng, 2, n),), {}, None
    for order in (0, 1, 3):
        for path in ("polygamma", "special.polygamma"):
            yield path, (order, _leaf(rng, 4, low=0.25, high=3.0)), {}, None
        for path in ("Tensor.polygamma", "Tensor.polygamma_"):
            yield path, (order, _leaf(rng, 4, low=0.25, high=3.0))[::-1], {}, None
    basis = rounded(rng, 9, 9)
    yield "lobpcg", (basis @ basis.T + np.diag(np.arange(9) * 4.0),), {"k": 2, "niter": 200, "tol": 1e-12}, "first result"
    other = rounded(rng, 10, 10)
    yield "lobpcg", (other @ other.T + np.diag(np.arange(10) * 4.0), 1), {"largest": False, "niter": 300, "tol": 1e-13}, "first result"
    yield "lobpcg", (other @ other.T / 4 + np.diag(np.arange(10) * 2.0), 2, np.diag(np.arange(10) % 3 + 1.5)), {
        "method": "basic", "niter": 40, "tol": 1e-8, "X": rounded(rng, 10, 2), "iK": np.diag(np.arange(10) % 4 + 0.5), "n": None}, "first result"


def _networks(rng):
    """Yield functions of the top level that layers are made of, whose arguments all have to be said."""
    for align in (False, True):
        yield "affine_grid_generator", (_leaf(rng, 2, 2, 3), [2, 1, 3, 4], align), {}
        yield "affine_grid_generator", (_leaf(rng, 1, 3, 4), [1, 2, 2, 3, 2], align), {}
        for mode in (0, 1):
            yield "grid_sampler", (_leaf(rng, 1, 2, 3, 4), _leaf(rng, 1, 2, 3, 2), mode, 1 + align - mode, align), {}
            yield "grid_sampler", (_leaf(rng, 1, 2, 3, 4, 2), _leaf(rng, 1, 2, 3, 2, 3), mode, mode, align), {}
    yield "grid_sampler", (_leaf(rng, 1, 2, 3, 4), _leaf(rng, 1, 2, 3, 2), 2, 2, False), {}
    for rank, size in ((1, (5,)), (2, (4, 5))):
        ones = (1,) * rank
        yield "convolution", (_leaf(rng, 2, 4, *size), _leaf(rng, 6, 2, *(2,) * rank), _leaf(rng, 6), ones, (1,) * rank, ones, False, (0,) * rank, 2), {}
        yield "convolution", (_leaf(rng, 2, 4, *size), _leaf(rng, 4, 3, *(2,) * rank), None, (2,) * rank, (0,) * rank, ones, True, ones, 1), {}
    yield "conv_tbc", (_leaf(rng, 5, 2, 3), _leaf(rng, 2, 3, 4), _leaf(rng, 4)), {}
    yield "conv_tbc", (_leaf(rng, 5, 2, 3), _leaf(rng, 3, 3, 2), _leaf(rng, 2), 1), {}
    for i, (shape, groups) in enumerate((((2, 6, 2, 3), 2), ((1, 6, 4), 3))):
        yield "native_channel_shuffle", (rounded(rng, *shape), groups), {}
        yield "max_pool1d_with_indices", (Leaf(distinct(rng, 2, 3, 7)), 2 + i), {"stride": 2, "padding": i, "ceil_mode": i == 1}
        yield "max_pool1d_with_indices", (Leaf(distinct(rng, 3, 7)), 3), {"dilation": 1 + i}
    index = rng.integers(0, 6, (3, 4))
    for kwargs in ({}, {"padding_idx": 2}, {"scale_grad_by_freq": True}):
        yield "embedding", (_leaf(rng, 6, 3), index), kwargs
    for norm in (2.0, 1.0):
        yield "embedding_renorm_", (rounded(rng, 6, 3), np.array([1, 3, 3, 4]), 1.25, norm), {}
    for mode in (0, 1, 2):
        yield "embedding_bag", (_leaf(rng, 6, 3), rng.integers(0, 6, 10), np.array([0, 3, 7]), False, mode), {}
    yield "embedding_bag", (_leaf(rng, 6, 3), rng.integers(0, 6, 10), np.array([0, 3, 10]), False, 0, False, _leaf(rng, 10), True), {}
    x = _leaf(rng, 6)
    for low, high in ((0, 255), (-8, 7)):
        yield "fake_quantize_per_tensor_affine", (Leaf(distinct(rng, 3, 4, step=0.75)), 0.5, 1, low, high), {}
        yield "fake_quantize_per_tensor_affine", (Leaf(distinct(rng, 3, 4, step=0.75, dtype="float32")), np.array(0.25, np.float32), np.array(-2 if low else 3, np.int32), low, high), {}
        yield "fake_quantize_per_channel_affine", (Leaf(distinct(rng, 3, 4, step=0.75, dtype="float32")), np.array([0.5, 0.25, 2.0], np.float32), np.array([0, 1, 3], np.int32), 0, low, high), {}
    for p, train in ((0.25, False), (0.0, True), (1.0, True), (0.75, False)):
        for name in ("dropout", "alpha_dropout", "feature_dropout", "feature_alpha_dropout"):
            if name.endswith("alpha_dropout") and p == 1.0:
                continue
            yield name, (_leaf(rng, 2, 3, 4), p, train), {}
            yield f"{name}_", (_leaf(rng, 2, 3, 4), p, train), {}
        yield "native_dropout", (_leaf(rng, 2, 3), p, train), {}
    for name in ("dropout", "alpha_dropout", "feature_alpha_dropout", "dropout1d", "dropout2d", "dropout3d"):
        shape = {"dropout2d": (2, 3, 4, 5), "dropout3d": (2, 3, 2, 2, 2)}.get(name, (2, 3, 4))
        yield f"nn.functional.{name}", (_leaf(rng, *shape), 0.25), {"training": False}
        yield f"nn.functional.{name}", (_leaf(rng, *shape), 0.0), {"training": True, "inplace": False}
    for name in ("rrelu", "nn.functional.rrelu"):
        yield name, (Leaf(distinct(rng, 3, 4)),), {}
        yield name, (Leaf(distinct(rng, 3, 4)), 0.25, 0.75), {}
        yield f"{name}_", (Leaf(distinct(rng, 3, 4)),), {}
        yield f"{name}_", (Leaf(distinct(rng, 3, 4)), 0.25, 0.75), {}
    yield from _recurrent(rng)
    yield from _losses(rng)
    for rank in (1, 2, 3):
        shape = {1: (2, 3, 7), 2: (2, 3, 5, 6), 3: (1, 2, 4, 3, 5)}[rank]
        for i in range(2):
            yield f"nn.functional.max_pool{rank}d_with_indices", (Leaf(distinct(rng, *shape)), 2 + (i and rank < 3)), {"stride": 1 + i, "padding": 1, "ceil_mode": i == 1}
            yield f"nn.functional.adaptive_max_pool{rank}d_with_indices", (Leaf(distinct(rng, *shape)), 2 + i), {}
    for rank in (2, 3):
        samples = rng.uniform(0, 1, (2, 3, rank)).round(3)
        for name in (f"fractional_max_pool{rank}d", f"fractional_max_pool{rank}d_with_indices"):
            yield f"nn.functional.{name}", (Leaf(distinct(rng, *(2, 3, 6, 8, 7)[:rank + 2])), 2), {"output_ratio": (0.5, 0.75, 0.625)[:rank], "_random_samples": samples}
            yield f"nn.functional.{name}", (Leaf(distinct(rng, *(2, 3, 6, 8, 7)[:rank + 2])), 2), {"output_size": (3, 4, 3)[:rank], "_random_samples": samples}
    heads = {"in_proj_bias": _leaf(rng, 24), "bias_k": None, "bias_v": None, "add_zero_attn": False, "dropout_p": 0.0, "out_proj_weight": _leaf(rng, 8, 8), "out_proj_bias": _leaf(rng, 8)}
    for need in (True, False):
        yield "nn.functional.multi_head_attention_forward", (_leaf(rng, 3, 2, 8), _leaf(rng, 5, 2, 8), _leaf(rng, 5, 2, 8), 8, 2 + 2 * need, _leaf(rng, 24, 8)), heads | {"need_weights": need}
    yield "segment_reduce", (x, "sum"), {"lengths": np.array([2, 0, 4])}
    for reduce in ("mean", "max", "min", "prod"):
        yield "segment_reduce", (Leaf(distinct(rng, 6, 2)), reduce), {"lengths": np.array([1, 3, 2])}
    yield "segment_reduce", (Leaf(distinct(rng, 6)), "sum"), {"offsets": np.array([0, 2, 6]), "initial": 1.5}
    yield "histogramdd", (rounded(rng, 9, 2), [3, 2]), {}
    yield "histogramdd", (rounded(rng, 9, 2), [np.array([-2.0, 0.5, 2.0]), np.array([-2.0, -1.0, 1.0, 2.0])]), {"weight": rounded(rng, 9), "density": True}
    yield "histogramdd", (rounded(rng, 9, 1), 4), {"range": [-1.0, 1.5]}


def _recurrent(rng):
    """Yield recurrent networks and cells by their weights."""
    for name, gates in (("lstm", 4), ("gru", 3), ("rnn_tanh", 1), ("rnn_relu", 1)):
        def weights(size, gates=gates):
            return [_leaf(rng, gates * 4, size), _leaf(rng, gates * 4, 4)]

        def state(*shape, name=name):
            return (_leaf(rng, *shape), _leaf(rng, *shape)) if name == "lstm" else _leaf(rng, *shape)

        biases = [_leaf(rng, gates * 4), _leaf(rng, gates * 4)]
        yield name, (_leaf(rng, 5, 2, 3), state(1, 2, 4), [*weights(3), *biases], True, 1, 0.0, False, False, False), {}
        yield name, (_leaf(rng, 2, 5, 3), state(2, 2, 4), [*weights(3), *weights(3)], False, 1, 0.0, True, True, True), {}
        yield name, (_leaf(rng, 5, 2, 3), state(2, 2, 4), [*weights(3), *weights(4)], False, 2, 0.0, False, False, False), {}
        yield f"{name}_cell", (_leaf(rng, 2, 3), state(2, 4), *weights(3)), {}
        yield f"{name}_cell", (_leaf(rng, 2, 3), state(2, 4), *weights(3), *biases), {}


def _losses(rng):
    """Yield losses of the top level, whose reductions are numbers; default ones are among the meant differences."""
    x = (lambda *shape: _leaf(rng, *shape))
    signs = rng.choice([-1.0, 1.0], 5)
    for reduction in (0, 1, 2, None):
        k = {"reduction": reduction} if reduction is not None else {}
        yield "triplet_margin_loss", (x(5, 3), x(5, 3), x(5, 3)), k
        yield "binary_cross_entropy_with_logits", (x(5, 2), rounded(rng, 5, 2, low=0, high=1)), k
        yield "cosine_embedding_loss", (x(5, 3), x(5, 3), signs + 0), k
        yield "hinge_embedding_loss", (x(5), signs + 0), k
        yield "margin_ranking_loss", (x(5), x(5), signs + 0), k
        yield "kl_div", (_leaf(rng, 3, 4, low=-3, high=-0.25), rounded(rng, 3, 4, low=0, high=1)), k
        if reduction is not None:
            yield "triplet_margin_loss", (x(5, 3), x(5, 3), x(5, 3), 0.25, 3.0, 0.25, True, reduction), {}
            yield "binary_cross_entropy_with_logits", (x(5, 2), rounded(rng, 5, 2, low=0, high=1), rounded(rng, 2, low=0.25), rounded(rng, 2, low=0.25), reduction), {}
            yield "cosine_embedding_loss", (x(5, 3), x(5, 3), signs + 0, 0.25, reduction), {}
            yield "hinge_embedding_loss", (x(5), signs + 0, 0.25, reduction), {}
            yield "margin_ranking_loss", (x(5), x(5), signs + 0, 0.25, reduction), {}
            yield "kl_div", (_leaf(rng, 3, 4, low=-3, high=-0.25), rounded(rng, 3, 4, low=-2, high=-0.25), reduction), {"log_target": True}
            for full in (False, True):
                yield "poisson_nll_loss", (_leaf(rng, 2, 4, low=0.125), np.array([[0.0, 1.0, 2.0, 5.0], [0.5, 3.0, 1.25, 9.0]]), full, not full, 0.125, reduction), {}


def _shapes(rng):
    """Yield functions that copy or arrange, and what tells of tensors."""
    x = _leaf(rng, 3, 4)
    for path in ("as_strided", "Tensor.as_strided", "as_strided_copy"):
        yield path, (x, (2, 3), (4, 1), 1), {}
        yield path, (_leaf(rng, 12), (3, 2), (2, 2)), {}
    yield "as_strided_", (rounded(rng, 12), (3, 2), (2, 1), 1), {}
    yield "as_strided_", (rounded(rng, 12), (4,), (3,)), {}
    yield "Tensor.as_strided_", (rounded(rng, 12), (3, 2), (2, 1), 1), {}
    yield "Tensor.as_strided_", (rounded(rng, 12), (4,), (3,)), {}
    for dim, index in ((0, 1), (-1, -2)):
        yield "select_copy", (x, dim, index), {}
    for args in ((0, 1, 3, 1), (1, 0, 4, 2), (-1, -3, 100), (1, 2)):
        yield "slice_copy", (x, *args), {}
        yield "slice_scatter", (x, Leaf(rounded(rng, *_sliced(x.array, *args).shape)), *args), {}
        yield "Tensor.slice_scatter", (x, Leaf(rounded(rng, *_sliced(x.array, *args).shape)), *args), {}
    base = rounded(rng, 3, 4)
    for path in ("slice_inverse", "Tensor.slice_inverse"):
        for dim, start in ((1, 1), (0, 0)):
            view = Build("Tensor.narrow", (rounded(rng, 3, 4), dim, start, 2))
            yield path, (view, base + 0, dim, start, start + 2, 1), {}
    for size, dim in ((2, 0), (3, 1)):
        yield "split_copy", (x, size, dim), {}
    for path in ("unsafe_split_with_sizes", "Tensor.unsafe_split_with_sizes"):
        yield path, (x, [1, 2], 0), {}
        yield path, (x, [1, 3], 1), {}
    for path in ("view_as_real", "view_as_real_copy"):
        yield path, (Leaf(rounded(rng, 3) + 1j * rounded(rng, 3)),), {}
        yield path, (Leaf((rounded(rng, 2, 2) + 1j * rounded(rng, 2, 2)).astype(np.complex64)),), {}
    yield "view_as_complex", (_leaf(rng, 3, 2),), {}
    for name in ("view_as_complex_copy", "detach_copy"):
        yield name, (rounded(rng, 3, 2),), {}
        yield name, (rounded(rng, 2, 2, 2, dtype="float32"),), {}
    for name in ("detach", "Tensor.detach", "imag", "real"):
        for value in (_leaf(rng, 3) if name not in ("imag",) else Leaf(rounded(rng, 3) + 1j * rounded(rng, 3)), Leaf(rounded(rng, 2) + 1j * rounded(rng, 2))):
            yield name, (value,), {}
    truth = rng.integers(0, 2, (3, 4)) > 0
    yield "where", (truth,), {}
    yield "where", (truth, x, 1.5), {}
    yield "where", (truth[:, :1], _leaf(rng, 4), _leaf(rng, 3, 1)), {}
    yield "Tensor.where", (x, truth, -2.0), {}
    yield "Tensor.where", (x, truth, _leaf(rng, 4)), {}
    yield "zero_", (x,), {}
    yield "zero_", (rng.integers(1, 5, 3),), {}
    yield "Tensor.zero_", (x,), {}
    yield "Tensor.zero_", (rng.integers(1, 5, 3),), {}
    for wrap in (False, True):
        yield "Tensor.fill_diagonal_", (_leaf(rng, 7, 3), 2.5), {"wrap": wrap}
        yield "Tensor.fill_diagonal_", (_leaf(rng, 3, 4), -1.5), {"wrap": wrap}
    yield "Tensor.copy_", (x, _leaf(rng, 4)), {}
    yield "Tensor.copy_", (x, rng.integers(-3, 4, (3, 4))), {}
    yield "Tensor.copy_", (rng.integers(-3, 4, (3, 4)), rounded(rng, 3, 4)), {}
    yield "Tensor.map_", (rounded(rng, 3), rounded(rng, 3), Function("difference doubled")), {}
    yield "Tensor.map_", (rounded(rng, 2, 3), rounded(rng, 3), Function("difference doubled")), {}
    yield "Tensor.map2_", (rounded(rng, 3), rounded(rng, 3), rounded(rng, 3), Function("sum of three")), {}
    yield "Tensor.map2_", (rounded(rng, 2), rounded(rng, 2), rounded(rng, 1), Function("sum of three")), {}
    yield "Tensor.apply_", (rounded(rng, 3), Function("plus a quarter")), {}
    yield "Tensor.apply_", (rounded(rng, 2, 2), Function("plus a quarter")), {}
    for i, value in enumerate((rounded(rng, 2, 3), rng.integers(-3, 4, 3).astype(np.int32), np.array(1.5, np.float32), rounded(rng, 0, 2).astype(np.complex64))):
        for name in ("dim", "ndimension", "nelement", "numel", "element_size", "get_device", "is_complex", "is_floating_point", "is_signed", "is_conj", "is_neg",
                     "is_inference", "size", "stride", "storage_offset", "tolist", "is_contiguous", "dim_order", "is_shared", "is_pinned"):
            if not ((value.ndim == 0 and name in ("size", "stride", "dim_order")) or (not value.size and name in ("tolist", "stride"))):  # nothing to compare
                yield f"Tensor.{name}", (value,), {}
        for name in ("numel", "is_complex", "is_floating_point", "is_signed", "is_conj", "is_neg", "is_inference", "get_device", "is_tensor"):
            yield name, (value,), {}
        yield "is_storage", (value,), {}
        yield "is_tensor", (i,), {}
        if value.ndim:
            yield "Tensor.__len__", (value,), {}
    for path in ("is_same_size", "Tensor.is_same_size"):
        yield path, (x, _leaf(rng, 3, 4)), {}
        yield path, (x, _leaf(rng, 4, 3)), {}
    yield "Tensor.is_set_to", (rounded(rng, 2), rounded(rng, 2)), {}
    yield "Tensor.is_set_to", (rounded(rng, 2), rng.integers(0, 9, 3)), {}
    for path in ("is_nonzero", "Tensor.is_nonzero", "Tensor.__bool__"):
        yield path, (np.array(2.5),), {}
        yield path, (np.array([[0]]),), {}
    for n, name in enumerate(("__int__", "__float__", "__index__", "__complex__", "item")):
        yield f"Tensor.{name}", (np.array(-7 - n),), {}
        yield f"Tensor.{name}", (np.array([2.75]) if name != "__index__" else np.array([5], np.uint8),), {}
    yield "Tensor.__contains__", (np.array([1.5, 2.0]), 2), {}
    yield "Tensor.__contains__", (np.array([1.5, 2.0]), 3.5), {}
    yield "Tensor.size", (x, -1), {}
    yield "Tensor.stride", (x, 0), {}
    for kind in ("float32", "int64", "complex64", "bool"):
        yield "Tensor.type", (rounded(rng, 2, 3), Name(kind)), {}
        yield "Tensor.type_as", (rounded(rng, 3), rounded(rng, 1).astype(kind)), {}
        yield "Tensor.to", (rounded(rng, 3), Name(kind)), {}
        yield "Tensor.new_tensor", (rounded(rng, 1).astype(kind), [[1, 2], [0, 4]]), {}
        yield "Tensor.to", (rounded(rng, 3), rounded(rng, 1).astype(kind)), {}
    yield "Tensor.to", (_leaf(rng, 3), "cpu", Name("float32")), {"copy": True}
    yield "Tensor.new_tensor", (rounded(rng, 1), 1.5), {"dtype": Name("int32")}
    for name in ("bfloat16", "bool", "byte", "cdouble", "cfloat", "char", "double", "float", "half", "int", "long", "short", "cpu"):
        yield f"Tensor.{name}", (Leaf(np.array([0.75, -3.5, 0.0, 250.25]) if name not in ("byte", "char") else np.array([0.75, 3.5, 0.0, 100.25])),), {}
        yield f"Tensor.{name}", (rng.integers(0, 100, (2, 2)),), {}
    for path in ("sym_max", "sym_min"):
        yield path, (2, 3.5), {}
        yield path, (4, -1), {}
    for path, values in (("sym_float", (3, 2.5)), ("sym_int", (3.75, -2.5)), ("sym_not", (True, False)), ("sym_sqrt", (4.0, 2))):
        for value in values:
            yield path, (value,), {}
    yield "sym_ite", (True, 2, 3), {}
    yield "sym_ite", (False, 2, 3), {}
    yield "sym_sum", ([2, 3, 5],), {}
    yield "sym_sum", ([7],), {}
    yield "Tensor.resize_", (rounded(rng, 2, 3), 3, 2), {}
    yield "Tensor.resize_", (rounded(rng, 2, 3), (4,)), {}
    yield "Tensor.resize_as_", (rounded(rng, 2, 3), rounded(rng, 5)), {}
    yield "Tensor.resize_as_", (rounded(rng, 2, 3), rounded(rng, 3, 1)), {}
    yield "Tensor.set_", (rounded(rng, 2, 3), rounded(rng, 5)), {}
    yield "Tensor.set_", (rounded(rng, 2), rounded(rng, 3, 1)), {}


def _attributes(rng):
    """Yield attributes and operators of one tensor."""
    table, numbers = (lambda: _leaf(rng, 2, 3)), (lambda *shape: Leaf(rounded(rng, *shape) + 1j * rounded(rng, *shape)))
    for name in ("T", "H"):
        yield name, (table(),), {}
        yield name, (numbers(3, 2),), {}
    for name in ("mT", "mH"):
        yield name, (_leaf(rng, 2, 3, 4),), {}
        yield name, (numbers(3, 2),), {}
    yield "real", (table(),), {}
    yield "real", (numbers(3),), {}
    yield "imag", (numbers(3),), {}
    yield "imag", (numbers(2, 2),), {}
    yield "data", (table(),), {}
    yield "data", (rng.integers(0, 9, 3),), {}
    for name in ("shape", "ndim", "itemsize", "nbytes", "dtype", "is_leaf", "requires_grad", "is_cpu", "is_cuda", "is_meta", "is_sparse",
                 "is_sparse_csr", "is_quantized", "is_mkldnn", "is_nested", "is_mps", "is_xpu", "output_nr", "retains_grad"):
        for value in (table(), rng.integers(0, 9, 3).astype(np.int16), _sparse(rng, 3, 4)):
            if name not in ("output_nr", "retains_grad", "itemsize", "nbytes") or not isinstance(value, Build):
                yield name, (value,), {}


def _operators(rng):
    """Yield operators of Python that have no rows of numbers, and what iterates."""
    for name in ("__neg__", "__pos__", "__abs__"):
        yield f"Tensor.{name}", (Leaf(distinct(rng, 2, 3)),), {}
        yield f"Tensor.{name}", (rng.integers(-9, 9, 4),), {}
    for value in (rng.integers(-9, 9, 4), rng.integers(0, 2, 3) > 0, np.arange(3, dtype=np.uint8)):
        yield "Tensor.__invert__", (value,), {}
    for left, right in (((2, 3), (3, 4)), ((3,), (3,)), ((2, 1, 2, 3), (4, 3, 2)), ((3,), (3, 2))):
        yield "Tensor.__matmul__", (_leaf(rng, *left), _leaf(rng, *right)), {}
        yield "Tensor.__rmatmul__", (_leaf(rng, *right), _leaf(rng, *left)), {}
    for name in ("__iter__", "__reversed__"):
        yield f"Tensor.{name}", (_leaf(rng, 3),), {}
        yield f"Tensor.{name}", (_leaf(rng, 2, 3),), {}
    for value in (rounded(rng, 2, 3), rng.integers(0, 9, 3)):
        yield "Tensor.__deepcopy__", (value, {}), {}
    for name in ("adjoint", "Tensor.adjoint"):
        yield name, (Leaf(rounded(rng, 2, 3) + 1j * rounded(rng, 2, 3)),), {}
        yield name, (_leaf(rng, 2, 3, 4),), {}
    for name in ("detach_", "Tensor.detach_"):
        yield name, (rounded(rng, 3),), {}
        yield name, (rng.integers(0, 9, (2, 2)),), {}
    yield "Tensor.requires_grad_", (rounded(rng, 3),), {}
    yield "Tensor.requires_grad_", (rounded(rng, 2, 2), False), {}
    for args in ((0, 4), (1.5, 4.0, 0.5), (3, 0, -1), (0.0, 1.0, 0.25), (0, 4.5), (2, -6, -3), (0.25, 2.0, 0.5)):
        yield "range", args, {}
        yield "range", args, {"dtype": Name("float64")}
    for left, right in (((2, 3), (3, 2)), ((3,), (2,)), ((2,), (3, 1, 2))):
        for name in ("kron", "Tensor.kron"):
            yield name, (_leaf(rng, *left), _leaf(rng, *right)), {}


def _layers(rng):
    """Yield layers of the top level by their tensors."""
    free = (lambda *shape: Leaf(distinct(rng, *shape)))
    for rank, shape in ((1, (2, 3, 7)), (2, (2, 3, 5, 6)), (3, (1, 2, 4, 3, 5))):
        yield f"max_pool{rank}d", (free(*shape), 2), {}
        yield f"max_pool{rank}d", (free(*shape[1:]), 2, 1, 1), {"ceil_mode": True}
        yield f"max_pool{rank}d", (free(*shape), 2), {"stride": 1, "dilation": 2}
    for size in (2, 5):
        yield "adaptive_max_pool1d", (free(2, 3, 7), size), {}
    for train in (False, True):
        for affine in (False, True):
            weight, bias = (_leaf(rng, 3), _leaf(rng, 3)) if affine else (None, None)
            mean, var = rounded(rng, 3), rounded(rng, 3, low=0.5)
            eps = 0.25 if train else 2.0 ** -8
            yield "batch_norm", (_leaf(rng, 4, 3, 2), weight, bias, mean, var, train, 0.125, eps, False), {}
            yield "instance_norm", (_leaf(rng, 4, 3, 5), weight, bias, mean + 1, var + 1, train, 0.125, eps, False), {}
    lengths, targets = np.array([7, 6]), np.array([[1, 2, 2], [2, 1, 3]])
    for reduction in (0, 1, 2):
        yield "ctc_loss", (_logs(rng, 7, 2, 4), targets + 0, lengths + 0, np.array([3, 2]), 0, reduction, reduction == 1), {}
    yield "ctc_loss", (_logs(rng, 7, 2, 4), targets % 3, lengths + 0, np.array([2, 2]), 3, 1), {}
    for interpolation, padding, align in ((0, 0, False), (1, 1, True), (2, 2, False), (0, 2, True)):
        yield "grid_sampler_2d", (_leaf(rng, 1, 2, 3, 4), _leaf(rng, 1, 2, 3, 2), interpolation, padding, align), {}
    for rows, symmetric in ((False, False), (False, True), (True, False), (True, True)):
        count = 3 if rows else 1
        state = [np.full(count, v, "float32") + np.arange(count, dtype="float32") for v in (-1.5, 1.25, 1.0)]
        yield "fused_moving_avg_obs_fake_quant", (Leaf(rounded(rng, 3, 4, dtype="float32")), np.array([1]), np.array([1]), *state,
                                                  np.zeros(count, np.int32), 0.25, 0, 255 if not symmetric else 127, 0, rows, symmetric), {}


def _varied(rng):
    """Yield second values of parameters that samples leave at one."""
    x, square = (lambda *shape: _leaf(rng, *shape)), (3, 3)
    for name in ("add", "sub", "subtract"):
        yield f"Tensor.{name}_", (x(2, 3), x(3)), {"alpha": 2.5}
        yield f"Tensor.{name}_", (rng.integers(-9, 9, 4), 3), {"alpha": -2}
    for name, shapes in (("addbmm", ((2, 4), (3, 2, 5), (3, 5, 4))), ("baddbmm", ((3, 2, 4), (3, 2, 5), (3, 5, 4))), ("addmv", ((2,), (2, 3), (3,)))):
        yield f"Tensor.{name}_", tuple(x(*shape) for shape in shapes), {"beta": 0.5, "alpha": -1.5}
        if name == "addmv":
            yield f"{name}_", tuple(x(*shape) for shape in shapes), {"beta": 0.5, "alpha": -1.5}
    for name in ("fill_", "Tensor.fill_"):
        yield name, (x(2, 3), -1.25), {}
        yield name, (x(3), np.array(2.5)), {}
    yield "Tensor.lerp_", (x(2, 3), x(3), 0.25), {}
    yield "Tensor.lerp_", (x(2, 3), x(2, 3), x(2, 1)), {}
    for name in ("nan_to_num_", "Tensor.nan_to_num_"):
        yield name, (np.array([np.nan, 1.5, np.inf, -np.inf]), 2.0, 3.0, -4.5), {}
    yield "Tensor.scatter_", (x(3, 4), 0, np.array([[2, 0, 1, 1]]), 1.5), {}
    yield "Tensor.scatter_", (rounded(rng, 3, 4), 1, np.array([[2], [0], [1]]), -2.5), {"reduce": "add"}
    for alpha in (0.5, 2.0):
        for name in ("celu", "celu_"):
            yield name, (Leaf(distinct(rng, 2, 3)), alpha), {}
    yield "Tensor.where", (x(4), np.array([True, False, False, True]), x(4)), {}
    yield "Tensor.to_dense", (_sparse(rng, *square),), {"masked_grad": False}
    for name in ("rrelu", "nn.functional.rrelu"):
        yield name, (Leaf(distinct(rng, 3, 4)), 0.25, 0.25, True), {}
        yield f"{name}_", (Leaf(distinct(rng, 3, 4)), 0.25, 0.25, True), {}
    yield "nn.functional.rrelu", (distinct(rng, 3, 4), 0.25, 0.5), {"inplace": True}
    for name in ("dropout", "alpha_dropout", "feature_alpha_dropout", "dropout1d", "dropout2d", "dropout3d"):
        yield f"nn.functional.{name}", (rounded(rng, 2, 3, 4, *(2, 2)[:int(name[-2]) - 1 if name[-1] == "d" else 0]), 0.75), {"training": False, "inplace": True}
    for name, n, shape in (("fractional_max_pool2d", 3, (2, 3, 8, 7)), ("fractional_max_pool3d", 3, (2, 3, 6, 7, 8))):
        draws = rng.uniform(0, 1, (2, 3, len(shape) - 2)).round(3)
        yield f"nn.functional.{name}", (Leaf(distinct(rng, *shape)), n), {"output_size": 2, "return_indices": True, "_random_samples": draws}
        yield f"nn.functional.{name}_with_indices", (Leaf(distinct(rng, *shape)), n), {"output_size": 2, "_random_samples": draws}
    for rank, shape in ((1, (3, 9)), (2, (3, 7, 8)), (3, (2, 7, 8, 7))):
        yield f"nn.functional.max_pool{rank}d_with_indices", (Leaf(distinct(rng, *shape)), 3), {"dilation": 2, "stride": 1}
        yield f"max_pool{rank}d", (Leaf(distinct(rng, *shape)), 3), {}
    yield "fused_moving_avg_obs_fake_quant", (Leaf(rounded(rng, 3, 4, dtype="float32")), np.array([0]), np.array([1]), *[np.array([v], "float32") for v in (-1.0, 1.5, 1.0)],
                                              np.zeros(1, np.int32), 0.5, -128, 127, 0), {}
    yield "fused_moving_avg_obs_fake_quant", (Leaf(rounded(rng, 3, 4, dtype="float32")), np.array([1]), np.array([0]), *[np.array([v], "float32") for v in (-1.0, 1.5, 1.0)],
                                              np.zeros(1, np.int32), 0.5, -128, 127, 1), {}
    yield "fake_quantize_per_channel_affine", (Leaf(distinct(rng, 3, 2, step=0.75, dtype="float32")), np.array([0.75, 0.5], np.float32), np.array([2, -1], np.int32), 1, -8, 7), {}
    for train in (False, True):
        weight, bias, mean, var = x(4), x(4), rounded(rng, 4), rounded(rng, 4, low=0.5)
        yield "batch_norm", (x(3, 4), weight, bias, mean, var, train, 0.75, 0.5, True), {}
    yield "segment_reduce", (x(2, 5), "max"), {"lengths": np.array([[2, 3], [4, 1]]), "axis": 1}
    yield "segment_reduce", (x(6), "mean"), {"lengths": np.array([2, 4]), "unsafe": True}
    yield "embedding", (x(5, 2), np.array([4, 0, 0])), {}
    yield "embedding_renorm_", (rounded(rng, 4, 3), np.array([0, 2]), 0.5, 3.0), {}
    yield "embedding_bag", (x(6, 3), rng.integers(0, 6, 10), np.array([0, 3, 7]), True, 0, False, None, False, 2), {}
    for reduction in (0, 1):
        signs = rng.choice([-1.0, 1.0], 4)
        yield "cosine_embedding_loss", (x(4, 3), x(4, 3), signs, 0.5, reduction), {}
        yield "margin_ranking_loss", (x(4), x(4), -signs, 0.5, reduction), {}
        yield "poisson_nll_loss", (_leaf(rng, 4, low=2.0 ** -20, high=0.125), np.array([1.5, 0.25, 3.0, 4.5]), False, True, 2.0 ** -9, reduction), {}
    yield "ctc_loss", (_logs(rng, 6, 2, 4), np.array([[1, 2], [2, 1]]), np.array([6, 5]), np.array([2, 1]), 0, 0), {}
    for name in ("frobenius_norm", "nuclear_norm"):
        yield name, (x(2, 3, 4), (0, 2)), {}
        yield name, (x(2, 3, 4), (-1, 1)), {"keepdim": True}
    view = Build("Tensor.narrow", (rounded(rng, 5), 0, 2, 2))
    yield "slice_inverse", (view, rounded(rng, 5), 0, 2, 4, 1), {}
    yield "split_copy", (x(5), 2), {}
    yield "sym_ite", (True, 5, 7), {}
    yield "Tensor.map_", (rounded(rng, 3), rounded(rng, 3), Function("mean of two")), {}
    yield "Tensor.map2_", (rounded(rng, 3), rounded(rng, 3), rounded(rng, 3), Function("product less one")), {}
    yield "Tensor.apply_", (rounded(rng, 3), Function("square")), {}


def _sparse_varied(rng):
    """Yield second values of parameters of sparse tensors."""
    blocks, table = np.kron(np.eye(2), np.ones((2, 2))), np.eye(3, 4)
    yield "Tensor.to_sparse", (rounded(rng, 3, 4, 2) * table[..., None], 2), {}
    yield "Tensor.to_sparse", (rounded(rng, 3, 4, 2) * table[..., None],), {"layout": Name("sparse_csr"), "dense_dim": 1}
    yield "Tensor.to_sparse", (rounded(rng, 4, 4) * blocks,), {"layout": Name("sparse_bsc"), "blocksize": (2, 2)}
    for layout in ("csr", "csc"):
        yield f"Tensor.to_sparse_{layout}", (rounded(rng, 3, 4, 2) * table[..., None], 1), {}
    for layout in ("bsr", "bsc"):
        yield f"Tensor.to_sparse_{layout}", (rounded(rng, 4, 4, 3) * blocks[..., None], (1, 2), 1), {}
    values, checked = rounded(rng, 2), {"check_invariants": True}
    yield "sparse_coo_tensor", (np.array([[0, 1], [1, 0]]), values, (2, 2)), {"is_coalesced": False} | checked
    yield "sparse_csr_tensor", (np.array([0, 2, 2]), np.array([0, 2]), values, (2, 3)), checked
    yield "sparse_csc_tensor", (np.array([0, 1, 1, 2]), np.array([1, 0]), values, (2, 3)), checked
    for name in ("sparse_bsr_tensor", "sparse_bsc_tensor"):
        yield name, (np.array([0, 0, 1]), np.array([0]), rounded(rng, 1, 2, 2), (4, 4)), checked
    for layout, compressed, plain in (("csr", [0, 2, 2], [0, 2]), ("csc", [0, 1, 1, 2], [1, 0])):
        yield "sparse_compressed_tensor", (np.array(compressed), np.array(plain), values, (2, 3)), {"layout": Name(f"sparse_{layout}")} | checked
    yield "instance_norm", (_leaf(rng, 2, 3, 4), None, None, rounded(rng, 3), rounded(rng, 3, low=0.5), True, 0.75, 0.5, True), {}
    yield "Tensor.set_", (rounded(rng, 2, 3), rounded(rng, 7), 1, (2, 2), (3, 1)), {}
    yield "slice_inverse", (Build("Tensor.__getitem__", (rounded(rng, 6), slice(1, 6, 2))), rounded(rng, 6), 0, 1, 6, 2), {}
    yield "asarray", (rounded(rng, 3),), {"copy": True}
    yield "Tensor.dim_order", (rounded(rng, 2, 3),), {"ambiguity_check": True}


def _heads(rng):
    """Yield attention by weights: own sizes of keys and values, biases, masks, averages."""
    name = "nn.functional.multi_head_attention_forward"
    q, k, v = (_leaf(rng, n, 2, 8) for n in (4, 5, 5))
    last = {"out_proj_weight": _leaf(rng, 8, 8), "out_proj_bias": None, "dropout_p": 0.5, "training": False}
    mask = np.where(rng.integers(0, 3, (4, 5)) == 0, -math.inf, 0.0)
    padding = np.array([[False, False, True, False, False], [False, False, False, True, True]])
    yield name, (q, k, v, 8, 2, _leaf(rng, 24, 8), None, _leaf(rng, 1, 1, 8), _leaf(rng, 1, 1, 8), True), last | {"attn_mask": mask, "key_padding_mask": padding * -2.5}
    own = {"use_separate_proj_weight": True, "q_proj_weight": _leaf(rng, 8, 8), "k_proj_weight": _leaf(rng, 8, 6), "v_proj_weight": _leaf(rng, 8, 3)}
    yield name, (_leaf(rng, 4, 2, 8), _leaf(rng, 5, 2, 6), _leaf(rng, 5, 2, 3), 8, 4, None, _leaf(rng, 24), None, None, False), last | own | {"average_attn_weights": False}
    fixed = {"static_k": _leaf(rng, 8, 5, 2), "static_v": _leaf(rng, 8, 5, 2), "need_weights": False}
    yield name, (_leaf(rng, 4, 2, 8), _leaf(rng, 5, 2, 8), _leaf(rng, 5, 2, 8), 8, 4, _leaf(rng, 24, 8), _leaf(rng, 24), None, None, False), last | fixed
    small = last | {"out_proj_weight": _leaf(rng, 6, 6)}
    yield name, (*[_leaf(rng, 5, 2, 6) for _ in range(3)], 6, 3, _leaf(rng, 18, 6), _leaf(rng, 18), None, None, False), small | {
        "is_causal": True, "attn_mask": np.triu(np.full((5, 5), -math.inf), 1), "need_weights": False}


def _logs(rng, *shape):
    """Return logarithms of probabilities, without a gradient: that of PyTorch's ctc_loss is a meant difference."""
    scores = rounded(rng, *shape)
    return scores - np.log(np.exp(scores).sum(-1, keepdims=True))


def _sliced(array, dim=0, start=None, end=None, step=1):
    """Return a slice of an array along a dimension."""
    index = [slice(None)] * array.ndim
    index[dim] = slice(start, end, step)
    return array[tuple(index)]


def _sparse_ones(rng):
    """Yield functions of sparse tensors, whose results are compared as dense ones."""
    for shape in ((3, 4), (4, 3)):
        dense = rounded(rng, shape[1], 2)
        for name in ("mm", "smm", "spmm", "dsmm", "sparse.mm", "Tensor.smm", "hspmm", "hsmm"):
            yield name, (_sparse(rng, *shape), dense), {}
        for name in ("saddmm", "sspaddmm", "Tensor.sspaddmm"):
            yield name, (_sparse(rng, shape[0], 2), _sparse(rng, *shape), dense), {"beta": 0.5, "alpha": 2.0} if shape[0] == 3 else {}
        sparse = _sparse(rng, *shape)
        for name in ("to_dense", "sparse_dim", "dense_dim", "is_coalesced", "coalesce"):
            yield f"Tensor.{name}", (_sparse(rng, *shape),), {}
        for name in ("indices", "values"):
            yield f"Tensor.{name}", (sparse,), {}
        yield "Tensor.sparse_mask", (rounded(rng, *shape), sparse), {}
        for layout in ("csr", "csc"):
            yield f"Tensor.to_sparse_{layout}", (rounded(rng, *shape) * np.eye(*shape),), {}
        for layout in ("bsr", "bsc"):
            yield f"Tensor.to_sparse_{layout}", (rounded(rng, 4, 6) * np.kron(np.eye(2), np.ones((2, 3))), (2, shape[0] - (shape[0] == 4))), {}
        for name in ("to_sparse", "to_sparse_coo"):
            yield f"Tensor.{name}", (rounded(rng, *shape) * np.eye(*shape),), {}
        for layout, names in (("csr", ("crow_indices", "col_indices")), ("csc", ("ccol_indices", "row_indices"))):
            for name in names:
                yield f"Tensor.{name}", (Build(f"Tensor.to_sparse_{layout}", (rounded(rng, *shape) * np.eye(*shape),)),), {}
    for kind in ("float64", "float32"):
        values = rounded(rng, 3, dtype=kind)
        yield "sparse_coo_tensor", (np.array([[0, 1, 2], [2, 0, 3]]), values, (3, 4)), {}
        yield "sparse_csr_tensor", (np.array([0, 1, 2, 3]), np.array([2, 0, 3]), values, (3, 4)), {}
        yield "sparse_csc_tensor", (np.array([0, 1, 1, 2, 3]), np.array([1, 0, 2]), values, (3, 4)), {}
        blocks = rounded(rng, 2, 2, 3, dtype=kind)
        yield "sparse_bsr_tensor", (np.array([0, 1, 2]), np.array([1, 0]), blocks, (4, 6)), {}
        yield "sparse_bsc_tensor", (np.array([0, 1, 2]), np.array([1, 0]), blocks, (4, 6)), {}
        yield "sparse_compressed_tensor", (np.array([0, 1, 2, 3]), np.array([2, 0, 3]), values, (3, 4)), {"layout": Name("sparse_csr")}


def _from_data(rng):
    """Yield tensors made from data."""
    for name in ("tensor", "as_tensor", "asarray"):
        yield name, ([[1, 2], [3, 4]],), {}
        yield name, ([1, 2.5],), {}
        yield name, (True,), {}
        yield name, ([[]],), {}
        yield name, ([1, 2],), {"dtype": Name("float16")}
        yield name, ([0.5, 2 + 1j],), {}
        yield name, ([[1.5, -2.25]],), {"dtype": Name("int32")}
    for name in ("as_tensor", "asarray"):
        yield name, (rounded(rng, 3),), {"dtype": Name("float32")}
    for kind in ("float64", "float32", "float16", "bfloat16", "complex64", "complex128"):
        yield "finfo", (Name(kind),), {}
    for kind in ("int64", "int32", "int16", "int8", "uint8"):
        yield "iinfo", (Name(kind),), {}


# Losses of the top level, whose default reduction is a meant difference.
DEFAULTS = ("binary_cross_entropy_with_logits", "cosine_embedding_loss", "hinge_embedding_loss", "kl_div", "margin_ranking_loss",
            "triplet_margin_loss")
AFTER = {"finfo": "limits", "iinfo": "limits", "Tensor.__iter__": "list", "Tensor.contiguous": "value and layout",
         "embedding_bag": "first result"}       # the others are what its gradient needs


def rows(torch, rng):
    """Yield all rows, numbered within their target."""
    counts: dict = {}
    plain = [(*entry, None) for part in (_networks, _shapes, _operators, _layers, _varied, _sparse_varied, _heads, _sparse_ones, _from_data) for entry in part(rng)]
    for target, args, kwargs, after in [*_factorisations(rng), *plain]:
        counts[target] = counts.get(target, 0) + 1
        after = after or AFTER.get(target)
        kind = "in place" if target.endswith("_") and not target.endswith("__") else "function"
        options = {"after": after} if after else {}
        if target.endswith("get_device"):
            options["host"] = True
        what = "default " if target in DEFAULTS and not kwargs and len(args) < 4 else ""
        row = Row(f"{target}/{what}{counts[target]}", kind, target, args, kwargs, options)
        if target == "lobpcg":
            row.tolerance, row.reason = 1e-6, "both iterate"
        if "polygamma" in target:
            row.tolerance, row.reason = 4e-9, "PyTorch's trigamma is good to 1e-9"
        yield row
    for name, args, kwargs in _attributes(rng):
        counts[name] = counts.get(name, 0) + 1
        yield Row(f"Tensor.{name}/attribute {counts[name]}", "attribute", f"Tensor.{name}", args, kwargs)
