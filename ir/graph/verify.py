"""Verification of graphs: one message for each broken rule, naming the node and the user's line."""

from ..errors import GraphError, IngotError
from ..interrupts import raise_interrupt
from ..opdef.aval import Aval, named_type
from ..opdef.op import OPS, count_words, operand_bounds
from ..opdef.params import canonical_params, params_key
from ..ops.core.elementwise_rules import NUMBERS
from ..symbols.substitute import evaluator, has_symbols, replaced
from ..symbols.symbolic import SymInt, is_symbol
from .graph import Graph, Node, Value
from .printer import format_line, format_node, value_names

_SHOWN = 10   # problems listed in one error


def verify(graph: Graph, known: dict | None = None) -> Graph:
    """Return the graph if it keeps every rule, else raise GraphError.

    `known` caches operations that were found right, so that their copies in later graphs are not checked again.
    """
    found = problems(graph, known)
    if found:
        more = f"\n  and {len(found) - _SHOWN} more" if len(found) > _SHOWN else ""
        raise GraphError(f"graph {graph.name} breaks {len(found)} rule{'s' * (len(found) != 1)}:\n  "
                         + "\n  ".join(found[:_SHOWN]) + more)
    return graph


def verify_at(graph: Graph, values: dict):
    """Raise GraphError unless shape rules accept a graph with numbers for the names of its sizes, and give its types.

    Shape rules judge parameters by the sizes as they are now. So the symbolic nodes of a graph that may come from a stranger
    are inferred again for other sizes.
    """
    if not graph.symbols:
        return
    names, keys = list(graph.names), list(graph.symbols)
    try:
        numbers = dict(zip(keys, evaluator(graph.symbols.values(), names)(*[values[n] for n in names])))
    except ArithmeticError as e:
        raise GraphError(f"graph {graph.name} has a size that cannot be computed for {values}: {e}") from e
    avals: dict = {}

    def give(n):
        return numbers[n.poly if type(n) is SymInt else n.text]

    def bound(x):
        if type(x) is not Value:
            return replaced(x, give)
        found = avals.get(x)
        if found is None:
            found = avals[x] = Aval(replaced(x.shape, give), x.dtype)
        return found

    for node in graph.nodes:
        if (has_symbols((node.inputs, *node.params.values()))
                or any(v.aval.is_symbolic for v in (*node.inputs, *node.outputs) if type(v) is Value)):
            params = {name: replaced(value, give) for name, value in node.params.items()}
            for message in _type_problems(node, map(bound, node.inputs), params, tuple(map(bound, node.outputs))):
                raise GraphError(f"graph {graph.name} does not hold for {values}: {message}, in "
                                 f"{_describe(node, value_names(graph))}")


def problems(graph: Graph, known: dict | None = None) -> list:
    """Return the faults of a graph, as messages."""
    found = list(_input_problems(graph))
    defined = dict.fromkeys(graph.inputs)
    known = {} if known is None else known

    def say(message, node):
        found.append(f"{message}, in {_describe(node, value_names(graph))}")

    for node in graph.nodes:
        for i, x in enumerate(node.inputs):
            for message in _operand_problems(i, x, defined):
                say(message, node)
        parts = [node.params, *[x.aval if type(x) is Value else x for x in node.inputs], *[v.aval for v in node.outputs]]
        kind = (node.op, node.multi, *map(id, parts))
        if kind not in known:
            before = len(found)
            for message in _node_problems(node):
                say(message, node)
            if before == len(found):
                known[kind] = parts         # not the node, which holds the whole of its graph
        for i, v in enumerate(node.outputs):
            if v in defined:
                say("a value is defined twice", node)
            if v.node is not node or v.index != i:
                say("a result does not know its node", node)
            defined[v] = None
    found += _result_problems(graph, defined)
    return found


def _describe(node, names):
    where = f" ({format_line(node.line)})" if node.line else ""
    return format_node(node, names) + where


def _input_problems(graph):
    if len({v.name for v in graph.inputs}) != len(graph.inputs):
        yield "two inputs have one name"
    if len(set(graph.inputs)) != len(graph.inputs):
        yield "an input stands in the list twice"
    for v in graph.inputs:
        if v.node is not None:
            yield f"an input of type {named_type(v.aval)} is made by a node"
        if not v.name:
            yield f"an input of type {named_type(v.aval)} has no name"


def _node_problems(node: Node):
    if OPS.get(node.op.name) is not node.op:
        yield f"operator {node.op.name} is not recorded"
        return
    fewest, most = operand_bounds(node.op)
    if not fewest <= len(node.inputs) <= most:
        yield f"{node.op.name} takes {count_words(fewest, most)}, got {len(node.inputs)}"
        return
    params_fine = True
    for message in _param_problems(node):
        params_fine = False
        yield message
    if params_fine and all(type(x) is Value or not any(_operand_problems(0, x, ())) for x in node.inputs):
        operands = [x.aval if type(x) is Value else x for x in node.inputs]
        yield from _type_problems(node, operands, node.params, tuple([v.aval for v in node.outputs]))


def _operand_problems(i, x, defined):
    if type(x) is Value:
        if x not in defined:
            yield f"operand {i} is used before it is defined"
    elif x is not None and type(x) not in NUMBERS and not is_symbol(x):
        yield f"operand {i} is a {type(x).__name__}, not a value, a number or None"


def _param_problems(node):
    params = node.params
    try:
        canonical = canonical_params(params, node.op.numbers)
    except GraphError as e:
        yield str(e)
        return
    if params_key(canonical) != params_key(params):
        yield f"parameters are not in canonical form: {params!r} should be {canonical!r}"


def _type_problems(node, operands, params, declared):
    try:
        given = node.op.infer(*operands, **params)
    except (IngotError, TypeError, AttributeError, LookupError, ValueError, ArithmeticError) as e:
        raise_interrupt(e, node.op.infer, *operands, **params)
        yield f"{node.op.name} does not take these operands: {e}"
        return
    if node.multi != (type(given) is tuple):
        yield f"{node.op.name} gives {'several results' if type(given) is tuple else 'one result'}"
    given = given if type(given) is tuple else (given,)
    if declared != given:
        yield (f"declared type{'s' * (len(given) != 1)} {', '.join(map(named_type, declared))}, but {node.op.name} gives "
               f"{', '.join(map(named_type, given))}")


def _result_problems(graph, defined):
    for i, v in enumerate(graph.outputs):
        if v not in defined:
            yield f"output {i} is not a value of the graph"
    inputs = set(graph.inputs)
    written = set()
    for u in graph.updates:
        if u.target not in inputs:
            yield f"an update writes into a value of type {named_type(u.target.aval)}, which is not an input"
        elif u.value not in defined:
            yield f"the update of %{u.target.name} takes a value that is not in the graph"
        elif u.target.aval != u.value.aval:
            yield (f"the update of %{u.target.name}: {named_type(u.target.aval)} takes a value of type "
                   f"{named_type(u.value.aval)}")
        if u.target in written:
            yield f"%{u.target.name} is updated twice"
        written.add(u.target)
