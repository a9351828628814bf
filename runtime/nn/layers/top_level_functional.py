"""Functions of `nn.functional` that the top level has as well, with the argument orders and defaults of the older spelling.

There, a reduction may be given as a number, a missing padding row is -1, and what may be missing has to be said. Losses take
the mean unless told otherwise, as PyTorch's signatures say (its releases differ in what they do then). The functions register
themselves; `runtime.api.load_twins` loads them when such a name is asked for.
"""

from ....ir.errors import ArgumentError
from ...api.register.register import FUNCTIONS
from .. import functional as F
from ..functional.embedding import renormalise_
from . import top_level_layers  # noqa: F401  (which registers its own)

REDUCTIONS = ("none", "mean", "sum")


def _reduction(number):
    """A reduction by its number (0 none, 1 mean, 2 sum) or its name."""
    if isinstance(number, str):
        return number
    if number not in (0, 1, 2):
        raise ArgumentError(f"reduction must be 0 (none), 1 (mean) or 2 (sum), or such a word, got {number!r}")
    return REDUCTIONS[number]


def _public(fn):
    """Makes a function part of the top level."""
    FUNCTIONS[fn.__name__] = fn
    return fn


# Dropout: the probability and the mode are always said.


@_public
def dropout(input, p, train):
    """Zeros elements with probability p while training, and scales the rest by 1 / (1 - p)."""
    return F.dropout(input, p, train)


@_public
def dropout_(input, p, train):
    """dropout() in place."""
    return F.dropout(input, p, train, True)


@_public
def alpha_dropout(input, p, train):
    """Dropout that keeps the mean and variance of selu activations."""
    return F.alpha_dropout(input, p, train)


@_public
def alpha_dropout_(input, p, train):
    """alpha_dropout() in place."""
    return F.alpha_dropout(input, p, train, True)


@_public
def feature_dropout(input, p, train):
    """Dropout of whole channels."""
    return F.feature_dropout(input, p, train)


@_public
def feature_dropout_(input, p, train):
    """feature_dropout() in place."""
    return F.feature_dropout(input, p, train, True)


@_public
def feature_alpha_dropout(input, p, train):
    """alpha_dropout() of whole channels."""
    return F.feature_alpha_dropout(input, p, train)


@_public
def feature_alpha_dropout_(input, p, train):
    """feature_alpha_dropout() in place."""
    return F.feature_alpha_dropout(input, p, train, True)


# Activations.


@_public
def rrelu(input, lower=1.0 / 8, upper=1.0 / 3, training=False):
    """leaky_relu with a slope drawn for each element in training, the mean of the bounds otherwise."""
    return F.rrelu(input, lower, upper, training)


@_public
def rrelu_(input, lower=1.0 / 8, upper=1.0 / 3, training=False):
    """rrelu() in place."""
    return F.rrelu(input, lower, upper, training, True)


@_public
def celu_(input, alpha=1.0):
    """celu() in place."""
    return F.celu(input, alpha, True)


@_public
def selu_(input):
    """selu() in place."""
    return F.selu(input, True)


@_public
def threshold_(input, threshold, value):
    """threshold() in place."""
    return F.threshold(input, threshold, value, True)


@_public
def hardshrink(input, lambd=0.5, *, out=None):
    """0 where |input| <= lambd, the input elsewhere."""
    return F.hardshrink(input, lambd, out=out)


# Lookups: the table comes first.


@_public
def embedding(weight, indices, padding_idx=-1, scale_grad_by_freq=False, sparse=False):
    """The rows of `weight` at the indices; a padding_idx below 0 means none."""
    return F.embedding(indices, weight, None if padding_idx < 0 else padding_idx, None, 2.0, scale_grad_by_freq, sparse)


@_public
def embedding_renorm_(input, indices, max_norm, norm_type):
    """Scales the rows of a table that the indices name down to max_norm, in place."""
    renormalise_(input, indices, max_norm, norm_type)
    return input


# Maps and normalisation.


@_public
def bilinear(input1, input2, weight, bias=None):
    """sum over i, j of input1[i] * weight[o, i, j] * input2[j], plus bias."""
    return F.bilinear(input1, input2, weight, bias)


@_public
def batch_norm(input, weight, bias, running_mean, running_var, training, momentum, eps, cudnn_enabled):
    """Each channel to mean 0 and variance 1, by the batch's statistics in training, by the running ones otherwise."""
    return F.batch_norm(input, running_mean, running_var, weight, bias, training, momentum, eps)


@_public
def instance_norm(input, weight, bias, running_mean, running_var, use_input_stats, momentum, eps, cudnn_enabled):
    """Each channel of each image to mean 0 and variance 1."""
    return F.instance_norm(input, running_mean, running_var, weight, bias, use_input_stats, momentum, eps)


@_public
def affine_grid_generator(theta, size, align_corners):
    """The grid at which grid_sample transforms images of `size` by the affine maps `theta`."""
    return F.affine_grid(theta, size, align_corners)


# Losses: the reduction may be a number.


@_public
def binary_cross_entropy_with_logits(input, target, weight=None, pos_weight=None, reduction=1):
    """The loss of logits against probabilities."""
    return F.binary_cross_entropy_with_logits(input, target, weight, reduction=_reduction(reduction), pos_weight=pos_weight)


@_public
def kl_div(input, target, reduction=1, *, log_target=False):
    """target * (log(target) - input) for log probabilities as input."""
    return F.kl_div(input, target, reduction=_reduction(reduction), log_target=log_target)


@_public
def poisson_nll_loss(input, target, log_input, full, eps, reduction):
    """The negative log likelihood of counts."""
    return F.poisson_nll_loss(input, target, log_input, full, None, eps, None, _reduction(reduction))


@_public
def hinge_embedding_loss(input, target, margin=1.0, reduction=1):
    """The input where the target is 1, max(0, margin - input) where it is -1."""
    return F.hinge_embedding_loss(input, target, margin, reduction=_reduction(reduction))


@_public
def margin_ranking_loss(input1, input2, target, margin=0.0, reduction=1):
    """max(0, -target * (input1 - input2) + margin)"""
    return F.margin_ranking_loss(input1, input2, target, margin, reduction=_reduction(reduction))


@_public
def cosine_embedding_loss(input1, input2, target, margin=0.0, reduction=1):
    """1 - cos where the target is 1, max(0, cos - margin) where it is -1."""
    return F.cosine_embedding_loss(input1, input2, target, margin, reduction=_reduction(reduction))


@_public
def triplet_margin_loss(anchor, positive, negative, margin=1.0, p=2.0, eps=1e-06, swap=False, reduction=1):
    """max(0, distance to positive - distance to negative + margin)"""
    return F.triplet_margin_loss(anchor, positive, negative, margin, p, eps, swap, reduction=_reduction(reduction))


@_public
def ctc_loss(log_probs, targets, input_lengths, target_lengths, blank=0, reduction=1, zero_infinity=False):
    """Connectionist temporal classification of log_probs (T, N, C) or (T, C)."""
    return F.ctc_loss(log_probs, targets, input_lengths, target_lengths, blank, _reduction(reduction), zero_infinity)
