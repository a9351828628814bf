"""The functions behind the namespace: all of ingot's, loaded."""

from ..api import load_rest
from ..api.register.register import FUNCTIONS

__all__ = ["FUNCTIONS"]

load_rest()
