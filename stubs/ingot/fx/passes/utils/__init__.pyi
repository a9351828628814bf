"""Search for a pattern graph in larger graphs (`fx.passes.utils.matcher_utils`)."""

# Made by `make stubs` from the live package; not edited by hand.

import builtins as _b
import typing as _t
from ingot.fx import Graph as _Graph
from ingot.fx import Node as _Node
from ingot.fx.passes.utils import matcher_utils as matcher_utils

class InternalMatch:
    """A match: the anchor nodes, the nodes (or plain values) of the pattern's nodes, and those of its arguments and
    results."""
    anchors: _b.list[_Node]
    name_node_map: _b.dict[_b.str, _Node]
    nodes_map: _b.dict[_Node, _t.Any]
    placeholder_nodes: _b.list[_Node]
    returning_nodes: _b.list[_Node]
    def __eq__(self, other: _t.Any) -> _t.Any: ...
    __hash__: _t.Any
    def __init__(self, anchors: _b.list[_Node], nodes_map: _b.dict[_Node, _t.Any] = ...,
                 placeholder_nodes: _b.list[_Node] = ..., returning_nodes: _b.list[_Node] = ...,
                 name_node_map: _b.dict[_b.str, _Node] = ...) -> None: ...
    @_b.property
    def anchor(self) -> _Node:
        """Return the node of the last result."""

class SubgraphMatcher:
    """A search for a pattern whose arguments match anything and whose inner values have no other users. With
    `ignore_literals`, numbers match any number."""
    ignore_literals: _b.bool
    pattern: _Graph
    remove_overlapping_matches: _b.bool
    def __init__(self, pattern: _Graph, match_output: _b.bool = False, match_placeholder: _b.bool = False,
                 remove_overlapping_matches: _b.bool = True, ignore_literals: _b.bool = False) -> None: ...
    def match(self, graph: _Graph, node_name_match: _b.str = '') -> _b.list[InternalMatch]:
        """Return all matches in a graph, in order; with `node_name_match`, those with a node whose name contains it."""
