"""`fx.passes.split_module`: a graph split into modules."""

import operator
from collections.abc import Callable
from typing import Any

from ....ir.errors import ArgumentError
from ....runtime.nn import Module
from ..graph import Graph
from ..graph_module import GraphModule
from ..node import Node, map_arg

__all__ = ["Partition", "split_module"]


class Partition:
    """One part: its nodes, the values that it reads from others, and those that others read."""

    def __init__(self, name: Any):
        self.name, self.submod_name = str(name), f"submod_{name}"
        self.nodes: list[Node] = []
        self.inputs: dict[Node, None] = {}
        self.outputs: dict[Node, None] = {}

    def needs(self, parts: dict[Node, "Partition"]) -> dict["Partition", None]:
        """Return the parts that must run before it."""
        return dict.fromkeys([parts[n] for n in self.inputs if n in parts])


def _in_order(parts: list[Partition], of: dict[Node, Partition]) -> list[Partition]:
    done: dict[Partition, bool] = {}
    ordered: list[Partition] = []

    def visit(part):
        if part in done:
            if not done[part]:
                raise ArgumentError(f"the parts cannot run one after the other: {part.name} needs what is made of its results")
            return
        done[part] = False
        for other in part.needs(of):
            visit(other)
        done[part] = True
        ordered.append(part)

    for part in parts:
        visit(part)
    return ordered


def _module_of(m, part: Partition) -> GraphModule:
    graph = Graph()
    copies: dict[Node, Node] = {n: graph.placeholder(n.name) for n in part.inputs}
    for node in part.nodes:
        copies[node] = graph.node_copy(node, copies.__getitem__)
    outputs = [copies[n] for n in part.outputs]
    graph.output(outputs[0] if len(outputs) == 1 else tuple(outputs))
    return GraphModule(m, graph, part.submod_name)


def split_module(m: GraphModule, root_m: Module | None, split_callback: Callable[[Node], Any],
                 qualname_map: dict[str, str] | None = None, keep_original_order: bool = False) -> GraphModule:
    """Return the same program with a module `submod_<name>` for each part; `split_callback(node)` returns the part of a node.
    `qualname_map` receives the old path of each new path."""
    parts: dict[Any, Partition] = {}
    of: dict[Node, Partition] = {}
    for node in m.graph.nodes:
        if node.op not in ("placeholder", "output"):
            name = split_callback(node)
            of[node] = parts.setdefault(name, Partition(name))
            of[node].nodes.append(node)
    for node in m.graph.nodes:
        for used in node.all_input_nodes:
            if of.get(used) is not of.get(node):
                if node in of:
                    of[node].inputs.setdefault(used)
                if used in of:
                    of[used].outputs.setdefault(used)
    graph, values = Graph(), {}             # type: ignore[var-annotated]
    modules: dict[str, Module] = {}
    for node in m.graph.nodes:
        if node.op == "placeholder":
            values[node] = graph.node_copy(node)
    for part in _in_order(list(parts.values()), of):
        modules[part.submod_name] = _module_of(m, part)
        if qualname_map is not None:
            qualname_map.update({f"{part.submod_name}.{n.target}": n.target for n in part.nodes
                                 if n.op in ("call_module", "get_attr")})
        called = graph.call_module(part.submod_name, tuple([values[n] for n in part.inputs]))
        outputs = list(part.outputs)
        for i, node in enumerate(outputs):
            values[node] = called if len(outputs) == 1 else graph.call_function(operator.getitem, (called, i))
    graph.output(map_arg(m.graph.output_node().args[0], values.__getitem__))
    made = GraphModule(modules, graph, type(m).__name__)
    made.training = m.training
    return made
