"""Modules that hold other modules or parameters."""

# Made by `make stubs` from the live package; not edited by hand.

from ingot.nn import ModuleDict as ModuleDict
from ingot.nn import ModuleList as ModuleList
from ingot.nn import ParameterDict as ParameterDict
from ingot.nn import ParameterList as ParameterList
from ingot.nn import Sequential as Sequential
