"""Graphs of modules for TensorBoard: a recorded call, with arguments, weights and results as nodes."""

from ...ir.errors import ArgumentError
from ...ir.graph.graph import Value
from ...runtime.nn.base.module import Module
from ..exporting.capture.capture import capture
from ..guards.arg_pytree import flatten


def nodes_of(model, inputs) -> list:
    """Return (name, operator, names of inputs, shapes of the results) for all nodes of a call, in evaluation mode."""
    if inputs is None:
        raise ArgumentError("add_graph needs input_to_model: what the module is called with")
    args = tuple(inputs) if isinstance(inputs, (tuple, list)) else (inputs,)
    tensors: list = []
    flatten(args, tensors)
    training = [m for m in model.modules() if m.training] if isinstance(model, Module) else []
    try:
        for module in training:
            module.training = False
        found = capture(model, args, {}, tensors)
    finally:
        for module in training:
            module.training = True
    names = [f"input/{number}" for number in range(len(tensors))] + [name.replace(".", "/") for name in found.weights]
    return _nodes(found.graph, names)


def _nodes(graph, input_names):
    names = dict(zip(graph.inputs, input_names, strict=True))
    nodes = [(name, "input" if name.startswith("input/") else "weight", [], [value.shape]) for value, name in names.items()]
    for number, node in enumerate(graph.nodes):
        name = f"{node.op.name}_{number}"
        for place, value in enumerate(node.outputs):
            names[value] = name if place == 0 else f"{name}:{place}"
        given = [names[x] for x in node.inputs if type(x) is Value]
        nodes.append((name, node.op.name, given, [v.shape for v in node.outputs]))
    return nodes + [(f"output/{number}", "output", [names[value]], [value.shape])
                    for number, value in enumerate(graph.outputs) if type(value) is Value]
