"""Modules whose sizes come from the first input."""

# Made by `make stubs` from the live package; not edited by hand.

from ingot.nn.modules import LazyModuleMixin as LazyModuleMixin
