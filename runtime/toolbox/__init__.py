"""`ingot.utils`: what programs around models use."""

from .. import data
from ..autograd import checkpoint
from . import dlpack
from .progress import progress

__all__ = ["checkpoint", "data", "dlpack", "progress"]
