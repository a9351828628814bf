"""Dropout modules."""

from typing import Any

from ....ir.errors import ArgumentError
from .. import functional as F
from ..base.module import Module


class _DropoutNd(Module):
    """Base of dropout modules; libraries test for it."""

    _function: Any = None

    def __init__(self, p=0.5, inplace=False):
        super().__init__()
        if not 0 <= p <= 1:
            raise ArgumentError(f"a dropout probability must be within 0 and 1, got {p}")
        self.p, self.inplace = p, inplace

    def forward(self, input):
        """Drop in training, return the input in evaluation."""
        return type(self)._function(input, self.p, self.training, self.inplace)

    def extra_repr(self):
        return f"p={self.p}, inplace={self.inplace}"


class Dropout(_DropoutNd):
    """Dropout of elements with probability p."""

    _function = staticmethod(F.dropout)


class Dropout1d(_DropoutNd):
    """Dropout of whole channels of (N, C, L) or (C, L)."""

    _function = staticmethod(F.dropout1d)


class Dropout2d(_DropoutNd):
    """Dropout of whole channels of (N, C, H, W) or (C, H, W)."""

    _function = staticmethod(F.dropout2d)


class Dropout3d(_DropoutNd):
    """Dropout of whole channels of (N, C, D, H, W) or (C, D, H, W)."""

    _function = staticmethod(F.dropout3d)


class AlphaDropout(_DropoutNd):
    """Dropout that keeps the mean and variance of selu activations."""

    _function = staticmethod(F.alpha_dropout)


class FeatureAlphaDropout(_DropoutNd):
    """AlphaDropout of whole channels."""

    _function = staticmethod(F.feature_alpha_dropout)
