"""Scopes of named sizes: their values now, and the conditions that answers about them relied on. Numbers: `symbolic.py`."""

from collections.abc import Callable
from typing import Any

from ..errors import GraphError
from . import polynomial as poly
from .symbolic import SymFloat, SymInt

LEAST = 2          # what a symbolic size is at least where nothing else is said: 0 and 1 mean other things to broadcasting
RESERVED = frozenset(("max", "min", "slice", "complex", "floordiv", "mod", "True", "False", "None", "inf", "nan", "return",
                      "update", "graph", "and", "or", "not", "is", "if", "else", "lambda", "in"))


class Scope:
    """Named sizes, their values now, and the conditions that answers relied on.

    hints        {name: value now}
    judges       whether choices that may turn out either way (`symbolic.judged`) are noted, too
    exact        quotients without a rest, as (what is divided, by which number) by their atom; None where nobody asks
    is_key       whether its numbers may be (parts of) keys, which fixes them
    numbers      {name: the SymInt or SymFloat}
    conditions   {text of a Python expression over the names: the user's line that needed it}
    """

    def __init__(self, where: Callable | None = None, least: int = LEAST, judges: bool = False):
        self.least = least                # of every size
        self.judges = judges
        self.is_key = True
        self.exact: dict | None = None
        self.lows: dict[str, Any] = {}    # name -> what it is at least, None for a number that may be any
        self.fixed: dict[str, int] = {}   # names that stand for a number here
        self.hints: dict[str, Any] = {}
        self.numbers: dict[str, Any] = {}
        self.conditions: dict[str, Any] = {}
        self.reads: dict[str, Any] = {}   # name of a size that is read out of data on the way -> the user's line that reads it
        self.pinned: set = set()          # names whose value was fixed
        self.open = True
        self.is_inner = False             # of the compiler: what is printed are expressions
        self.printer: Callable | None = None    # gives what stands for a number in a string, or None if it has to be its text
        self.on_index: Callable | None = None   # is called when code in C asks for the value of an integer
        self.on_hash: Callable | None = None    # is asked whether the hash of one may be given without fixing it
        self._where = where or (lambda: None)
        self._sizes: dict = {}            # polynomial -> SymInt
        self._results: dict = {}          # (operation, operand, operand) -> result
        self._lowest: dict = {}           # polynomial -> what it is at least, or None

    def size(self, name: str, hint: int, least: int | None = None) -> SymInt:
        least = self.least if least is None else least
        if hint < least:
            raise GraphError(f"size {name} is {hint}: a symbolic size is at least {least}")
        self._enter(name, hint, least)
        made = self.numbers[name] = self.wrap(poly.variable(name))
        return made

    def count(self, name: str, hint: int) -> SymInt:
        """Return a new named integer of any value."""
        self._enter(name, hint, None)
        made = self.numbers[name] = self.wrap(poly.variable(name))
        return made

    def number(self, name: str, hint: float) -> SymFloat:
        """Return a new named number, as an argument of a function."""
        self._enter(name, hint, None)
        made = self.numbers[name] = SymFloat(self, name, hint, frozenset((name,)))
        return made

    def _enter(self, name, hint, low):
        if not name.isidentifier() or name in RESERVED or name in self.hints:
            raise GraphError(f"{name!r} cannot name a size: it must be a new identifier")
        self.hints[name], self.lows[name] = hint, low

    def wrap(self, p):
        """Return a polynomial as a SymInt, or as an int if it is one."""
        if self.exact:
            p = poly.undivided(p, self.exact)
        fixed = poly.constant_of(p)
        if fixed is not None:
            return fixed
        known = self._sizes.get(p)
        if known is None:
            known = self._sizes[p] = SymInt(self, p)
        return known

    def divide(self, p, q, by: int):
        """Record a quotient p by `by`: if it is exact now, that becomes a condition, and `by` times it is p."""
        atom = poly.atom_of(poly.floor_divide(p, q))
        if self.exact is not None and atom is not None and not poly.evaluate(p, self.hints) % by:
            self.decide("==", poly.modulo(p, q))
            self.exact[atom] = p, by

    def lowest(self, p):
        """Return the least value of a polynomial, whatever the sizes; None if that is not known."""
        if p not in self._lowest:
            self._lowest[p] = poly.lower_bound(p, self.lows)
        return self._lowest[p]

    def decide(self, relation: str, p) -> bool:
        """Return whether `p == 0` or `p >= 0`: for certain, or as it is now, with a condition."""
        low, high = self.lowest(p), self.lowest(poly.negated(p))
        if low is not None and (low > 0 or (low == 0 and relation == ">=")):
            return relation == ">="
        if high is not None and high > 0:
            return False
        value = poly.evaluate(p, self.hints)
        holds = value >= 0 if relation == ">=" else value == 0
        if relation == "==" and not holds:
            relation = "!="
        elif relation == ">=" and not holds:
            p = poly.minus(poly.negated(p), poly.constant(1))
        self.note(f"{poly.text(p)} {relation} 0")
        if relation == "==":
            self.pinned.update([name for name in poly.pinned_names(p) if self.hints[name] >= LEAST or self.lows[name] is None])
        return holds

    def pin(self, p, value: int):
        """Return the value of a polynomial and fix it."""
        self.decide("==", poly.minus(p, poly.constant(value)))

    def note(self, condition: str):
        """Record a condition that a decision relied on."""
        if self.open and condition not in self.conditions:
            self.conditions[condition] = self._where()

    def refuse_keys(self):
        """Raise if numbers of this scope may be no keys."""
        if not self.is_key:
            raise TypeError("a table would outlive this symbolic number")

    def close(self):
        """Complete the record: sizes answer by their values, without conditions, from now on."""
        self.open = False

    def at(self, values, used=None) -> "Scope":
        """Return a scope of the same names with other values, in order; its only conditions say which of the sizes `used`, or
        of all, are 0 or 1."""
        scope = Scope()
        scope.is_inner = True
        scope.hints.update(zip(self.hints, values))
        scope.lows = {name: LEAST if low is not None and (used is None or name in used) else low
                      for name, low in self.lows.items()}
        if self.least < LEAST:
            sizes = [name for name in scope.hints if self.lows[name] is not None and (used is None or name in used)]
            scope.fixed = {name: scope.hints[name] for name in sizes if scope.hints[name] < LEAST}
            scope.conditions = {f"{name} == {scope.fixed[name]}" if name in scope.fixed else f"{name} >= {LEAST}": None
                                for name in sizes}
        return scope
