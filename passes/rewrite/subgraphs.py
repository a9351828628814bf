"""Parts of graphs: the nodes that values need, and graphs of such nodes."""

from ...ir.graph.graph import Builder, Value


def needed(wanted, given=frozenset()):
    """The nodes that values need, where those in `given` are there already."""
    inside, stack = set(), [v.node for v in wanted if v.node is not None and v not in given]
    while stack:
        n = stack.pop()
        if n not in inside:
            inside.add(n)
            stack += [x.node for x in n.inputs if type(x) is Value and x.node is not None and x not in given]
    return inside


def part(graph, name, inside, wanted, given=(), keep=frozenset()):
    """(the graph of the nodes `inside` for what is wanted, numbers of the inputs that it takes, `keep` among them). After those
    it takes the values `given`."""
    taken = {x for n in inside for x in n.inputs if type(x) is Value and x.is_input} | {v for v in wanted if v.is_input}
    inputs = tuple([i for i, v in enumerate(graph.inputs) if v in taken or i in keep])
    b = Builder(name)
    env = {graph.inputs[i]: b.input(graph.inputs[i].name, graph.inputs[i].aval) for i in inputs}
    env.update({v: b.input(f"given{i}", v.aval) for i, v in enumerate(given)})
    for n in graph.nodes:
        if n in inside:
            new = b.copy(n, [env[x] if type(x) is Value else x for x in n.inputs])
            env.update({old: made for old, made in zip(n.outputs, new.outputs) if old not in given})
    return b.finish([env[v] for v in wanted]), inputs
