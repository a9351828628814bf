"""The methods of Tensor that come with modules in `LATE`. Made by `make stubs`; not edited by hand."""

NAMES = (
    "_resize_over", "_typed_storage", "addcdiv", "addcdiv_", "addcmul", "addcmul_", "angle", "angle_", "apply_", "argsort",
    "argwhere", "as_strided", "as_strided_", "as_strided_scatter", "bernoulli", "bernoulli_", "bincount", "bucketize",
    "cauchy_", "ccol_indices", "cholesky", "cholesky_inverse", "cholesky_solve", "chunk", "coalesce", "col_indices",
    "combinations", "conj", "conj_physical", "conj_physical_", "corrcoef", "cov", "crow_indices", "cummax", "cummin",
    "cumprod", "cumprod_", "cumsum", "cumsum_", "deg2rad", "deg2rad_", "dense_dim", "det", "diagonal_scatter", "diff",
    "dsplit", "exponential_", "fill_diagonal_", "flip", "fliplr", "flipud", "float_power", "float_power_", "frexp",
    "gather", "geometric_", "geqrf", "hardshrink", "histc", "histogram", "hsplit", "i0", "i0_", "igamma", "igamma_",
    "igammac", "igammac_", "imag", "index_add", "index_add_", "index_copy", "index_copy_", "index_fill", "index_fill_",
    "index_put", "index_put_", "index_reduce", "index_reduce_", "index_select", "indices", "inverse", "is_coalesced",
    "is_conj", "is_inference", "is_neg", "is_shared", "isreal", "istft", "kthvalue", "ldexp", "ldexp_", "lerp", "lerp_",
    "log_normal_", "log_softmax", "logcumsumexp", "logdet", "logit", "logit_", "lu", "lu_solve", "map2_", "map_",
    "masked_scatter", "masked_scatter_", "masked_select", "matrix_exp", "matrix_power", "median", "mode", "msort",
    "multinomial", "mvlgamma", "mvlgamma_", "nan_to_num", "nan_to_num_", "nanmedian", "nanquantile", "narrow_copy", "new",
    "nonzero", "nonzero_static", "norm", "normal_", "orgqr", "ormqr", "pinverse", "polygamma", "polygamma_", "prelu", "put",
    "put_", "qr", "quantile", "rad2deg", "rad2deg_", "random_", "real", "record_stream", "relu", "relu_", "renorm",
    "renorm_", "repeat", "repeat_interleave", "resize_", "resize_as_", "resize_as_sparse_", "resolve_conj", "resolve_neg",
    "roll", "rot90", "row_indices", "scatter", "scatter_", "scatter_add", "scatter_add_", "scatter_reduce",
    "scatter_reduce_", "searchsorted", "select_scatter", "set_", "sgn", "sgn_", "share_memory_", "slice_inverse",
    "slice_scatter", "slogdet", "smm", "softmax", "sort", "sparse_dim", "sparse_mask", "sparse_resize_",
    "sparse_resize_and_clear_", "split", "split_with_sizes", "squeeze_", "sspaddmm", "stft", "storage", "storage_offset",
    "svd", "swapaxes_", "swapdims_", "t_", "take", "take_along_dim", "tensor_split", "tile", "to_dense", "to_sparse",
    "to_sparse_bsc", "to_sparse_bsr", "to_sparse_coo", "to_sparse_csc", "to_sparse_csr", "topk", "transpose_",
    "triangular_solve", "unbind", "uniform_", "unique", "unique_consecutive", "unsafe_chunk", "unsafe_split",
    "unsafe_split_with_sizes", "unsqueeze_", "untyped_storage", "values", "vsplit"
)
