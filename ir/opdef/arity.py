"""How many operands a record takes, read off its rules (shape rules of whole families take any number)."""

import inspect
from functools import cache

from .op import Op

ANY = 1 << 30


@cache
def operand_bounds(op: Op) -> tuple:
    """The fewest and the most operands of an operator."""
    bounds = [_positional(op.infer), _positional(op.ref)]
    ufunc = getattr(op.ref, "ufunc", None)
    if ufunc is not None:
        bounds.append((ufunc.nin, ufunc.nin))
    if isinstance(op.vjp, tuple):
        bounds.append((0, len(op.vjp)))
    return max(b[0] for b in bounds), min(b[1] for b in bounds)


def _positional(fn) -> tuple:
    try:
        parameters = inspect.signature(fn).parameters.values()
    except (TypeError, ValueError):
        return 0, ANY
    if any(p.kind is p.VAR_POSITIONAL for p in parameters):
        return 0, ANY
    named = [p for p in parameters if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)]
    return sum(p.default is p.empty for p in named), len(named)


def count_words(fewest: int, most: int) -> str:
    """The bounds in words, for messages."""
    if most >= ANY:
        return f"at least {fewest} operands" if fewest else "any number of operands"
    if fewest == most:
        return f"{fewest} operand{'s' * (fewest != 1)}"
    return f"{fewest} to {most} operands"
