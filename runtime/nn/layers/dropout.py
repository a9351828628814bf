"""Dropout modules."""

from typing import Any

from ....ir.errors import ArgumentError
from .. import functional as F
from ..base.module import Module


class _DropoutNd(Module):
    """Base of dropout modules; libraries test for it."""

    _repr_fields = "p= inplace="
    _function: Any = None

    def __init_subclass__(cls, function=None, **options):
        super().__init_subclass__(**options)
        cls._function = staticmethod(function) if function is not None else cls._function

    def __init__(self, p=0.5, inplace=False):
        super().__init__()
        if not 0 <= p <= 1:
            raise ArgumentError(f"a dropout probability must be within 0 and 1, got {p}")
        self.p, self.inplace = p, inplace

    def forward(self, input):
        return type(self)._function(input, self.p, self.training, self.inplace)


class Dropout(_DropoutNd, function=F.dropout):
    """Dropout of elements with probability p.

    Parameters
    ----------
    p : float
        Probability with which an element becomes zero while training; the others are divided by 1 - p.
    inplace : bool
        Whether the result overwrites the input.

    Shape
    -----
    Input and output: any shape, the same.

    Examples
    --------
    >>> drop = nn.Dropout(0.5)
    >>> drop.eval()(ingot.ones(3))
    tensor([1., 1., 1.])
    """


class Dropout1d(_DropoutNd, function=F.dropout1d):
    """Dropout of whole channels of (N, C, L) or (C, L)."""


class Dropout2d(_DropoutNd, function=F.dropout2d):
    """Dropout of whole channels of (N, C, H, W) or (C, H, W).

    Parameters
    ----------
    p : float
        Probability with which a channel becomes zero while training; the others are divided by 1 - p.
    inplace : bool
        Whether the result overwrites the input.

    Shape
    -----
    Input and output: (N, C, H, W) or (C, H, W).

    Examples
    --------
    >>> nn.Dropout2d(1.0)(ingot.ones(1, 2, 2, 2)).sum()
    tensor(0.)
    """


class Dropout3d(_DropoutNd, function=F.dropout3d):
    """Dropout of whole channels of (N, C, D, H, W) or (C, D, H, W)."""


class AlphaDropout(_DropoutNd, function=F.alpha_dropout):
    """Dropout that keeps the mean and variance of selu activations."""


class FeatureAlphaDropout(_DropoutNd, function=F.feature_alpha_dropout):
    """AlphaDropout of whole channels."""
