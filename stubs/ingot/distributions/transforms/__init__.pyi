"""Transforms: invertible maps of values, with the logarithm of their volume change; and joins of transforms by part."""

# Made by `make stubs` from the live package; not edited by hand.

import typing as _t
from ingot.distributions import AbsTransform as AbsTransform
from ingot.distributions import AffineTransform as AffineTransform
from ingot.distributions import CatTransform as CatTransform
from ingot.distributions import ComposeTransform as ComposeTransform
from ingot.distributions import CorrCholeskyTransform as CorrCholeskyTransform
from ingot.distributions import CumulativeDistributionTransform as CumulativeDistributionTransform
from ingot.distributions import ExpTransform as ExpTransform
from ingot.distributions import IndependentTransform as IndependentTransform
from ingot.distributions import LowerCholeskyTransform as LowerCholeskyTransform
from ingot.distributions import PositiveDefiniteTransform as PositiveDefiniteTransform
from ingot.distributions import PowerTransform as PowerTransform
from ingot.distributions import ReshapeTransform as ReshapeTransform
from ingot.distributions import SigmoidTransform as SigmoidTransform
from ingot.distributions import SoftmaxTransform as SoftmaxTransform
from ingot.distributions import SoftplusTransform as SoftplusTransform
from ingot.distributions import StackTransform as StackTransform
from ingot.distributions import StickBreakingTransform as StickBreakingTransform
from ingot.distributions import TanhTransform as TanhTransform
from ingot.distributions import Transform as Transform

def identity_transform(x: _t.Any) -> _t.Any:
    """Transforms one after the other."""
