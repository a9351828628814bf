"""Rewriting graphs: rebuild node by node, or by rules.

Rule("neg of neg", find=lambda x: neg(neg(x)), make=lambda x: x)

`find` is an ordinary function: each of its parameters (but those with a default) is a variable, and operator records called on
variables make the pattern. A variable in place of a parameter (``reshape(x, shape=s)``) is bound to the parameter. `where` and
`make` take the variables they need by name; `out` is the value that the pattern matched. `make` returns the replacement, built
with records.
"""

import inspect
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from ...ir.errors import GraphError
from ...ir.graph.graph import Builder, Graph, Node, Value, live_nodes
from ...ir.opdef.aval import named_type
from ...ir.opdef.op import BINDERS, Op
from ...ir.opdef.params import param_key
from ...ir.ops.core.elementwise_rules import NUMBERS

_ROUNDS = 100   # more rounds than this mean that rules undo each other

# Rebuilding.


def rebuild(graph: Graph, visit: Callable, worth: Callable | None = None) -> Graph:
    """Copy a graph through `visit(builder, node, operands)`; return `graph` itself if every node was kept.

    `visit` returns None to keep a node (on the new operands), else a replacement of its results: a value, or a tuple for
    several. `worth(node)` selects, without a copy, the nodes to visit. Nodes that became dead through the change are left out
    (nodes dead before are for dce).
    """
    selected = None if worth is None else {n for n in graph.nodes if worth(n)}
    if selected is not None and not selected:
        return graph
    b = Builder(graph.name)
    env = b.copy_inputs(graph)
    changed = False
    for node in graph.nodes:
        operands = [env[x] if type(x) is Value else x for x in node.inputs]
        replacement = None
        if selected is None or node in selected:
            b.line = node.line
            replacement = visit(b, node, operands)
            b.line = None
        if replacement is None:
            env.update(zip(node.outputs, b.copy_like(node, operands).outputs))
        else:
            changed = True
            env.update(zip(node.outputs, _same_types(node, replacement)))
    if not changed:
        return graph
    live = live_nodes(graph)
    dead_before = [env[v] for n in graph.nodes if n not in live for v in n.outputs]
    return prune(b.finish_like(graph, env), also=dead_before)


def _same_types(node, replacement):
    replacement = replacement if type(replacement) is tuple else (replacement,)
    for old, new in zip(node.outputs, replacement, strict=True):
        if old.aval != new.aval:
            raise GraphError(f"a rewrite of {node.op.name} gave {named_type(new.aval)} in place of {named_type(old.aval)}")
    return replacement


def prune(graph: Graph, also=()) -> Graph:
    """Return the graph without nodes that no result (nor a value of `also`) needs; itself if there are none."""
    live = live_nodes(graph, also)
    if len(live) == len(graph.nodes):
        return graph
    b = Builder(graph.name)
    env = b.copy_inputs(graph)
    for node in graph.nodes:
        if node in live:
            new = b.copy_like(node, [env[x] if type(x) is Value else x for x in node.inputs])
            env.update(zip(node.outputs, new.outputs))
    return b.finish_like(graph, env)


def needed(wanted, known=frozenset()):
    """Return the nodes that values need, where those in `known` are there already."""
    inside, stack = set(), [v.node for v in wanted if v.node is not None and v not in known]
    while stack:
        n = stack.pop()
        if n not in inside:
            inside.add(n)
            stack += [x.node for x in n.inputs if type(x) is Value and x.node is not None and x not in known]
    return inside


def subgraph(graph, name, inside, wanted, known=(), keep=frozenset()):
    """Return (the graph of the nodes `inside` for these results, numbers of the inputs that it takes, `keep` among them).

    After those inputs it takes the values `known`.
    """
    taken = {x for n in inside for x in n.inputs if type(x) is Value and x.is_input} | {v for v in wanted if v.is_input}
    inputs = tuple([i for i, v in enumerate(graph.inputs) if v in taken or i in keep])
    b = Builder(name)
    env = {graph.inputs[i]: b.input(graph.inputs[i].name, graph.inputs[i].aval) for i in inputs}
    env.update({v: b.input(f"given{i}", v.aval) for i, v in enumerate(known)})
    for n in graph.nodes:
        if n in inside:
            new = b.copy(n, [env[x] if type(x) is Value else x for x in n.inputs])
            env.update({old: made for old, made in zip(n.outputs, new.outputs) if old not in known})
    return b.finish([env[v] for v in wanted]), inputs


# Patterns.


class Pattern:
    """A record called on patterns: matches a value made by that record."""

    __slots__ = ("op", "operands", "params")

    def __init__(self, op, operands, params):
        self.op = op
        self.operands = operands
        self.params = params


class Variable(Pattern):
    """A pattern that matches anything, the same value at each occurrence."""

    __slots__ = ("name",)

    def __init__(self, name):
        super().__init__(None, (), {})
        self.name = name


BINDERS[Pattern] = BINDERS[Variable] = lambda op, operands, params: Pattern(op, operands, params)


def match(pattern, x, bindings: dict) -> dict | None:
    """Return `bindings` with the variables that make `pattern` fit `x`, or None; `bindings[None]` lists the values
    inside."""
    if type(pattern) is Variable:
        return _bind(pattern.name, x, bindings)
    if type(pattern) is not Pattern:
        return bindings if _is_literal(pattern, x) else None
    node = x.node if type(x) is Value else None
    if node is None or node.op is not pattern.op or node.multi or len(node.inputs) != len(pattern.operands):
        return None
    bindings = _match_params(pattern.params, node.params, bindings)
    if bindings is None:
        return None
    bindings = {**bindings, None: (*bindings.get(None, ()), x)}
    for operands in _orders(node):
        fits = _match_all(pattern.operands, operands, bindings)
        if fits is not None:
            return fits
    return None


def _orders(node):
    yield node.inputs
    if len(node.inputs) == 2 and "commutative" in node.op.traits:
        yield node.inputs[::-1]


def _match_all(patterns, operands, bindings):
    for p, x in zip(patterns, operands):
        bindings = match(p, x, bindings)
        if bindings is None:
            return None
    return bindings


def _match_params(patterns, params, bindings):
    if patterns.keys() != params.keys():
        return None
    for name, p in patterns.items():
        if type(p) is Variable:
            bindings = _bind(p.name, params[name], bindings)
            if bindings is None:
                return None
        elif param_key(p) != param_key(params[name]):
            return None
    return bindings


def _bind(name, x, bindings):
    if name not in bindings:
        return {**bindings, name: x}
    known = bindings[name]
    same = known is x if type(known) is Value or type(x) is Value else param_key(known) == param_key(x)
    return bindings if same else None


def _is_literal(number, x):
    """Return whether an operand is this number: 1 stands for 1.0 and True as well, 0 for +0.0 alone."""
    if type(x) not in NUMBERS:
        return False
    if isinstance(x, complex) or isinstance(number, complex):
        return x == number
    return x == number and math.copysign(1.0, x) == math.copysign(1.0, number)


# Rules.


@dataclass(frozen=True)
class Rule:
    """A pattern, a condition and a replacement.

    find    the pattern, as a function of its variables
    make    the replacement, as a function of some variables (and `out`)
    where   a condition on some variables (and `out`); they are values of the graph being read
    once    the values inside the pattern may have no other reader: the rewrite would not free them
    """

    name: str
    find: Callable
    make: Callable
    where: Callable | None = None
    once: bool = False
    pattern: Pattern = field(init=False)
    asks: dict = field(init=False)   # the variables that `where` and `make` take

    def __post_init__(self):
        variables = [Variable(n) for n, p in inspect.signature(self.find).parameters.items() if p.default is p.empty]
        object.__setattr__(self, "pattern", self.find(*variables))
        asks = {fn: tuple(n for n, p in inspect.signature(fn).parameters.items() if p.default is p.empty)
                for fn in (self.where, self.make) if fn is not None}
        object.__setattr__(self, "asks", asks)

    @property
    def root(self) -> Op:
        return self.pattern.op

    def matches(self, graph: Graph, node: Node) -> dict | None:
        """Return the variables, if the rule applies to `node`."""
        bindings = match(self.pattern, node.output, {})
        if bindings is None:
            return None
        bindings = {**bindings, "out": node.output}
        inside = bindings.pop(None)
        if self.once and not _free_when_replaced(graph, node.output, inside):
            return None
        return bindings if self.where is None or self._ask(self.where, bindings) else None

    def replace(self, bindings: dict, env: dict):
        """Return the replacement, on the values that `env` maps the matched ones to."""
        mapped = {k: env[v] if type(v) is Value and k != "out" else v for k, v in bindings.items()}
        return self._ask(self.make, mapped)

    def _ask(self, fn, bindings):
        return fn(*[bindings[n] for n in self.asks[fn]])


def _free_when_replaced(graph, root, inside):
    """Return whether nothing but the pattern itself reads the values inside it."""
    nodes = {v.node for v in inside}
    return all(v is root or (v not in graph.results and nodes.issuperset(graph.uses[v])) for v in inside)


def apply(graph: Graph, rules: Sequence[Rule]) -> Graph:
    """Rewrite until no rule applies. Returns `graph` itself if none ever did."""
    by_root: dict[Op, list[Rule]] = {}
    for r in rules:
        by_root.setdefault(r.root, []).append(r)
    rounds: list = []
    while len(rounds) < _ROUNDS:
        matches = _all_matches(graph, by_root)
        if not matches:
            return graph
        rounds.append({rule.name for rule, _ in matches.values()})
        graph = _replace_all(graph, matches)
    used = ", ".join(sorted(rounds[-1] | rounds[-2]))
    raise GraphError(f"rewrite rules undo each other in graph {graph.name}: {used}")


def _all_matches(graph, by_root):
    matches = {}
    for node in graph.nodes:
        for rule in by_root.get(node.op, ()):
            bindings = rule.matches(graph, node)
            if bindings is not None:
                matches[node] = (rule, bindings)
                break
    return matches


def _replace_all(graph, matches):
    env: dict = {}

    def visit(b, node, operands):
        env.update((x, v) for x, v in zip(node.inputs, operands) if type(x) is Value)
        if node not in matches:
            return None
        rule, bindings = matches[node]
        return rule.replace(bindings, env)

    return rebuild(graph, visit)
