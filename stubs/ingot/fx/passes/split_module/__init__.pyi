"""`fx.passes.split_module`: a graph split into modules."""

# Made by `make stubs` from the live package; not edited by hand.

import builtins as _b
import collections.abc as _c
import typing as _t
from ingot.fx import GraphModule as _GraphModule
from ingot.fx import Node as _Node
from ingot.nn import Module as _Module

class Partition:
    """One part: its nodes, the values that it reads from others, and those that others read."""
    inputs: _b.dict[_t.Any, _t.Any]
    name: _b.str
    nodes: _b.list[_t.Any]
    outputs: _b.dict[_t.Any, _t.Any]
    submod_name: _b.str
    def __init__(self, name: _t.Any) -> None: ...
    def needs(self, parts: _b.dict[_Node, Partition]) -> _b.dict[Partition, None]:
        """Return the parts that must run before it."""

def split_module(m: _GraphModule, root_m: _Module | None, split_callback: _c.Callable[[_Node], _t.Any],
                 qualname_map: _b.dict[_b.str, _b.str] | None = None, keep_original_order: _b.bool = False) -> _GraphModule:
    """Return the same program with a module `submod_<name>` for each part; `split_callback(node)` returns the part of a
    node."""
