"""Search for a pattern graph in larger graphs (`fx.passes.utils.matcher_utils`)."""

from dataclasses import dataclass, field
from typing import Any

from ...ir.errors import ArgumentError
from ...runtime.core.tensor import Tensor
from .graph import Graph
from .node import Node

__all__ = ["InternalMatch", "SubgraphMatcher"]


@dataclass
class InternalMatch:
    """A match: the anchor nodes, the nodes (or plain values) of the pattern's nodes, and those of its arguments and results."""

    anchors: list[Node]
    nodes_map: dict[Node, Any] = field(default_factory=dict)
    placeholder_nodes: list[Node] = field(default_factory=list)
    returning_nodes: list[Node] = field(default_factory=list)
    name_node_map: dict[str, Node] = field(default_factory=dict)

    @property
    def anchor(self) -> Node:
        """Return the node of the last result."""
        return self.anchors[0]


class Matcher:
    """A matcher that compares a pattern with a graph, from its results backwards."""

    def __init__(self, pattern: Graph, modules: dict, own: dict, ignore_literals: bool):
        self.pattern, self.modules, self.own, self.ignore_literals = pattern, modules, own, ignore_literals
        self.results = list(pattern.output_node().all_input_nodes)
        if not self.results or all(n.op == "placeholder" for n in pattern.nodes if n.op != "output"):
            raise ArgumentError("a pattern computes something: its graph has an output that is made of calls")
        self.mapping: dict[Node, Node] = {}

    def match(self, start: Node) -> dict[Node, Node] | None:
        """Return the nodes of the pattern if its last result is `start`; others are found among users of the same nodes."""
        self.mapping = {}
        if not self.node(self.results[-1], start):
            return None
        for result in self.results[:-1]:
            if result not in self.mapping and not self._find_result(result, start.graph):
                return None
        return self.mapping if self._is_closed() else None

    def as_match(self) -> InternalMatch:
        given = [self.mapping[p] for p in self.pattern.nodes if p.op == "placeholder" and p in self.mapping]
        results = [self.mapping[r] for r in self.results]
        return InternalMatch([results[-1]], self.mapping, [n for n in given if isinstance(n, Node)], results)

    def _find_result(self, result, graph) -> bool:
        """Find a result of the pattern that the last result does not use."""
        for node in graph.nodes:
            before = dict(self.mapping)
            if node not in self.mapping.values() and self.node(result, node):
                return True
            self.mapping = before
        return False

    def node(self, p: Node, g: Any) -> bool:
        """Return whether a node, with all before it, matches one of the pattern."""
        if p in self.mapping:
            return self.mapping[p] is g or (p.op == "placeholder" and not isinstance(g, Node) and self.mapping[p] == g)
        if p.op == "placeholder":
            self.mapping[p] = g
            return True
        if not isinstance(g, Node) or g in self.mapping.values() or p.op != g.op or not self._same_target(p, g):
            return False
        self.mapping[p] = g
        return self.value(p.args, g.args) and self.value(p.kwargs, g.kwargs)

    def _same_target(self, p, g) -> bool:
        if p.target == g.target:
            return True
        if p.op == "get_attr":          # a tensor of the pattern matches any tensor
            return all(isinstance(_attribute(modules, n.target), Tensor) for modules, n in ((self.own, p), (self.modules, g)))
        return p.op == "call_module" and type(self.own.get(p.target)) is type(self.modules.get(g.target)) is not type(None)

    def value(self, p, g) -> bool:
        """Return whether two arguments match."""
        if isinstance(p, Node):
            return self.node(p, g)
        if isinstance(p, (tuple, list)):
            return isinstance(g, (tuple, list)) and len(p) == len(g) and all(map(self.value, p, g))
        if isinstance(p, dict):
            return isinstance(g, dict) and p.keys() == g.keys() and all(self.value(p[k], g[k]) for k in p)
        if isinstance(p, slice):
            return isinstance(g, slice) and self.value((p.start, p.stop, p.step), (g.start, g.stop, g.step))
        return not isinstance(g, Node) and (self.ignore_literals or (type(p) is type(g) and p == g))

    def _is_closed(self) -> bool:
        inside = {g for p, g in self.mapping.items() if p.op != "placeholder"}
        results = {self.mapping[r] for r in self.results}
        return all(g in results or all(u in inside for u in g.users) for g in inside)


def _attribute(modules: dict, path: str):
    owner, _, name = path.rpartition(".")
    return getattr(modules.get(owner), name, None)


class SubgraphMatcher:
    """A search for a pattern whose arguments match anything and whose inner values have no other users. With
    `ignore_literals`, numbers match any number."""

    def __init__(self, pattern: Graph, match_output: bool = False, match_placeholder: bool = False,
                 remove_overlapping_matches: bool = True, ignore_literals: bool = False):
        if match_output or match_placeholder:
            raise ArgumentError("a SubgraphMatcher looks for what a pattern computes: arguments stand for anything, and "
                                "anybody may use results (match_output and match_placeholder are False)")
        self.pattern = pattern
        self.remove_overlapping_matches, self.ignore_literals = remove_overlapping_matches, ignore_literals

    def match(self, graph: Graph, node_name_match: str = "") -> list[InternalMatch]:
        """Return all matches in a graph, in order; with `node_name_match`, those with a node whose name contains it."""
        modules, own = [dict(g.owning_module.named_modules()) if g.owning_module is not None else {}
                        for g in (graph, self.pattern)]
        matcher, matches, taken = Matcher(self.pattern, modules, own, self.ignore_literals), [], set()
        for node in graph.nodes:
            if node.op in ("placeholder", "output") or matcher.match(node) is None:
                continue
            match = matcher.as_match()
            inside = {g for p, g in match.nodes_map.items() if p.op != "placeholder"}
            if (self.remove_overlapping_matches and inside & taken) or (
                    node_name_match and not any(node_name_match in n.name for n in inside)):
                continue
            taken |= inside
            matches.append(match)
        return matches
