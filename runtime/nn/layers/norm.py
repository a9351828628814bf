"""Normalisation modules."""

from ....ir import dtype as dt
from ....ir.errors import ArgumentError, ShapeError
from ....ir.opdef.aval import integers
from ...api.register.register import FUNCTIONS
from .. import functional as F
from ..base import init
from ..base.lazy_modules import LazyModuleMixin
from ..base.module import Module
from ..base.parameter import UninitializedBuffer, UninitializedParameter, is_lazy, without_shape
from ..functional.norm import counted_batch_norm
from .linear import empty_parameter

__all__ = ["BatchNorm1d", "BatchNorm2d", "BatchNorm3d", "CrossMapLRN2d", "GroupNorm", "InstanceNorm1d", "InstanceNorm2d",
           "InstanceNorm3d", "LayerNorm", "LazyBatchNorm1d", "LazyBatchNorm2d", "LazyBatchNorm3d", "LazyInstanceNorm1d",
           "LazyInstanceNorm2d", "LazyInstanceNorm3d", "LocalResponseNorm", "RMSNorm"]


class _Affine(Module):
    """Base of norms with a weight and a bias, or without."""

    def _add_parameters(self, shape, device, dtype, weight, bias=False):
        for name, present in (("weight", weight), ("bias", weight and bias)):
            self.register_parameter(name, empty_parameter(shape, device, dtype) if present else None)

    def reset_parameters(self):
        if self.weight is not None:
            init.ones_(self.weight)
        if self.bias is not None:
            init.zeros_(self.bias)


class _NormBase(_Affine):
    """Running statistics and, if `affine`, a weight and bias for each of `num_features` channels."""

    _repr_fields = "num_features eps= momentum= affine= bias? track_running_stats="
    ndims: tuple = ()   # allowed numbers of dimensions of an input
    _version = 2

    def __init_subclass__(cls, ndims=(), **options):
        super().__init_subclass__(**options)
        cls.ndims = ndims or cls.ndims

    def __init__(self, num_features, eps, momentum, affine, track_running_stats, device, dtype, bias):
        super().__init__()
        self.num_features, self.eps, self.momentum = num_features, eps, momentum
        self.affine, self.track_running_stats = affine, track_running_stats
        self._add_parameters((num_features,), device, dtype, affine, bias)
        tracked = track_running_stats
        self.register_buffer("running_mean", FUNCTIONS["zeros"](num_features, device=device, dtype=dtype) if tracked else None)
        self.register_buffer("running_var", FUNCTIONS["ones"](num_features, device=device, dtype=dtype) if tracked else None)
        self.register_buffer("num_batches_tracked",
                             FUNCTIONS["tensor"](0, dtype=dt.int64, device=device) if tracked else None)
        self.reset_parameters()

    def reset_running_stats(self):
        if self.track_running_stats:
            self.running_mean.zero_()
            self.running_var.fill_(1)
            self.num_batches_tracked.zero_()

    def reset_parameters(self):
        self.reset_running_stats()
        super().reset_parameters()

    def _check_input(self, input):
        if input.ndim not in self.ndims:
            allowed = " or ".join(map(str, self.ndims))
            raise ShapeError(f"{type(self).__name__} takes an input of {allowed} dimensions, got {input.aval}")

    def _load_from_state_dict(self, state_dict, prefix, local_metadata, strict, missing_keys, unexpected_keys, error_msgs):
        version = local_metadata.get("version")
        key = prefix + "num_batches_tracked"
        if (version is None or version < 2) and self.track_running_stats and key not in state_dict:
            counted = self.num_batches_tracked
            state_dict[key] = FUNCTIONS["zeros"]((), dtype=counted.dtype) if counted.is_meta else counted
        super()._load_from_state_dict(state_dict, prefix, local_metadata, strict, missing_keys, unexpected_keys, error_msgs)


class _BatchNorm(_NormBase):
    def __init__(self, num_features, eps=1e-05, momentum=0.1, affine=True, track_running_stats=True, device=None, dtype=None,
                 bias=True):
        super().__init__(num_features, eps, momentum, affine, track_running_stats, device, dtype, bias)

    def forward(self, input):
        self._check_input(input)
        training, mean, var = self.training, self.running_mean, self.running_var
        by_batch = training or (mean is None and var is None)
        if training and self.track_running_stats:
            return counted_batch_norm(self.num_batches_tracked, input, mean, var, self.weight, self.bias, by_batch,
                                      self.momentum, self.eps)
        if training:
            mean = var = None
        return F.batch_norm(input, mean, var, self.weight, self.bias, by_batch, self.momentum or 0.0, self.eps)


class BatchNorm1d(_BatchNorm, ndims=(2, 3)):
    """Normalisation of each channel of (N, C) or (N, C, L) over the batch.

    Parameters
    ----------
    num_features : int
        Number of channels C.
    eps : float
        Added to the variance.
    momentum : float or None
        Weight of a new batch in the running statistics; None averages all batches equally.
    affine, bias : bool
        Whether there is a weight, and with it a bias, for each channel.
    track_running_stats : bool
        Whether statistics are kept for `eval()`. Without them, batches are normalised by their statistics there, too.
    device, dtype : optional
        Of the parameters; by default the current defaults.

    Shape
    -----
    Input and output: (N, C) or (N, C, L).

    Examples
    --------
    >>> x = nn.BatchNorm1d(3)(ingot.arange(12.0).reshape(4, 3))
    >>> x.mean(0).abs().max().item() < 1e-5
    True
    """


class BatchNorm2d(_BatchNorm, ndims=(4,)):
    """Normalisation of each channel of (N, C, H, W) over the batch.

    Parameters
    ----------
    num_features : int
        Number of channels C.
    eps : float
        Added to the variance.
    momentum : float or None
        Weight of a new batch in the running statistics; None averages all batches equally.
    affine, bias : bool
        Whether there is a weight, and with it a bias, for each channel.
    track_running_stats : bool
        Whether statistics are kept for `eval()`. Without them, batches are normalised by their statistics there, too.
    device, dtype : optional
        Of the parameters; by default the current defaults.

    Shape
    -----
    Input and output: (N, C, H, W).

    Examples
    --------
    >>> norm = nn.BatchNorm2d(3)
    >>> norm(ingot.ones(2, 3, 4, 4)).shape
    ingot.Size([2, 3, 4, 4])
    >>> norm.running_mean
    tensor([0.1000, 0.1000, 0.1000])
    """


class BatchNorm3d(_BatchNorm, ndims=(5,)):
    """Normalisation of each channel of (N, C, D, H, W) over the batch.

    Parameters
    ----------
    num_features : int
        Number of channels C.
    eps : float
        Added to the variance.
    momentum : float or None
        Weight of a new batch in the running statistics; None averages all batches equally.
    affine, bias : bool
        Whether there is a weight, and with it a bias, for each channel.
    track_running_stats : bool
        Whether statistics are kept for `eval()`. Without them, batches are normalised by their statistics there, too.
    device, dtype : optional
        Of the parameters; by default the current defaults.

    Shape
    -----
    Input and output: (N, C, D, H, W).

    Examples
    --------
    >>> nn.BatchNorm3d(3)(ingot.ones(2, 3, 2, 2, 2)).shape
    ingot.Size([2, 3, 2, 2, 2])
    """


class _InstanceNorm(_NormBase):
    def __init__(self, num_features, eps=1e-05, momentum=0.1, affine=False, track_running_stats=False, device=None, dtype=None,
                 bias=True):
        super().__init__(num_features, eps, momentum, affine, track_running_stats, device, dtype, bias)

    def forward(self, input):
        self._check_input(input)
        x = input.unsqueeze(0) if input.ndim == min(self.ndims) else input
        if x.shape[1] != self.num_features and self.affine:
            raise ShapeError(f"{type(self).__name__} is for {self.num_features} channels, got {input.aval}")
        own = self.training or not self.track_running_stats
        out = F.instance_norm(x, self.running_mean, self.running_var, self.weight, self.bias, own, self.momentum or 0.0,
                              self.eps)
        return out.squeeze(0) if x is not input else out


class InstanceNorm1d(_InstanceNorm, ndims=(2, 3)):
    """Normalisation of each channel of each (C, L)."""


class InstanceNorm2d(_InstanceNorm, ndims=(3, 4)):
    """Normalisation of each channel of each (C, H, W).

    Parameters
    ----------
    num_features : int
        Number of channels C.
    eps : float
        Added to the variance.
    momentum : float or None
        Weight of a new batch in the running statistics; None averages all batches equally.
    affine, bias : bool
        Whether there is a weight, and with it a bias, for each channel. By default there is none.
    track_running_stats : bool
        Whether statistics are kept and used by `eval()`. By default each image is normalised by its own.
    device, dtype : optional
        Of the parameters; by default the current defaults.

    Shape
    -----
    Input and output: (N, C, H, W) or (C, H, W).

    Examples
    --------
    >>> nn.InstanceNorm2d(3)(ingot.ones(2, 3, 4, 4)).abs().max()
    tensor(0.)
    """


class InstanceNorm3d(_InstanceNorm, ndims=(4, 5)):
    """Normalisation of each channel of each (C, D, H, W)."""


class _LazyNorm(LazyModuleMixin):
    """A norm that takes num_features from its first input."""

    def __init__(self, eps=1e-05, momentum=0.1, affine=True, track_running_stats=True, device=None, dtype=None, bias=True):
        super().__init__(0, eps, momentum, affine, track_running_stats, device, dtype, bias)
        for name in ("weight", "bias"):
            if getattr(self, name) is not None:
                setattr(self, name, without_shape(UninitializedParameter, getattr(self, name)))
        if track_running_stats:
            self.running_mean = without_shape(UninitializedBuffer, self.running_mean)
            self.running_var = without_shape(UninitializedBuffer, self.running_var)

    def reset_parameters(self):
        if self.num_features:
            super().reset_parameters()  # type: ignore[misc]

    def initialize_parameters(self, input):
        self.num_features = input.shape[1]
        for t in (self.weight, self.bias, self.running_mean, self.running_var):
            if t is not None and is_lazy(t):
                t.materialize((self.num_features,))
        self.reset_parameters()


class LazyBatchNorm1d(_LazyNorm, BatchNorm1d, becomes=BatchNorm1d):
    """BatchNorm1d that takes num_features from its first input."""


class LazyBatchNorm2d(_LazyNorm, BatchNorm2d, becomes=BatchNorm2d):
    """BatchNorm2d that takes num_features from its first input."""


class LazyBatchNorm3d(_LazyNorm, BatchNorm3d, becomes=BatchNorm3d):
    """BatchNorm3d that takes num_features from its first input."""


class LazyInstanceNorm1d(_LazyNorm, InstanceNorm1d, becomes=InstanceNorm1d):
    """InstanceNorm1d that takes num_features from its first input."""


class LazyInstanceNorm2d(_LazyNorm, InstanceNorm2d, becomes=InstanceNorm2d):
    """InstanceNorm2d that takes num_features from its first input."""


class LazyInstanceNorm3d(_LazyNorm, InstanceNorm3d, becomes=InstanceNorm3d):
    """InstanceNorm3d that takes num_features from its first input."""


def _sizes_of(normalized_shape):
    return tuple([int(n) for n in integers(normalized_shape, "normalized_shape")])


class LayerNorm(_Affine):
    """Normalisation over the last dims, then weight and bias.

    Parameters
    ----------
    normalized_shape : int or tuple
        Sizes of the last dimensions, over which is normalised.
    eps : float
        Added to the variance.
    elementwise_affine, bias : bool
        Whether there is a weight, and with it a bias, for each element.
    device, dtype : optional
        Of the parameters; by default the current defaults.

    Shape
    -----
    Input and output: any shape, the same.

    Examples
    --------
    >>> nn.LayerNorm(4)(ingot.arange(4.0))
    tensor([-1.3416, -0.4472,  0.4472,  1.3416], grad_fn=...)
    """

    _repr_fields = "normalized_shape eps= elementwise_affine= bias?"

    def __init__(self, normalized_shape, eps=1e-05, elementwise_affine=True, bias=True, device=None, dtype=None):
        super().__init__()
        self.normalized_shape, self.eps, self.elementwise_affine = _sizes_of(normalized_shape), eps, elementwise_affine
        self._add_parameters(self.normalized_shape, device, dtype, elementwise_affine, bias)
        self.reset_parameters()

    def forward(self, input):
        return F.layer_norm(input, self.normalized_shape, self.weight, self.bias, self.eps)


class RMSNorm(Module):
    """Division by the root mean square over the last dims, then weight.

    Parameters
    ----------
    normalized_shape : int or tuple
        Sizes of the last dimensions, over which is normalised.
    eps : float, optional
        Added to the mean square; by default the smallest step of the dtype.
    elementwise_affine : bool
        Whether there is a weight for each element.
    device, dtype : optional
        Of the parameters; by default the current defaults.

    Shape
    -----
    Input and output: any shape, the same.

    Examples
    --------
    >>> nn.RMSNorm(2)(ingot.tensor([3.0, 4.0]))
    tensor([0.8485, 1.1314], grad_fn=...)
    """

    _repr_fields = "normalized_shape eps= elementwise_affine="

    def __init__(self, normalized_shape, eps=None, elementwise_affine=True, device=None, dtype=None):
        super().__init__()
        self.normalized_shape, self.eps, self.elementwise_affine = _sizes_of(normalized_shape), eps, elementwise_affine
        self.register_parameter("weight", empty_parameter(self.normalized_shape, device, dtype) if elementwise_affine else None)
        self.reset_parameters()

    def reset_parameters(self):
        if self.weight is not None:
            init.ones_(self.weight)

    def forward(self, x):
        return F.rms_norm(x, self.normalized_shape, self.weight, self.eps)


class GroupNorm(_Affine):
    """Normalisation of each group of channels of each image.

    Parameters
    ----------
    num_groups, num_channels : int
        Number of groups, and of the channels that are split into them evenly.
    eps : float
        Added to the variance.
    affine, bias : bool
        Whether there is a weight, and with it a bias, for each channel.
    device, dtype : optional
        Of the parameters; by default the current defaults.

    Shape
    -----
    Input and output: (N, C, ...).

    Examples
    --------
    >>> nn.GroupNorm(2, 6)(ingot.ones(1, 6, 4, 4)).shape
    ingot.Size([1, 6, 4, 4])
    """

    _repr_fields = "num_groups num_channels eps= affine= bias?"

    def __init__(self, num_groups, num_channels, eps=1e-05, affine=True, device=None, dtype=None, bias=True):
        super().__init__()
        if num_channels % num_groups:
            raise ArgumentError(f"GroupNorm: num_channels {num_channels} must be divisible by num_groups {num_groups}")
        self.num_groups, self.num_channels, self.eps, self.affine = num_groups, num_channels, eps, affine
        self._add_parameters((num_channels,), device, dtype, affine, bias)
        self.reset_parameters()

    def forward(self, input):
        return F.group_norm(input, self.num_groups, self.weight, self.bias, self.eps)


class LocalResponseNorm(Module):
    """Division by (k + alpha * mean square of `size` neighbouring channels) ** beta."""

    _repr_fields = "size alpha= beta= k="

    def __init__(self, size, alpha=0.0001, beta=0.75, k=1.0):
        super().__init__()
        self.size, self.alpha, self.beta, self.k = size, alpha, beta, k

    def forward(self, input):
        return F.local_response_norm(input, self.size, self.alpha, self.beta, self.k)


class CrossMapLRN2d(LocalResponseNorm):
    """LocalResponseNorm for (N, C, H, W), under an older name."""

    def __init__(self, size, alpha=0.0001, beta=0.75, k=1):
        super().__init__(size, alpha, beta, k)
