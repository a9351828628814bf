"""`fx.passes.utils.matcher_utils`: the search for a pattern in graphs."""

from .....ir.errors import ArgumentError
from ...graph import Graph
from ...matching import InternalMatch, Matcher

__all__ = ["InternalMatch", "SubgraphMatcher"]


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
        matcher, found, taken = Matcher(self.pattern, modules, own, self.ignore_literals), [], set()
        for node in graph.nodes:
            if node.op in ("placeholder", "output") or matcher.match(node) is None:
                continue
            match = matcher.as_match()
            inside = {g for p, g in match.nodes_map.items() if p.op != "placeholder"}
            if (self.remove_overlapping_matches and inside & taken) or (
                    node_name_match and not any(node_name_match in n.name for n in inside)):
                continue
            taken |= inside
            found.append(match)
        return found
