"""Module: the base class of everything that owns parameters."""

# Made by `make stubs` from the live package; not edited by hand.

import builtins as _b
from ingot import IngotError as _IngotError
from ingot.nn import Module as Module

class MissingAttribute(_IngotError, _b.AttributeError):
    """A module lacks an attribute."""

class NoForward(_IngotError, _b.NotImplementedError):
    """A call of a module without forward()."""

class RegistrationError(_IngotError, _b.RuntimeError, _b.ValueError, _b.KeyError):
    """An invalid name of a parameter, buffer or module."""
