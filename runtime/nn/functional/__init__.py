"""`ingot.nn.functional`: activations, losses, attention, lookups, convolutions, pools, norms.

Way in: the names in `__all__`, from the `__all__` of each file. A name that `ingot.*` has too is the same function. An
embedding lookup with `sparse=True` in a leaf has a history node of its own, whose gradient is a CooTensor (dense with
`create_graph`). The room knows no module.
"""

from inspect import unwrap

from ...api.nn.convolution import conv1d, conv2d, conv3d, conv_tbc, conv_transpose1d, conv_transpose2d, conv_transpose3d
from ...api.nn.distances import cosine_similarity, pairwise_distance, pdist
from ...api.nn.normalization import layer_norm, rms_norm
from ...api.nn.pixel_shuffle import channel_shuffle, native_channel_shuffle, pixel_shuffle, pixel_unshuffle
from ...api.nn.pooling import avg_pool1d
from ...api.register.register import FUNCTIONS
from ...state.structure import count_changes
from . import conv_gradients as grad  # noqa: F401 (public)
from .activation import *
from .attention import multi_head_attention_forward, scaled_dot_product_attention
from .conv import fold, unfold
from .dropout import *
from .embedding import embedding, embedding_bag, one_hot
from .linear import bilinear, grouped_mm, linear
from .loss import *
from .norm import batch_norm, group_norm, instance_norm, local_response_norm, normalize
from .pad import pad
from .pool import *
from .resample import affine_grid, grid_sample, interpolate, upsample, upsample_bilinear, upsample_nearest

__all__ = ["adaptive_avg_pool1d", "adaptive_avg_pool2d", "adaptive_avg_pool3d", "adaptive_max_pool1d",
           "adaptive_max_pool1d_with_indices", "adaptive_max_pool2d", "adaptive_max_pool2d_with_indices", "adaptive_max_pool3d",
           "adaptive_max_pool3d_with_indices", "affine_grid", "alpha_dropout", "avg_pool1d", "avg_pool2d", "avg_pool3d",
           "batch_norm", "bilinear", "binary_cross_entropy", "binary_cross_entropy_with_logits", "celu", "celu_",
           "channel_shuffle", "conv1d", "conv2d", "conv3d", "conv_tbc", "conv_transpose1d", "conv_transpose2d",
           "conv_transpose3d", "cosine_embedding_loss", "cosine_similarity", "cross_entropy", "ctc_loss", "dropout",
           "dropout1d", "dropout2d", "dropout3d", "elu", "elu_", "embedding", "embedding_bag", "feature_alpha_dropout",
           "feature_dropout", "fold", "fractional_max_pool2d", "fractional_max_pool2d_with_indices", "fractional_max_pool3d",
           "fractional_max_pool3d_with_indices", "gaussian_nll_loss", "gelu", "glu", "grid_sample", "group_norm", "grouped_mm",
           "gumbel_softmax", "hardshrink", "hardsigmoid", "hardswish", "hardtanh", "hardtanh_", "hinge_embedding_loss",
           "huber_loss", "instance_norm", "interpolate", "kl_div", "l1_loss", "layer_norm", "leaky_relu", "leaky_relu_",
           "linear", "linear_cross_entropy", "local_response_norm", "log_softmax", "logsigmoid", "lp_pool1d", "lp_pool2d",
           "lp_pool3d", "margin_ranking_loss", "max_pool1d", "max_pool1d_with_indices", "max_pool2d", "max_pool2d_with_indices",
           "max_pool3d", "max_pool3d_with_indices", "max_unpool1d", "max_unpool2d", "max_unpool3d", "mish", "mse_loss",
           "multi_head_attention_forward", "multi_margin_loss", "multilabel_margin_loss", "multilabel_soft_margin_loss",
           "native_channel_shuffle", "nll_loss", "normalize", "one_hot", "pad", "pairwise_distance", "pdist", "pixel_shuffle",
           "pixel_unshuffle", "poisson_nll_loss", "prelu", "relu", "relu6", "relu_", "rms_norm", "rrelu", "rrelu_",
           "scaled_dot_product_attention", "selu", "selu_", "sigmoid", "silu", "smooth_l1_loss", "soft_margin_loss", "softmax",
           "softmin", "softplus", "softshrink", "softsign", "tanh", "tanhshrink", "threshold", "threshold_",
           "triplet_margin_loss", "triplet_margin_with_distance_loss", "unfold", "upsample", "upsample_bilinear",
           "upsample_nearest"]

# Names that `ingot.*` has too are the public function there, which memoises calls.
globals().update({name: FUNCTIONS[name] for name in __all__
                  if name in FUNCTIONS and unwrap(FUNCTIONS[name]) is globals()[name] is not FUNCTIONS[name]})
count_changes(__name__, __all__)
