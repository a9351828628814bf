"""Nodes of fx graphs: target, arguments, users."""

# Made by `make stubs` from the live package; not edited by hand.

import builtins as _b
import collections.abc as _c
import typing as _t
from ingot.fx import Node as Node
from ingot.fx import has_side_effect as has_side_effect
from ingot.fx import map_aggregate as map_aggregate
from ingot.fx import map_arg as map_arg

Target = _c.Callable[..., _t.Any] | _b.str
Argument = _t.Any
