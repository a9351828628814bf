"""`fx.replace_pattern`: replacement of subgraphs."""

from collections.abc import Callable
from typing import Any, NamedTuple

from ...ir.errors import ArgumentError
from ...runtime.nn import Module
from .graph import Graph
from .graph_module import GraphModule, _copy_attr
from .matching import Matcher
from .node import Node, map_arg
from .tracer import symbolic_trace

__all__ = ["Match", "ReplacedPatterns", "replace_pattern", "replace_pattern_with_filters"]


class Match(NamedTuple):
    """A match: the node of the pattern's result, and the nodes of the pattern's nodes."""

    anchor: Node
    nodes_map: dict[Node, Node]


class ReplacedPatterns(NamedTuple):
    """A match, and the nodes that replace it."""

    anchor: Node
    nodes_map: dict[Node, Node]
    replacements: list[Node]


def _graph_of(program) -> tuple[Graph, Module | None]:
    if isinstance(program, GraphModule):
        return program.graph, program
    if isinstance(program, Graph):
        return program, program.owning_module
    traced = symbolic_trace(program)
    return traced.graph, traced


def replace_pattern(gm: GraphModule, pattern: Callable | GraphModule, replacement: Callable | GraphModule) -> list[Match]:
    """Replace every match of `pattern` by `replacement` (functions of the same arguments), and recompile the module. Arguments
    of a pattern match anything; inner values of a match have no other users."""
    return [Match(r.anchor, r.nodes_map) for r in replace_pattern_with_filters(gm, pattern, replacement)]


def replace_pattern_with_filters(gm: GraphModule, pattern, replacement=None, match_filters=None, ignore_literals: bool = False,
                                 replacement_callback: Callable | None = None) -> list[ReplacedPatterns]:
    """Replace the matches that all `filter(match, graph, pattern graph)` accept.

    With `ignore_literals`, numbers of the pattern match any number. `replacement_callback(match, graph, pattern graph)` returns
    the replacement graph in place of `replacement`.
    """
    if (replacement is None) == (replacement_callback is None):
        raise ArgumentError("replace_pattern_with_filters takes a replacement, or a replacement_callback that gives one")
    pattern_graph, own = _graph_of(pattern)
    given = None if replacement is None else _graph_of(replacement)
    modules = dict(own.named_modules()) if own is not None else {}
    matcher = Matcher(pattern_graph, dict(gm.named_modules()), modules, ignore_literals)
    taken: set[Node] = set()
    done: list[ReplacedPatterns] = []
    for node in list(gm.graph.nodes):
        found = None if node._erased or node in taken or node.op in ("placeholder", "output") else matcher.match(node)
        inside = {} if found is None else {p: g for p, g in found.items() if p.op != "placeholder"}
        if found is None or taken & set(inside.values()):
            continue
        match = matcher.as_match()
        if all(allowed(match, gm.graph, pattern_graph) for allowed in match_filters or ()):
            new, extra = given or _graph_of(replacement_callback(match, gm.graph, pattern_graph))      # type: ignore[misc]
            done.append(ReplacedPatterns(node, found, _insert(gm, pattern_graph, new, extra, matcher.results, found, inside)))
            taken.update(inside.values())
            taken.update(done[-1].replacements)
    gm.recompile()
    if isinstance(replacement, Module):         # modules of the pattern may have no calls left
        gm.delete_all_unused_submodules()
    return done


def _insert(gm, pattern_graph, new, extra, results, mapping, inside) -> list[Node]:
    given = [mapping[p] for p in pattern_graph.nodes if p.op == "placeholder" and p in mapping]
    arguments = [n for n in new.nodes if n.op == "placeholder"]
    if len(arguments) != len([p for p in pattern_graph.nodes if p.op == "placeholder"]) or len(given) < len(arguments):
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
            values[node] = _copy_node(gm.graph, node, values)
            made.append(values[node])
    outputs: list = []
    map_arg(new.output_node().args[0], lambda n: outputs.append(values[n]))
    if len(outputs) != len(results):
        raise ArgumentError(f"the pattern gives {len(results)} results, and its replacement {len(outputs)}")
    for result, output in zip(results, outputs):
        mapping[result].replace_all_uses_with(output, lambda user: user not in made)
    for node in [n for n in reversed(gm.graph.nodes) if n in inside.values()]:
        gm.graph.erase_node(node)
    return made


def _copy_node(graph, node, values) -> Node:
    args, kwargs = map_arg(node.args, values.__getitem__), map_arg(node.kwargs, values.__getitem__)
    made = graph.create_node(node.op, node.target, args, kwargs, node.name, node.type)
    made.meta = dict(node.meta)
    return made


def _has(module, path: str) -> bool:
    for part in path.split("."):
        if not hasattr(module, part):
            return False
        module = getattr(module, part)
    return True
