"""Gradient rules of one operator as a graph, which backends run as one kernel in eager mode."""

from ...ir.errors import GraphError
from ...ir.graph.graph import Value
from ...ir.opdef.op import Op
from ...ir.ops.core import elementwise as ew
from ...passes.rewrite.kernel_body import is_free


def write_rules(b, op: Op, goals: tuple, operands, params) -> tuple:
    """Return the gradients of an operator, as values of the graph under construction.

    Operands are the gradient, the result and the arguments, as far as the rules read them. `goals` has None for an argument
    that needs no gradient, else the number of the first argument with the same edge; gradients of one edge are summed.
    """
    sums: dict = {}
    for rule, goal in zip(op.vjp, goals):
        if goal is not None:
            made = rule(*operands, **params)
            if type(made) is not Value:
                raise GraphError(f"a gradient of {op.name} is no value of the graph")
            sums[goal] = ew.add(sums[goal], made) if goal in sums else made
    if "rule_as_one" not in op.traits and sum(1 for n in b.nodes if not is_free(n.output)) <= len(sums):
        raise GraphError(f"the gradient of {op.name} is one operation already")
    return tuple(sums.values())


def write_joint_rule(b, op: Op, needs: tuple, operands, params) -> tuple:
    """Return the gradients of an operator's joint rule, for the arguments in `needs`."""
    made = op.vjp(*operands, needs=needs, **params)
    return tuple([m for m, need in zip(made, needs) if need])
