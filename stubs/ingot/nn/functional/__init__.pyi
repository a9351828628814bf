"""`ingot.nn.functional`: activations, losses, attention, lookups, convolutions, pools, norms."""

# Made by `make stubs` from the live package; not edited by hand.

import builtins as _b
import collections.abc as _c
import typing as _t
import numpy as _np
from ingot import Tensor as _Tensor
from ingot import avg_pool1d as avg_pool1d
from ingot import channel_shuffle as _channel_shuffle
from ingot import channel_shuffle as channel_shuffle
from ingot import conv1d as conv1d
from ingot import conv2d as conv2d
from ingot import conv3d as conv3d
from ingot import conv_tbc as conv_tbc
from ingot import conv_transpose1d as conv_transpose1d
from ingot import conv_transpose2d as conv_transpose2d
from ingot import conv_transpose3d as conv_transpose3d
from ingot import cosine_similarity as cosine_similarity
from ingot import dtype as _dtype
from ingot import layer_norm as layer_norm
from ingot import pairwise_distance as pairwise_distance
from ingot import pdist as pdist
from ingot import pixel_shuffle as pixel_shuffle
from ingot import pixel_unshuffle as pixel_unshuffle
from ingot import rms_norm as rms_norm

from ingot import Tensor as _Tensor

def adaptive_avg_pool1d(input: _Tensor, output_size: _b.int | _c.Sequence[_b.int | None]) -> _Tensor:
    """Return the mean of each of `output_size` even bins."""
def adaptive_avg_pool2d(input: _Tensor, output_size: _b.int | _c.Sequence[_b.int | None]) -> _Tensor:
    """Return the mean of each of `output_size` even bins."""
def adaptive_avg_pool3d(input: _Tensor, output_size: _b.int | _c.Sequence[_b.int | None]) -> _Tensor:
    """Return the mean of each of `output_size` even bins."""
def adaptive_max_pool1d(input: _Tensor, output_size: _b.int | _c.Sequence[_b.int | None],
                        return_indices: _b.bool = False) -> _Tensor:
    """Return the largest element of each of `output_size` even bins; `return_indices` and `*_with_indices` add indices."""
def adaptive_max_pool1d_with_indices(input: _Tensor, output_size: _b.int | _c.Sequence[_b.int | None],
                                     return_indices: _b.bool = False) -> _Tensor:
    """Return the largest element of each of `output_size` even bins; `return_indices` and `*_with_indices` add indices."""
def adaptive_max_pool2d(input: _Tensor, output_size: _b.int | _c.Sequence[_b.int | None],
                        return_indices: _b.bool = False) -> _Tensor:
    """Return the largest element of each of `output_size` even bins; `return_indices` and `*_with_indices` add indices."""
def adaptive_max_pool2d_with_indices(input: _Tensor, output_size: _b.int | _c.Sequence[_b.int | None],
                                     return_indices: _b.bool = False) -> _Tensor:
    """Return the largest element of each of `output_size` even bins; `return_indices` and `*_with_indices` add indices."""
def adaptive_max_pool3d(input: _Tensor, output_size: _b.int | _c.Sequence[_b.int | None],
                        return_indices: _b.bool = False) -> _Tensor:
    """Return the largest element of each of `output_size` even bins; `return_indices` and `*_with_indices` add indices."""
def adaptive_max_pool3d_with_indices(input: _Tensor, output_size: _b.int | _c.Sequence[_b.int | None],
                                     return_indices: _b.bool = False) -> _Tensor:
    """Return the largest element of each of `output_size` even bins; `return_indices` and `*_with_indices` add indices."""
def affine_grid(theta: _t.Any, size: _t.SupportsIndex | _c.Sequence[_t.SupportsIndex],
                align_corners: _b.bool | None = None) -> _Tensor:
    """Return the grid for grid_sample that transforms images of `size` (N, C, *spatial) by affine maps `theta`."""
def alpha_dropout(input: _Tensor, p: _b.float = 0.5, training: _b.bool = False, inplace: _b.bool = False) -> _Tensor:
    """Drop elements so that the mean and variance of selu activations stay."""
def avg_pool2d(input: _Tensor, kernel_size: _t.SupportsIndex | _c.Sequence[_t.SupportsIndex],
               stride: _t.SupportsIndex | _c.Sequence[_t.SupportsIndex] | None = None,
               padding: _b.str | _t.SupportsIndex | _c.Sequence[_t.SupportsIndex] = 0,
               ceil_mode: _b.bool = False, count_include_pad: _b.bool = True, divisor_override: _t.Any = None,
               *, out: _Tensor | _c.Sequence[_Tensor] | None = None) -> _Tensor:
    """Return the mean of each window."""
def avg_pool3d(input: _Tensor, kernel_size: _t.SupportsIndex | _c.Sequence[_t.SupportsIndex],
               stride: _t.SupportsIndex | _c.Sequence[_t.SupportsIndex] | None = None,
               padding: _b.str | _t.SupportsIndex | _c.Sequence[_t.SupportsIndex] = 0,
               ceil_mode: _b.bool = False, count_include_pad: _b.bool = True, divisor_override: _t.Any = None,
               *, out: _Tensor | _c.Sequence[_Tensor] | None = None) -> _Tensor:
    """Return the mean of each window."""
def batch_norm(input: _Tensor, running_mean: _Tensor, running_var: _Tensor, weight: _Tensor | None = None,
               bias: _t.Any = None, training: _b.bool = False, momentum: _b.float = 0.1, eps: _b.float = 1e-05) -> _Tensor:
    """Normalise each channel: by the batch's statistics in training, which update the running ones in place, else by the
    running ones."""
def bilinear(input1: _Tensor, input2: _Tensor, weight: _Tensor, bias: _t.Any = None) -> _Tensor:
    """Return the sum over i, j of input1[i] * weight[o, i, j] * input2[j], plus bias."""
def binary_cross_entropy(input: _Tensor, target: _Tensor, weight: _Tensor | None = None,
                         size_average: _b.bool | None = None, reduce: _t.Any = None, reduction: _b.str = 'mean') -> _Tensor:
    """Return -(target * log(input) + (1 - target) * log(1 - input)), each log at least -100."""
def binary_cross_entropy_with_logits(input: _Tensor, target: _Tensor, weight: _Tensor | None = None,
                                     size_average: _b.bool | None = None, reduce: _t.Any = None,
                                     reduction: _b.str = 'mean', pos_weight: _Tensor | None = None) -> _Tensor:
    """Return binary_cross_entropy(sigmoid(input), target), without overflow."""
def celu(input: _Tensor, alpha: _Tensor | _b.complex = 1.0, inplace: _b.bool = False) -> _Tensor:
    """Return max(0, x) + min(0, alpha * (exp(x / alpha) - 1))."""
def celu_(input: _Tensor, alpha: _Tensor | _b.complex = 1.0) -> _Tensor:
    """Apply celu() in place."""
def cosine_embedding_loss(input1: _Tensor, input2: _Tensor, target: _Tensor, margin: _t.Any = 0,
                          size_average: _b.bool | None = None, reduce: _t.Any = None,
                          reduction: _b.str = 'mean') -> _Tensor:
    """Return 1 - cos where the target is 1, max(0, cos - margin) where it is -1."""
def cross_entropy(input: _Tensor, target: _Tensor, weight: _Tensor | None = None,
                  size_average: _b.bool | None = None, ignore_index: _b.int = -100, reduce: _t.Any = None,
                  reduction: _b.str = 'mean', label_smoothing: _b.float = 0.0) -> _Tensor:
    """Return the cross entropy of logits (N, C, ...) and class indices (N, ...) or class probabilities (N, C, ...)."""
def ctc_loss(log_probs: _Tensor, targets: _Tensor, input_lengths: _t.Any, target_lengths: _t.Any,
             blank: _t.Any = 0, reduction: _b.str = 'mean', zero_infinity: _b.bool = False) -> _Tensor:
    """Return the connectionist temporal classification loss: log_probs (T, N, C) or (T, C), targets padded (N, S) or
    concatenated."""
def dropout(input: _Tensor, p: _b.float = 0.5, training: _b.bool = True, inplace: _b.bool = False) -> _Tensor:
    """Zero elements with probability p and scale the rest by 1 / (1 - p)."""
def dropout1d(input: _Tensor, p: _b.float = 0.5, training: _b.bool = True, inplace: _b.bool = False) -> _Tensor:
    """Drop whole channels of inputs (N, C, L) or (C, L)."""
def dropout2d(input: _Tensor, p: _b.float = 0.5, training: _b.bool = True, inplace: _b.bool = False) -> _Tensor:
    """Drop whole channels of inputs (N, C, H, W). An input of 3 dimensions is (N, C, L), with a warning."""
def dropout3d(input: _Tensor, p: _b.float = 0.5, training: _b.bool = True, inplace: _b.bool = False) -> _Tensor:
    """Drop whole channels of inputs (N, C, D, H, W) or (C, D, H, W)."""
def elu(input: _Tensor, alpha: _Tensor | _b.complex = 1.0, inplace: _b.bool = False) -> _Tensor:
    """Return x above 0, alpha * (exp(x) - 1) below."""
def elu_(input: _Tensor, alpha: _Tensor | _b.complex = 1.0) -> _Tensor:
    """Apply elu() in place."""
def embedding(input: _Tensor, weight: _Tensor, padding_idx: _b.int | None = None,
              max_norm: _b.float | None = None, norm_type: _b.float = 2.0, scale_grad_by_freq: _b.bool = False,
              sparse: _b.bool = False) -> _Tensor:
    """Return the rows of `weight` at the indices. With `sparse`, the gradient of a leaf table is a sparse tensor of the
    rows that were looked up (`sparse_lookup`)."""
def embedding_bag(input: _Tensor, weight: _Tensor, offsets: _Tensor | None = None,
                  max_norm: _b.float | None = None, norm_type: _t.Any = 2, scale_grad_by_freq: _b.bool = False,
                  mode: _b.str = 'mean', sparse: _b.bool = False, per_sample_weights: _Tensor | None = None,
                  include_last_offset: _b.bool = False, padding_idx: _b.int | None = None) -> _Tensor:
    """Return the sum, mean or maximum of the rows of each bag: a row of a 2-d input, or the indices between two offsets."""
def feature_alpha_dropout(input: _Tensor, p: _b.float = 0.5, training: _b.bool = False,
                          inplace: _b.bool = False) -> _Tensor:
    """Apply alpha_dropout to whole channels."""
def feature_dropout(input: _Tensor, p: _b.float = 0.5, training: _b.bool = True, inplace: _b.bool = False) -> _Tensor:
    """Drop whole channels (dimension 1)."""
def fold(input: _Tensor, output_size: _b.int | _c.Sequence[_b.int | None],
         kernel_size: _t.SupportsIndex | _c.Sequence[_t.SupportsIndex],
         dilation: _t.SupportsIndex | _c.Sequence[_t.SupportsIndex] = 1,
         padding: _b.str | _t.SupportsIndex | _c.Sequence[_t.SupportsIndex] = 0,
         stride: _t.SupportsIndex | _c.Sequence[_t.SupportsIndex] = 1) -> _Tensor:
    """Add columns (N, C * kernel, windows) into images of `output_size`: the adjoint of unfold."""
def fractional_max_pool2d(input: _Tensor, kernel_size: _t.SupportsIndex | _c.Sequence[_t.SupportsIndex],
                          output_size: _b.int | _c.Sequence[_b.int | None] | None = None,
                          output_ratio: _t.Any = None, return_indices: _b.bool = False) -> _Tensor:
    """Return maxima over windows at random, non-integer steps; `return_indices` and `*_with_indices` add their indices."""
def fractional_max_pool2d_with_indices(input: _Tensor,
                                       kernel_size: _t.SupportsIndex | _c.Sequence[_t.SupportsIndex],
                                       output_size: _b.int | _c.Sequence[_b.int | None] | None = None,
                                       output_ratio: _t.Any = None, return_indices: _b.bool = False) -> _Tensor:
    """Return maxima over windows at random, non-integer steps; `return_indices` and `*_with_indices` add their indices."""
def fractional_max_pool3d(input: _Tensor, kernel_size: _t.SupportsIndex | _c.Sequence[_t.SupportsIndex],
                          output_size: _b.int | _c.Sequence[_b.int | None] | None = None,
                          output_ratio: _t.Any = None, return_indices: _b.bool = False) -> _Tensor:
    """Return maxima over windows at random, non-integer steps; `return_indices` and `*_with_indices` add their indices."""
def fractional_max_pool3d_with_indices(input: _Tensor,
                                       kernel_size: _t.SupportsIndex | _c.Sequence[_t.SupportsIndex],
                                       output_size: _b.int | _c.Sequence[_b.int | None] | None = None,
                                       output_ratio: _t.Any = None, return_indices: _b.bool = False) -> _Tensor:
    """Return maxima over windows at random, non-integer steps; `return_indices` and `*_with_indices` add their indices."""
def gaussian_nll_loss(input: _Tensor, target: _Tensor, var: _t.Any, full: _b.bool = False,
                      eps: _b.float = 1e-06, reduction: _b.str = 'mean') -> _Tensor:
    """Return the negative log likelihood of values for a mean and a variance of at least eps."""
def gelu(input: _Tensor, approximate: _b.str = 'none', *, out: _Tensor | _c.Sequence[_Tensor] | None = None) -> _Tensor:
    """Return x times the normal distribution function, exact or in its tanh approximation."""
def glu(input: _Tensor, dim: _b.int | _c.Sequence[_b.int] = -1, *, axis: _b.int | _c.Sequence[_b.int] = -1) -> _Tensor:
    """Return the first half of the input times the sigmoid of the second."""
def grid_sample(input: _Tensor, grid: _t.Any, mode: _b.str = 'bilinear', padding_mode: _b.str = 'zeros',
                align_corners: _b.bool | None = None) -> _Tensor:
    """Sample the input at the points of a grid (N, *sizes, spatial dims), with coordinates from -1 to 1 in each dim."""
def group_norm(input: _Tensor, num_groups: _b.int, weight: _Tensor | None = None, bias: _t.Any = None,
               eps: _b.float = 1e-05) -> _Tensor:
    """Normalise each group of channels of each image; weight and bias are per channel."""
def grouped_mm(mat_a: _t.Any, mat_b: _t.Any, *, offs: _t.Any = None, bias: _t.Any = None,
               out_dtype: _t.Any = None) -> _Tensor:
    """Multiply each group of rows of mat_a by its matrix of mat_b (groups, in, out); group g ends at row offs[g]."""
def gumbel_softmax(logits: _Tensor, tau: _t.Any = 1, hard: _b.bool = False, eps: _b.float = 1e-10,
                   dim: _b.int | _c.Sequence[_b.int] = -1) -> _Tensor:
    """Return a softmax sample; with `hard` a one-hot one with the gradient of the soft sample."""
def hardshrink(input: _Tensor, lambd: _b.float = 0.5, *, out: _Tensor | _c.Sequence[_Tensor] | None = None) -> _Tensor:
    """Return 0 where |x| <= lambd, else x."""
def hardsigmoid(input: _Tensor, inplace: _b.bool = False) -> _Tensor:
    """Return clamp(x + 3, 0, 6) / 6."""
def hardswish(input: _Tensor, inplace: _b.bool = False) -> _Tensor:
    """Return x * hardsigmoid(x)."""
def hardtanh(input: _Tensor, min_val: _b.float = -1.0, max_val: _b.float = 1.0, inplace: _b.bool = False) -> _Tensor:
    """Return x limited to [min_val, max_val]."""
def hardtanh_(input: _Tensor, min_val: _b.float = -1.0, max_val: _b.float = 1.0) -> _Tensor:
    """Apply hardtanh() in place."""
def hinge_embedding_loss(input: _Tensor, target: _Tensor, margin: _b.float = 1.0,
                         size_average: _b.bool | None = None, reduce: _t.Any = None, reduction: _b.str = 'mean') -> _Tensor:
    """Return the input where the target is 1, max(0, margin - input) where it is -1."""
def huber_loss(input: _Tensor, target: _Tensor, reduction: _b.str = 'mean', delta: _b.float = 1.0,
               weight: _Tensor | None = None) -> _Tensor:
    """Return a squared loss below delta and delta times the absolute one above."""
def instance_norm(input: _Tensor, running_mean: _Tensor | None = None, running_var: _Tensor | None = None,
                  weight: _Tensor | None = None, bias: _t.Any = None, use_input_stats: _b.bool = True,
                  momentum: _b.float = 0.1, eps: _b.float = 1e-05) -> _Tensor:
    """Normalise each channel of each image, by its own or the running statistics."""
def interpolate(input: _Tensor, size: _t.SupportsIndex | _c.Sequence[_t.SupportsIndex] | None = None,
                scale_factor: _b.float | _c.Sequence[_b.float] | None = None, mode: _b.str = 'nearest',
                align_corners: _b.bool | None = None, recompute_scale_factor: _t.Any = None,
                antialias: _b.bool = False) -> _Tensor:
    """Resize the spatial dims; modes nearest, nearest-exact, linear, bilinear, bicubic, trilinear, area."""
def kl_div(input: _Tensor, target: _Tensor, size_average: _b.bool | None = None, reduce: _t.Any = None,
           reduction: _b.str = 'mean', log_target: _b.bool = False) -> _Tensor:
    """Return target * (log(target) - input) for log probabilities as input."""
def l1_loss(input: _Tensor, target: _Tensor, size_average: _b.bool | None = None, reduce: _t.Any = None,
            reduction: _b.str = 'mean', weight: _Tensor | None = None) -> _Tensor:
    """Return |input - target|."""
def leaky_relu(input: _Tensor, negative_slope: _b.float = 0.01, inplace: _b.bool = False) -> _Tensor:
    """Return x above 0, negative_slope * x below."""
def leaky_relu_(input: _Tensor, negative_slope: _b.float = 0.01) -> _Tensor:
    """Apply leaky_relu() in place."""
def linear(input: _Tensor, weight: _Tensor, bias: _t.Any = None, *,
           out: _Tensor | _c.Sequence[_Tensor] | None = None) -> _Tensor:
    """Return input @ weight.T + bias; the weight is (out_features, in_features), or (in_features,) for one output."""
def linear_cross_entropy(input: _Tensor, linear_weight: _t.Any, target: _Tensor, *, linear_bias: _t.Any = None,
                         weight: _Tensor | None = None, reduction: _b.str = 'mean',
                         ignore_index: _b.int | None = None, label_smoothing: _b.float = 0.0,
                         options: _t.Any = None) -> _Tensor:
    """Return cross_entropy of the logits linear(input, linear_weight, linear_bias); the weight is (C, ..., in_features)."""
def local_response_norm(input: _Tensor, size: _t.SupportsIndex | _c.Sequence[_t.SupportsIndex],
                        alpha: _Tensor | _b.complex = 0.0001, beta: _Tensor | _b.complex = 0.75,
                        k: _t.Any = 1.0) -> _Tensor:
    """Divide each element by (k + alpha * mean square of `size` neighbouring channels) ** beta."""
def log_softmax(input: _Tensor, dim: _b.int | _c.Sequence[_b.int] | None = None,
                dtype: _dtype | _b.type[_t.Any] | _b.str | _np.dtype[_t.Any] | None = None) -> _Tensor:
    """Return log(softmax(x)) along a dimension."""
def logsigmoid(input: _Tensor, *, out: _Tensor | _c.Sequence[_Tensor] | None = None) -> _Tensor:
    """Return log(sigmoid(x))."""
def lp_pool1d(input: _Tensor, norm_type: _t.Any, kernel_size: _t.SupportsIndex | _c.Sequence[_t.SupportsIndex],
              stride: _t.SupportsIndex | _c.Sequence[_t.SupportsIndex] | None = None,
              ceil_mode: _b.bool = False) -> _Tensor:
    """Return (sum of x ** norm_type) ** (1 / norm_type) over each window."""
def lp_pool2d(input: _Tensor, norm_type: _t.Any, kernel_size: _t.SupportsIndex | _c.Sequence[_t.SupportsIndex],
              stride: _t.SupportsIndex | _c.Sequence[_t.SupportsIndex] | None = None,
              ceil_mode: _b.bool = False) -> _Tensor:
    """Return (sum of x ** norm_type) ** (1 / norm_type) over each window."""
def lp_pool3d(input: _Tensor, norm_type: _t.Any, kernel_size: _t.SupportsIndex | _c.Sequence[_t.SupportsIndex],
              stride: _t.SupportsIndex | _c.Sequence[_t.SupportsIndex] | None = None,
              ceil_mode: _b.bool = False) -> _Tensor:
    """Return (sum of x ** norm_type) ** (1 / norm_type) over each window."""
def margin_ranking_loss(input1: _Tensor, input2: _Tensor, target: _Tensor, margin: _t.Any = 0,
                        size_average: _b.bool | None = None, reduce: _t.Any = None, reduction: _b.str = 'mean') -> _Tensor:
    """Return max(0, -target * (input1 - input2) + margin)."""
def max_pool1d(input: _Tensor, kernel_size: _t.SupportsIndex | _c.Sequence[_t.SupportsIndex],
               stride: _t.SupportsIndex | _c.Sequence[_t.SupportsIndex] | None = None,
               padding: _b.str | _t.SupportsIndex | _c.Sequence[_t.SupportsIndex] = 0,
               dilation: _t.SupportsIndex | _c.Sequence[_t.SupportsIndex] = 1, ceil_mode: _b.bool = False,
               return_indices: _b.bool = False) -> _Tensor:
    """Return the largest element of each window; `return_indices` and `*_with_indices` add its flat spatial index."""
def max_pool1d_with_indices(input: _Tensor, kernel_size: _t.SupportsIndex | _c.Sequence[_t.SupportsIndex],
                            stride: _t.SupportsIndex | _c.Sequence[_t.SupportsIndex] | None = None,
                            padding: _b.str | _t.SupportsIndex | _c.Sequence[_t.SupportsIndex] = 0,
                            dilation: _t.SupportsIndex | _c.Sequence[_t.SupportsIndex] = 1,
                            ceil_mode: _b.bool = False, return_indices: _b.bool = False) -> _Tensor:
    """Return the largest element of each window; `return_indices` and `*_with_indices` add its flat spatial index."""
def max_pool2d(input: _Tensor, kernel_size: _t.SupportsIndex | _c.Sequence[_t.SupportsIndex],
               stride: _t.SupportsIndex | _c.Sequence[_t.SupportsIndex] | None = None,
               padding: _b.str | _t.SupportsIndex | _c.Sequence[_t.SupportsIndex] = 0,
               dilation: _t.SupportsIndex | _c.Sequence[_t.SupportsIndex] = 1, ceil_mode: _b.bool = False,
               return_indices: _b.bool = False) -> _Tensor:
    """Return the largest element of each window; `return_indices` and `*_with_indices` add its flat spatial index."""
def max_pool2d_with_indices(input: _Tensor, kernel_size: _t.SupportsIndex | _c.Sequence[_t.SupportsIndex],
                            stride: _t.SupportsIndex | _c.Sequence[_t.SupportsIndex] | None = None,
                            padding: _b.str | _t.SupportsIndex | _c.Sequence[_t.SupportsIndex] = 0,
                            dilation: _t.SupportsIndex | _c.Sequence[_t.SupportsIndex] = 1,
                            ceil_mode: _b.bool = False, return_indices: _b.bool = False) -> _Tensor:
    """Return the largest element of each window; `return_indices` and `*_with_indices` add its flat spatial index."""
def max_pool3d(input: _Tensor, kernel_size: _t.SupportsIndex | _c.Sequence[_t.SupportsIndex],
               stride: _t.SupportsIndex | _c.Sequence[_t.SupportsIndex] | None = None,
               padding: _b.str | _t.SupportsIndex | _c.Sequence[_t.SupportsIndex] = 0,
               dilation: _t.SupportsIndex | _c.Sequence[_t.SupportsIndex] = 1, ceil_mode: _b.bool = False,
               return_indices: _b.bool = False) -> _Tensor:
    """Return the largest element of each window; `return_indices` and `*_with_indices` add its flat spatial index."""
def max_pool3d_with_indices(input: _Tensor, kernel_size: _t.SupportsIndex | _c.Sequence[_t.SupportsIndex],
                            stride: _t.SupportsIndex | _c.Sequence[_t.SupportsIndex] | None = None,
                            padding: _b.str | _t.SupportsIndex | _c.Sequence[_t.SupportsIndex] = 0,
                            dilation: _t.SupportsIndex | _c.Sequence[_t.SupportsIndex] = 1,
                            ceil_mode: _b.bool = False, return_indices: _b.bool = False) -> _Tensor:
    """Return the largest element of each window; `return_indices` and `*_with_indices` add its flat spatial index."""
def max_unpool1d(input: _Tensor, indices: _t.Any,
                 kernel_size: _t.SupportsIndex | _c.Sequence[_t.SupportsIndex],
                 stride: _t.SupportsIndex | _c.Sequence[_t.SupportsIndex] | None = None,
                 padding: _b.str | _t.SupportsIndex | _c.Sequence[_t.SupportsIndex] = 0,
                 output_size: _b.int | _c.Sequence[_b.int | None] | None = None) -> _Tensor:
    """Return zeros with each value at the position from which the maximum pool took it."""
def max_unpool2d(input: _Tensor, indices: _t.Any,
                 kernel_size: _t.SupportsIndex | _c.Sequence[_t.SupportsIndex],
                 stride: _t.SupportsIndex | _c.Sequence[_t.SupportsIndex] | None = None,
                 padding: _b.str | _t.SupportsIndex | _c.Sequence[_t.SupportsIndex] = 0,
                 output_size: _b.int | _c.Sequence[_b.int | None] | None = None) -> _Tensor:
    """Return zeros with each value at the position from which the maximum pool took it."""
def max_unpool3d(input: _Tensor, indices: _t.Any,
                 kernel_size: _t.SupportsIndex | _c.Sequence[_t.SupportsIndex],
                 stride: _t.SupportsIndex | _c.Sequence[_t.SupportsIndex] | None = None,
                 padding: _b.str | _t.SupportsIndex | _c.Sequence[_t.SupportsIndex] = 0,
                 output_size: _b.int | _c.Sequence[_b.int | None] | None = None) -> _Tensor:
    """Return zeros with each value at the position from which the maximum pool took it."""
def mish(input: _Tensor, inplace: _b.bool = False) -> _Tensor:
    """Return x * tanh(softplus(x))."""
def mse_loss(input: _Tensor, target: _Tensor, size_average: _b.bool | None = None, reduce: _t.Any = None,
             reduction: _b.str = 'mean', weight: _Tensor | None = None) -> _Tensor:
    """Return (input - target)^2."""

def multi_head_attention_forward(*args: _t.Any, **kwargs: _t.Any) -> _b.tuple[_Tensor, _Tensor | None]:
    """Compute multi-head attention over (L, N, E), (S, N, E) and (S, N, E), or without batch; return (output, weights)."""
def multi_margin_loss(input: _Tensor, target: _Tensor, p: _t.Any = 1, margin: _b.float = 1.0,
                      weight: _Tensor | None = None, size_average: _b.bool | None = None,
                      reduce: _t.Any = None, reduction: _b.str = 'mean') -> _Tensor:
    """Return the mean over wrong classes of max(0, margin - x[target] + x[class])^p."""
def multilabel_margin_loss(input: _Tensor, target: _Tensor, size_average: _b.bool | None = None,
                           reduce: _t.Any = None, reduction: _b.str = 'mean') -> _Tensor:
    """Sum max(0, 1 - (x[true] - x[wrong])) over pairs of a true and a wrong class; each row of targets ends at the first
    -1."""
def multilabel_soft_margin_loss(input: _Tensor, target: _Tensor, weight: _Tensor | None = None,
                                size_average: _b.bool | None = None, reduce: _t.Any = None,
                                reduction: _b.str = 'mean') -> _Tensor:
    """Return the mean over classes of the binary cross entropy with logits."""
native_channel_shuffle = _channel_shuffle
def nll_loss(input: _Tensor, target: _Tensor, weight: _Tensor | None = None,
             size_average: _b.bool | None = None, ignore_index: _b.int = -100, reduce: _t.Any = None,
             reduction: _b.str = 'mean') -> _Tensor:
    """Return -weight[target] * input[target] for log probabilities (N, C, ...) and class indices (N, ...)."""
def normalize(input: _Tensor, p: _b.float | _b.str = 2.0, dim: _b.int | _c.Sequence[_b.int] = 1,
              eps: _b.float = 1e-12, out: _Tensor | _c.Sequence[_Tensor] | None = None, *,
              axis: _b.int | _c.Sequence[_b.int] = 1) -> _Tensor:
    """Divide the input by its p-norm along `dim`, at least eps."""
def one_hot(tensor: _Tensor, num_classes: _b.int = -1) -> _Tensor:
    """Return int64 rows with a 1 at each index."""
def pad(input: _Tensor, pad: _t.Any, mode: _b.str = 'constant', value: _Tensor | _b.complex | None = None) -> _Tensor:
    """Pad the last dims; `pad` is (low, high) of the last dim, then of the one before, and so on. Mode "constant" pads with
    `value` (default 0), "reflect" mirrors without the edge, "replicate" repeats the edge, "circular" wraps around."""
def poisson_nll_loss(input: _Tensor, target: _Tensor, log_input: _b.bool = True, full: _b.bool = False,
                     size_average: _b.bool | None = None, eps: _b.float = 1e-08, reduce: _t.Any = None,
                     reduction: _b.str = 'mean') -> _Tensor:
    """Return the negative log likelihood of counts for a Poisson rate (its log with `log_input`)."""
def prelu(input: _Tensor, weight: _Tensor) -> _Tensor:
    """Return x above 0, weight * x below."""
def relu(input: _Tensor, inplace: _b.bool = False) -> _Tensor:
    """Return max(x, 0)."""
def relu6(input: _Tensor, inplace: _b.bool = False) -> _Tensor:
    """Return min(max(x, 0), 6)."""
def relu_(input: _Tensor) -> _Tensor:
    """Apply relu() in place."""
def rrelu(input: _Tensor, lower: _b.float = 0.125, upper: _b.float = 0.3333333333333333,
          training: _b.bool = False, inplace: _b.bool = False) -> _Tensor:
    """Apply leaky_relu with a random slope per element from [lower, upper) in training, else with their mean."""
def rrelu_(input: _Tensor, lower: _b.float = 0.125, upper: _b.float = 0.3333333333333333,
           training: _b.bool = False) -> _Tensor:
    """Apply rrelu() in place."""
def scaled_dot_product_attention(query: _Tensor, key: _Tensor, value: _Tensor | _b.complex,
                                 attn_mask: _Tensor | None = None, dropout_p: _b.float = 0.0,
                                 is_causal: _b.bool = False, scale: _b.float | None = None,
                                 enable_gqa: _b.bool = False) -> _Tensor:
    """Return softmax(query @ key.T * scale + mask) @ value over (..., L, E), (..., S, E) and (..., S, Ev)."""
def selu(input: _Tensor, inplace: _b.bool = False) -> _Tensor:
    """Apply elu with the constants that keep mean and variance."""
def selu_(input: _Tensor) -> _Tensor:
    """Apply selu() in place."""
def sigmoid(input: _Tensor) -> _Tensor:
    """Return 1 / (1 + exp(-x))."""
def silu(input: _Tensor, inplace: _b.bool = False) -> _Tensor:
    """Return x * sigmoid(x)."""
def smooth_l1_loss(input: _Tensor, target: _Tensor, size_average: _b.bool | None = None, reduce: _t.Any = None,
                   reduction: _b.str = 'mean', beta: _Tensor | _b.complex = 1.0) -> _Tensor:
    """Return a squared loss below beta and an absolute one above."""
def soft_margin_loss(input: _Tensor, target: _Tensor, size_average: _b.bool | None = None,
                     reduce: _t.Any = None, reduction: _b.str = 'mean') -> _Tensor:
    """Return log(1 + exp(-target * input))."""
def softmax(input: _Tensor, dim: _b.int | _c.Sequence[_b.int] | None = None,
            dtype: _dtype | _b.type[_t.Any] | _b.str | _np.dtype[_t.Any] | None = None) -> _Tensor:
    """Return exp(x) / sum(exp(x)) along a dimension."""
def softmin(input: _Tensor, dim: _b.int | _c.Sequence[_b.int] | None = None,
            dtype: _dtype | _b.type[_t.Any] | _b.str | _np.dtype[_t.Any] | None = None, *,
            axis: _b.int | _c.Sequence[_b.int] | None = None) -> _Tensor:
    """Return softmax of -x."""
def softplus(input: _Tensor, beta: _Tensor | _b.complex = 1, threshold: _t.Any = 20, *,
             out: _Tensor | _c.Sequence[_Tensor] | None = None) -> _Tensor:
    """Return log(1 + exp(beta * x)) / beta, or x where beta * x is above the threshold."""
def softshrink(input: _Tensor, lambd: _b.float = 0.5, *, out: _Tensor | _c.Sequence[_Tensor] | None = None) -> _Tensor:
    """Return x moved towards 0 by lambd, and 0 within."""
def softsign(input: _Tensor) -> _Tensor:
    """Return x / (1 + |x|)."""
def tanh(input: _Tensor) -> _Tensor:
    """Return the hyperbolic tangent."""
def tanhshrink(input: _Tensor) -> _Tensor:
    """Return x - tanh(x)."""
def threshold(input: _Tensor, threshold: _t.Any, value: _Tensor | _b.complex, inplace: _b.bool = False) -> _Tensor:
    """Return x above the threshold, else value."""
def threshold_(input: _Tensor, threshold: _t.Any, value: _Tensor | _b.complex) -> _Tensor:
    """Apply threshold() in place."""
def triplet_margin_loss(anchor: _Tensor, positive: _Tensor, negative: _Tensor, margin: _b.float = 1.0,
                        p: _t.Any = 2, eps: _b.float = 1e-06, swap: _b.bool = False,
                        size_average: _b.bool | None = None, reduce: _t.Any = None, reduction: _b.str = 'mean') -> _Tensor:
    """Return max(0, d(anchor, positive) - d(anchor, negative) + margin)."""
def triplet_margin_with_distance_loss(anchor: _Tensor, positive: _Tensor, negative: _Tensor, *,
                                      distance_function: _t.Any = None, margin: _b.float = 1.0,
                                      swap: _b.bool = False, reduction: _b.str = 'mean') -> _Tensor:
    """Return triplet_margin_loss with a given distance function."""
def unfold(input: _Tensor, kernel_size: _t.SupportsIndex | _c.Sequence[_t.SupportsIndex],
           dilation: _t.SupportsIndex | _c.Sequence[_t.SupportsIndex] = 1,
           padding: _b.str | _t.SupportsIndex | _c.Sequence[_t.SupportsIndex] = 0,
           stride: _t.SupportsIndex | _c.Sequence[_t.SupportsIndex] = 1) -> _Tensor:
    """Return all windows of images (N, C, H, W) as columns (N, C * kernel, windows)."""
def upsample(input: _Tensor, size: _t.SupportsIndex | _c.Sequence[_t.SupportsIndex] | None = None,
             scale_factor: _b.float | _c.Sequence[_b.float] | None = None, mode: _b.str = 'nearest',
             align_corners: _b.bool | None = None) -> _Tensor:
    """Call interpolate, under its old name."""
def upsample_bilinear(input: _Tensor, size: _t.SupportsIndex | _c.Sequence[_t.SupportsIndex] | None = None,
                      scale_factor: _b.float | _c.Sequence[_b.float] | None = None) -> _Tensor:
    """Call interpolate with mode bilinear and aligned corners."""
def upsample_nearest(input: _Tensor, size: _t.SupportsIndex | _c.Sequence[_t.SupportsIndex] | None = None,
                     scale_factor: _b.float | _c.Sequence[_b.float] | None = None) -> _Tensor:
    """Call interpolate with mode nearest."""
