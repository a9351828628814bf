"""The methods of Tensor that come with modules in `LATE`. Made by `make stubs`; not edited by hand."""

NAMES = (
    "addcdiv", "addcdiv_", "addcmul", "addcmul_", "angle", "angle_", "apply_", "argsort", "argwhere", "as_strided",
    "as_strided_", "bernoulli", "bernoulli_", "bincount", "bucketize", "cauchy_", "cholesky", "cholesky_inverse",
    "cholesky_solve", "chunk", "combinations", "conj", "conj_physical", "corrcoef", "cov", "cummax", "cummin", "cumprod",
    "cumprod_", "cumsum", "cumsum_", "deg2rad", "deg2rad_", "det", "diagonal_scatter", "diff", "dsplit", "exponential_",
    "fill_diagonal_", "flip", "fliplr", "flipud", "float_power", "float_power_", "gather", "geometric_", "hardshrink",
    "histc", "histogram", "hsplit", "imag", "index_add", "index_add_", "index_copy", "index_copy_", "index_fill",
    "index_fill_", "index_put", "index_put_", "index_reduce", "index_reduce_", "index_select", "inverse", "is_conj",
    "is_inference", "is_neg", "is_shared", "isreal", "istft", "kthvalue", "ldexp", "ldexp_", "lerp", "lerp_", "log_normal_",
    "log_softmax", "logcumsumexp", "logdet", "logit", "logit_", "map2_", "map_", "masked_scatter", "masked_scatter_",
    "masked_select", "matrix_exp", "matrix_power", "median", "mode", "msort", "multinomial", "mvlgamma", "mvlgamma_",
    "nan_to_num", "nan_to_num_", "nanmedian", "nanquantile", "new", "nonzero", "norm", "normal_", "pinverse", "polygamma",
    "prelu", "put", "put_", "qr", "quantile", "rad2deg", "rad2deg_", "random_", "real", "relu", "relu_", "renorm",
    "renorm_", "repeat", "repeat_interleave", "resize_", "resize_as_", "resolve_conj", "resolve_neg", "roll", "rot90",
    "scatter", "scatter_", "scatter_add", "scatter_add_", "scatter_reduce", "scatter_reduce_", "searchsorted",
    "select_scatter", "set_", "sgn", "sgn_", "share_memory_", "slice_scatter", "slogdet", "softmax", "sort", "split",
    "split_with_sizes", "squeeze_", "stft", "svd", "swapaxes_", "swapdims_", "t_", "take", "take_along_dim", "tensor_split",
    "tile", "to_dense", "to_sparse", "to_sparse_coo", "topk", "transpose_", "unbind", "uniform_", "unique",
    "unique_consecutive", "unsafe_chunk", "unsafe_split", "unsqueeze_", "vsplit"
)
