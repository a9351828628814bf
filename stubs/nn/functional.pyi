"""The names of `ingot.nn.functional`, and functions that factories build.

Made by `make stubs` from the live package; not edited by hand.
"""

import builtins
from typing import Any

from ..runtime.nn.functional import affine_grid as affine_grid
from ..runtime.nn.functional import alpha_dropout as alpha_dropout
from ..runtime.nn.functional import avg_pool1d as avg_pool1d
from ..runtime.nn.functional import batch_norm as batch_norm
from ..runtime.nn.functional import bilinear as bilinear
from ..runtime.nn.functional import binary_cross_entropy as binary_cross_entropy
from ..runtime.nn.functional import binary_cross_entropy_with_logits as binary_cross_entropy_with_logits
from ..runtime.nn.functional import celu as celu
from ..runtime.nn.functional import channel_shuffle as channel_shuffle
from ..runtime.nn.functional import conv_tbc as conv_tbc
from ..runtime.nn.functional import cosine_embedding_loss as cosine_embedding_loss
from ..runtime.nn.functional import cosine_similarity as cosine_similarity
from ..runtime.nn.functional import cross_entropy as cross_entropy
from ..runtime.nn.functional import ctc_loss as ctc_loss
from ..runtime.nn.functional import dropout as dropout
from ..runtime.nn.functional import dropout1d as dropout1d
from ..runtime.nn.functional import dropout2d as dropout2d
from ..runtime.nn.functional import dropout3d as dropout3d
from ..runtime.nn.functional import elu as elu
from ..runtime.nn.functional import embedding as embedding
from ..runtime.nn.functional import embedding_bag as embedding_bag
from ..runtime.nn.functional import feature_alpha_dropout as feature_alpha_dropout
from ..runtime.nn.functional import feature_dropout as feature_dropout
from ..runtime.nn.functional import fold as fold
from ..runtime.nn.functional import gaussian_nll_loss as gaussian_nll_loss
from ..runtime.nn.functional import gelu as gelu
from ..runtime.nn.functional import glu as glu
from ..runtime.nn.functional import grid_sample as grid_sample
from ..runtime.nn.functional import group_norm as group_norm
from ..runtime.nn.functional import grouped_mm as grouped_mm
from ..runtime.nn.functional import gumbel_softmax as gumbel_softmax
from ..runtime.nn.functional import hardshrink as hardshrink
from ..runtime.nn.functional import hardsigmoid as hardsigmoid
from ..runtime.nn.functional import hardswish as hardswish
from ..runtime.nn.functional import hardtanh as hardtanh
from ..runtime.nn.functional import hinge_embedding_loss as hinge_embedding_loss
from ..runtime.nn.functional import huber_loss as huber_loss
from ..runtime.nn.functional import instance_norm as instance_norm
from ..runtime.nn.functional import interpolate as interpolate
from ..runtime.nn.functional import kl_div as kl_div
from ..runtime.nn.functional import l1_loss as l1_loss
from ..runtime.nn.functional import layer_norm as layer_norm
from ..runtime.nn.functional import leaky_relu as leaky_relu
from ..runtime.nn.functional import linear as linear
from ..runtime.nn.functional import linear_cross_entropy as linear_cross_entropy
from ..runtime.nn.functional import local_response_norm as local_response_norm
from ..runtime.nn.functional import log_softmax as log_softmax
from ..runtime.nn.functional import logsigmoid as logsigmoid
from ..runtime.nn.functional import margin_ranking_loss as margin_ranking_loss
from ..runtime.nn.functional import mish as mish
from ..runtime.nn.functional import mse_loss as mse_loss
from ..runtime.nn.functional import multi_head_attention_forward as multi_head_attention_forward
from ..runtime.nn.functional import multi_margin_loss as multi_margin_loss
from ..runtime.nn.functional import multilabel_margin_loss as multilabel_margin_loss
from ..runtime.nn.functional import multilabel_soft_margin_loss as multilabel_soft_margin_loss
from ..runtime.nn.functional import native_channel_shuffle as native_channel_shuffle
from ..runtime.nn.functional import nll_loss as nll_loss
from ..runtime.nn.functional import normalize as normalize
from ..runtime.nn.functional import one_hot as one_hot
from ..runtime.nn.functional import pad as pad
from ..runtime.nn.functional import pairwise_distance as pairwise_distance
from ..runtime.nn.functional import pdist as pdist
from ..runtime.nn.functional import pixel_shuffle as pixel_shuffle
from ..runtime.nn.functional import pixel_unshuffle as pixel_unshuffle
from ..runtime.nn.functional import poisson_nll_loss as poisson_nll_loss
from ..runtime.nn.functional import prelu as prelu
from ..runtime.nn.functional import relu as relu
from ..runtime.nn.functional import relu6 as relu6
from ..runtime.nn.functional import rms_norm as rms_norm
from ..runtime.nn.functional import rrelu as rrelu
from ..runtime.nn.functional import scaled_dot_product_attention as scaled_dot_product_attention
from ..runtime.nn.functional import selu as selu
from ..runtime.nn.functional import sigmoid as sigmoid
from ..runtime.nn.functional import silu as silu
from ..runtime.nn.functional import smooth_l1_loss as smooth_l1_loss
from ..runtime.nn.functional import soft_margin_loss as soft_margin_loss
from ..runtime.nn.functional import softmax as softmax
from ..runtime.nn.functional import softmin as softmin
from ..runtime.nn.functional import softplus as softplus
from ..runtime.nn.functional import softshrink as softshrink
from ..runtime.nn.functional import softsign as softsign
from ..runtime.nn.functional import tanh as tanh
from ..runtime.nn.functional import tanhshrink as tanhshrink
from ..runtime.nn.functional import threshold as threshold
from ..runtime.nn.functional import triplet_margin_loss as triplet_margin_loss
from ..runtime.nn.functional import triplet_margin_with_distance_loss as triplet_margin_with_distance_loss
from ..runtime.nn.functional import unfold as unfold
from ..runtime.nn.functional import upsample as upsample
from ..runtime.nn.functional import upsample_bilinear as upsample_bilinear
from ..runtime.nn.functional import upsample_nearest as upsample_nearest

def adaptive_avg_pool1d(input, output_size) -> Any:
    """Return the mean of each of `output_size` even bins."""
def adaptive_avg_pool2d(input, output_size) -> Any:
    """Return the mean of each of `output_size` even bins."""
def adaptive_avg_pool3d(input, output_size) -> Any:
    """Return the mean of each of `output_size` even bins."""
def adaptive_max_pool1d(input, output_size, return_indices: builtins.bool = False) -> Any:
    """Return the largest element of each of `output_size` even bins; `return_indices` and `*_with_indices` add indices."""
def adaptive_max_pool1d_with_indices(input, output_size, return_indices: builtins.bool = False) -> Any:
    """Return the largest element of each of `output_size` even bins; `return_indices` and `*_with_indices` add indices."""
def adaptive_max_pool2d(input, output_size, return_indices: builtins.bool = False) -> Any:
    """Return the largest element of each of `output_size` even bins; `return_indices` and `*_with_indices` add indices."""
def adaptive_max_pool2d_with_indices(input, output_size, return_indices: builtins.bool = False) -> Any:
    """Return the largest element of each of `output_size` even bins; `return_indices` and `*_with_indices` add indices."""
def adaptive_max_pool3d(input, output_size, return_indices: builtins.bool = False) -> Any:
    """Return the largest element of each of `output_size` even bins; `return_indices` and `*_with_indices` add indices."""
def adaptive_max_pool3d_with_indices(input, output_size, return_indices: builtins.bool = False) -> Any:
    """Return the largest element of each of `output_size` even bins; `return_indices` and `*_with_indices` add indices."""
def avg_pool2d(input, kernel_size, stride=None, padding=0, ceil_mode: builtins.bool = False,
               count_include_pad: builtins.bool = True, divisor_override=None, *, out=None) -> Any:
    """Return the mean of each window."""
def avg_pool3d(input, kernel_size, stride=None, padding=0, ceil_mode: builtins.bool = False,
               count_include_pad: builtins.bool = True, divisor_override=None, *, out=None) -> Any:
    """Return the mean of each window."""
def celu_(input, *args, **kwargs) -> Any:
    """Apply celu() in place."""
def conv1d(input, weight, bias=None, stride=1, padding=0, dilation=1, groups=1) -> Any:
    """Convolve over one spatial dim; weight (out, in / groups, kernel)."""
def conv2d(input, weight, bias=None, stride=1, padding=0, dilation=1, groups=1) -> Any:
    """Convolve over two spatial dims; weight (out, in / groups, *kernel)."""
def conv3d(input, weight, bias=None, stride=1, padding=0, dilation=1, groups=1) -> Any:
    """Convolve over three spatial dims; weight (out, in / groups, *kernel)."""
def conv_transpose1d(input, weight, bias=None, stride=1, padding=0, output_padding=0, groups=1, dilation=1) -> Any:
    """Apply a transposed convolution over one spatial dim; weight (in, out / groups, kernel)."""
def conv_transpose2d(input, weight, bias=None, stride=1, padding=0, output_padding=0, groups=1, dilation=1) -> Any:
    """Apply a transposed convolution over two spatial dims; weight (in, out / groups, *kernel)."""
def conv_transpose3d(input, weight, bias=None, stride=1, padding=0, output_padding=0, groups=1, dilation=1) -> Any:
    """Apply a transposed convolution over three spatial dims; weight (in, out / groups, *kernel)."""
def elu_(input, *args, **kwargs) -> Any:
    """Apply elu() in place."""
def fractional_max_pool2d(input, kernel_size, output_size=None, output_ratio=None,
                          return_indices: builtins.bool = False, _random_samples=None) -> Any:
    """Return maxima over windows at random, non-integer steps; `return_indices` and `*_with_indices` add their indices."""
def fractional_max_pool2d_with_indices(input, kernel_size, output_size=None, output_ratio=None,
                                       return_indices: builtins.bool = False, _random_samples=None) -> Any:
    """Return maxima over windows at random, non-integer steps; `return_indices` and `*_with_indices` add their indices."""
def fractional_max_pool3d(input, kernel_size, output_size=None, output_ratio=None,
                          return_indices: builtins.bool = False, _random_samples=None) -> Any:
    """Return maxima over windows at random, non-integer steps; `return_indices` and `*_with_indices` add their indices."""
def fractional_max_pool3d_with_indices(input, kernel_size, output_size=None, output_ratio=None,
                                       return_indices: builtins.bool = False, _random_samples=None) -> Any:
    """Return maxima over windows at random, non-integer steps; `return_indices` and `*_with_indices` add their indices."""
def hardtanh_(input, *args, **kwargs) -> Any:
    """Apply hardtanh() in place."""
def leaky_relu_(input, *args, **kwargs) -> Any:
    """Apply leaky_relu() in place."""
def lp_pool1d(input, norm_type, kernel_size, stride=None, ceil_mode: builtins.bool = False) -> Any:
    """Return (sum of x ** norm_type) ** (1 / norm_type) over each window."""
def lp_pool2d(input, norm_type, kernel_size, stride=None, ceil_mode: builtins.bool = False) -> Any:
    """Return (sum of x ** norm_type) ** (1 / norm_type) over each window."""
def lp_pool3d(input, norm_type, kernel_size, stride=None, ceil_mode: builtins.bool = False) -> Any:
    """Return (sum of x ** norm_type) ** (1 / norm_type) over each window."""
def max_pool1d(input, kernel_size, stride=None, padding=0, dilation=1, ceil_mode: builtins.bool = False,
               return_indices: builtins.bool = False) -> Any:
    """Return the largest element of each window; `return_indices` and `*_with_indices` add its flat spatial index."""
def max_pool1d_with_indices(input, kernel_size, stride=None, padding=0, dilation=1,
                            ceil_mode: builtins.bool = False, return_indices: builtins.bool = False) -> Any:
    """Return the largest element of each window; `return_indices` and `*_with_indices` add its flat spatial index."""
def max_pool2d(input, kernel_size, stride=None, padding=0, dilation=1, ceil_mode: builtins.bool = False,
               return_indices: builtins.bool = False) -> Any:
    """Return the largest element of each window; `return_indices` and `*_with_indices` add its flat spatial index."""
def max_pool2d_with_indices(input, kernel_size, stride=None, padding=0, dilation=1,
                            ceil_mode: builtins.bool = False, return_indices: builtins.bool = False) -> Any:
    """Return the largest element of each window; `return_indices` and `*_with_indices` add its flat spatial index."""
def max_pool3d(input, kernel_size, stride=None, padding=0, dilation=1, ceil_mode: builtins.bool = False,
               return_indices: builtins.bool = False) -> Any:
    """Return the largest element of each window; `return_indices` and `*_with_indices` add its flat spatial index."""
def max_pool3d_with_indices(input, kernel_size, stride=None, padding=0, dilation=1,
                            ceil_mode: builtins.bool = False, return_indices: builtins.bool = False) -> Any:
    """Return the largest element of each window; `return_indices` and `*_with_indices` add its flat spatial index."""
def max_unpool1d(input, indices, kernel_size, stride=None, padding=0, output_size=None) -> Any:
    """Return zeros with each value at the position from which the maximum pool took it."""
def max_unpool2d(input, indices, kernel_size, stride=None, padding=0, output_size=None) -> Any:
    """Return zeros with each value at the position from which the maximum pool took it."""
def max_unpool3d(input, indices, kernel_size, stride=None, padding=0, output_size=None) -> Any:
    """Return zeros with each value at the position from which the maximum pool took it."""
def relu_(input, *args, **kwargs) -> Any:
    """Apply relu() in place."""
def rrelu_(input, *args, **kwargs) -> Any:
    """Apply rrelu() in place."""
def selu_(input, *args, **kwargs) -> Any:
    """Apply selu() in place."""
def threshold_(input, *args, **kwargs) -> Any:
    """Apply threshold() in place."""
