"""`fx.replace_pattern`: replacement of subgraphs."""

# Made by `make stubs` from the live package; not edited by hand.

import builtins as _b
import collections.abc as _c
import typing as _t
from ingot.fx import GraphModule as _GraphModule
from ingot.fx import Node as _Node
from ingot.fx import replace_pattern as replace_pattern

class Match(_t.NamedTuple):
    """A match: the node of the pattern's result, and the nodes of the pattern's nodes."""
    anchor: _Node
    nodes_map: _b.dict[_Node, _Node]

class ReplacedPatterns(_t.NamedTuple):
    """A match, and the nodes that replace it."""
    anchor: _Node
    nodes_map: _b.dict[_Node, _Node]
    replacements: _b.list[_Node]

def replace_pattern_with_filters(gm: _GraphModule, pattern: _t.Any,
                                 replacement: _t.Any = None, match_filters: _t.Any = None,
                                 ignore_literals: _b.bool = False,
                                 replacement_callback: _c.Callable[..., _t.Any] | None = None) -> _b.list[ReplacedPatterns]:
    """Replace the matches that all `filter(match, graph, pattern graph)` accept."""
