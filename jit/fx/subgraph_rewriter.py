"""`fx.replace_pattern`: what looks like one small program becomes another one."""

from collections.abc import Callable
from typing import Any, NamedTuple

from ...ir.errors import ArgumentError
from ...runtime.nn import Module
from ...runtime.tensor import Tensor
from .graph import Graph
from .graph_module import GraphModule, _copy_attr
from .node import Node, map_arg
from .symbolic import symbolic_trace

__all__ = ["Match", "ReplacedPatterns", "replace_pattern", "replace_pattern_with_filters"]


class Match(NamedTuple):
    """Where a pattern was found: the node that gives its result, and the nodes for those of the pattern."""

    anchor: Node
    nodes_map: dict[Node, Node]


class ReplacedPatterns(NamedTuple):
    """A match, and the nodes that have taken its place."""

    anchor: Node
    nodes_map: dict[Node, Node]
    replacements: list[Node]


class _Matcher:
    """Compares a pattern with a graph, from its results backwards."""

    def __init__(self, pattern: Graph, modules: dict, own: dict, ignore_literals: bool):
        self.pattern, self.modules, self.own, self.ignore_literals = pattern, modules, own, ignore_literals
        self.results = list(pattern.output_node().all_input_nodes)
        if not self.results or all(n.op == "placeholder" for n in pattern.nodes if n.op != "output"):
            raise ArgumentError("a pattern computes something: its graph has an output that is made of calls")
        self.found: dict[Node, Node] = {}

    def match(self, start: Node) -> dict[Node, Node] | None:
        """The nodes for those of the pattern, if its last result is `start`; other results are what uses the same nodes."""
        self.found = {}
        if not self.node(self.results[-1], start):
            return None
        for result in self.results[:-1]:
            if result not in self.found and not self._elsewhere(result, start.graph):
                return None
        return self.found if self._is_closed() else None

    def _elsewhere(self, result, graph) -> bool:
        """Another result of the pattern, which the last one does not use."""
        for node in graph.nodes:
            before = dict(self.found)
            if node not in self.found.values() and self.node(result, node):
                return True
            self.found = before
        return False

    def node(self, p: Node, g: Any) -> bool:
        """Whether a node is like one of the pattern, with all before it."""
        if p in self.found:
            return self.found[p] is g or (p.op == "placeholder" and not isinstance(g, Node) and self.found[p] == g)
        if p.op == "placeholder":
            self.found[p] = g
            return True
        if not isinstance(g, Node) or g in self.found.values() or p.op != g.op or not self._same_target(p, g):
            return False
        self.found[p] = g
        return self.value(p.args, g.args) and self.value(p.kwargs, g.kwargs)

    def _same_target(self, p, g) -> bool:
        if p.target == g.target:
            return True
        if p.op == "get_attr":          # a tensor of the pattern stands for any
            return all(isinstance(_found(modules, n.target), Tensor) for modules, n in ((self.own, p), (self.modules, g)))
        return p.op == "call_module" and type(self.own.get(p.target)) is type(self.modules.get(g.target)) is not type(None)

    def value(self, p, g) -> bool:
        """Whether arguments are alike."""
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
        """Whether nobody else uses what lies inside."""
        inside = {g for p, g in self.found.items() if p.op != "placeholder"}
        results = {self.found[r] for r in self.results}
        return all(g in results or all(u in inside for u in g.users) for g in inside)


def _graph_of(program) -> tuple[Graph, Module | None]:
    if isinstance(program, GraphModule):
        return program.graph, program
    if isinstance(program, Graph):
        return program, program.owning_module
    traced = symbolic_trace(program)
    return traced.graph, traced


def replace_pattern(gm: GraphModule, pattern: Callable | GraphModule, replacement: Callable | GraphModule) -> list[Match]:
    """Puts `replacement` in the place of everything in a graph that looks like `pattern` (functions of the same arguments), and
    makes the module's code anew. Arguments of a pattern stand for anything; what it computes on the way, nobody else uses."""
    return [Match(r.anchor, r.nodes_map) for r in replace_pattern_with_filters(gm, pattern, replacement)]


def replace_pattern_with_filters(gm: GraphModule, pattern, replacement, match_filters=None, ignore_literals: bool = False
                                 ) -> list[ReplacedPatterns]:
    """`replace_pattern` of the matches for which each `filter(match, graph, pattern graph)` says yes; with `ignore_literals`,
    numbers of the pattern stand for any."""
    wanted, own = _graph_of(pattern)
    new, extra = _graph_of(replacement)
    matcher = _Matcher(wanted, dict(gm.named_modules()), dict(own.named_modules()) if own is not None else {}, ignore_literals)
    taken: set[Node] = set()
    done: list[ReplacedPatterns] = []
    for node in list(gm.graph.nodes):
        found = None if node._erased or node in taken or node.op in ("placeholder", "output") else matcher.match(node)
        inside = {} if found is None else {p: g for p, g in found.items() if p.op != "placeholder"}
        if found is None or taken & set(inside.values()):
            continue
        match = Match(node, found)
        if all(allowed(match, gm.graph, wanted) for allowed in match_filters or ()):
            done.append(ReplacedPatterns(node, found, _put(gm, wanted, new, extra, matcher.results, found, inside)))
            taken.update(inside.values())
            taken.update(done[-1].replacements)
    gm.recompile()
    return done


def _put(gm, wanted, new, extra, results, found, inside) -> list[Node]:
    """Puts a graph in the place of the nodes that were found; gives its nodes."""
    given = [found[p] for p in wanted.nodes if p.op == "placeholder" and p in found]
    arguments = [n for n in new.nodes if n.op == "placeholder"]
    if len(arguments) != len([p for p in wanted.nodes if p.op == "placeholder"]) or len(given) < len(arguments):
        raise ArgumentError("the pattern and its replacement take the same arguments, and the pattern uses all of them")
    values: dict[Node, Any] = dict(zip(arguments, given))
    made: list[Node] = []
    last = [n for n in gm.graph.nodes if n in inside.values()][-1]
    with gm.graph.inserting_after(last):
        for node in new.nodes:
            if node.op in ("placeholder", "output"):
                continue
            if node.op in ("call_module", "get_attr") and extra is not None and not _has(gm, node.target):
                _copy_attr(extra, gm, node.target)
            values[node] = _copied(gm.graph, node, values)
            made.append(values[node])
    outputs: list = []
    map_arg(new.output_node().args[0], lambda n: outputs.append(values[n]))
    if len(outputs) != len(results):
        raise ArgumentError(f"the pattern gives {len(results)} results, and its replacement {len(outputs)}")
    for result, output in zip(results, outputs):
        found[result].replace_all_uses_with(output, lambda user: user not in made)
    for node in [n for n in reversed(gm.graph.nodes) if n in inside.values()]:
        gm.graph.erase_node(node)
    return made


def _copied(graph, node, values) -> Node:
    """A copy of a node with other arguments, which may be plain values."""
    args, kwargs = map_arg(node.args, values.__getitem__), map_arg(node.kwargs, values.__getitem__)
    made = graph.create_node(node.op, node.target, args, kwargs, node.name, node.type)
    made.meta = dict(node.meta)
    return made


def _found(modules: dict, path: str):
    """What a module has at a path, given all modules by their paths; None if it has nothing there."""
    owner, _, name = path.rpartition(".")
    return getattr(modules.get(owner), name, None)


def _has(module, path: str) -> bool:
    for part in path.split("."):
        if not hasattr(module, part):
            return False
        module = getattr(module, part)
    return True
