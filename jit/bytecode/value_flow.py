"""Flow of a value through code: a walk over all paths finds each instruction that takes it.

    check(n > 0, f"got {n}")        # only `check` can read the text
    table = {}; table[key] = n      # only `table[key]` and the like see the table

Code that makes a longer text of a text, stores it in a variable, drops it, or asks whether it is None or empty does not depend
on what it says.
"""

import dis
from functools import lru_cache
from itertools import pairwise
from typing import NamedTuple

from .call_sites import depths_of
from .stack import CALLABLE_FIRST, ENDS, JUMPS, effect_of, instructions_of, is_lookup, variables_of

_HARMLESS = frozenset(("IS_OP", "POP_TOP", "RETURN_VALUE", "TO_BOOL", "UNARY_NOT"))
_CALLS = frozenset(("PRECALL", "CALL", "CALL_KW"))         # of the first two, the earlier one sees the operands
_SEES_VARIABLES = frozenset(("locals", "vars", "eval", "exec", "_getframe", "currentframe", "stack"))
_NEW_TABLES = frozenset((("BUILD_MAP", 0), ("BUILD_SET", 0), ("CALL", 0)))
_CONTAINERS_IN = {"STORE_SUBSCR": 1, "CONTAINS_OP": 1, "DELETE_SUBSCR": 0, "POP_TOP": 0}     # which operand is the container
_HAS_PRECALL = "PRECALL" in dis.opmap       # (Python 3.11)
_AS_TEXT = 1           # conversion `!s`


class Takers(NamedTuple):
    """The calls that take a text, as (position, number of the operand), and whether the code returns it."""

    calls: frozenset
    is_returned: bool


@lru_cache(maxsize=1024)
def takers_of_result(code, at: int) -> Takers | None:
    """Return the takers of the text which an instruction leaves, or of a longer one made of it; None if something else may
    read it."""
    return _TextFlow(code).of_result(at)


@lru_cache(maxsize=1024)
def takers_of_variable(code, name: str) -> Takers | None:
    """Return the same of a text in a variable."""
    return _TextFlow(code).of_variable(name)


@lru_cache(maxsize=1024)
def is_private_table(code, name: str) -> bool:
    """Return whether a variable only holds new dictionaries and sets of which code sets, gets and looks for items."""
    instructions = instructions_of(code)
    for before, ins in pairwise(instructions):
        if (True, name) in (variables_of(ins) or ()) and (before.opname, before.arg) not in _NEW_TABLES:
            return False
    return name not in code.co_varnames[:code.co_argcount + code.co_kwonlyargcount] and (
        _TableFlow(code).of_variable(name) is not None)


class Called(NamedTuple):
    """The positions of the calls of a function, and of those that get it, or a tuple with it, as an operand."""

    calls: frozenset
    receivers: frozenset


@lru_cache(maxsize=1024)
def calls_of_result(code, at: int) -> Called | None:
    """Return where code calls the function that an instruction leaves; None if it does more with it."""
    flow = _FunctionFlow(code)
    found = flow.of_result(at)
    return None if found is None else Called(frozenset(flow.called), frozenset([position for position, _ in found.calls]))


class _Flow:
    """Places of a value, as (position of the next instruction, slot on the stack), and the variables that hold it."""

    def __init__(self, code):
        self._code, self._instructions, self._depths = code, instructions_of(code), depths_of(code)
        self._index = {ins.offset: at for at, ins in enumerate(self._instructions)}
        self._calls: set = set()
        self._waiting: list = []
        self._variables: set = set()
        self._is_returned = False

    def of_result(self, at) -> Takers | None:
        following = self._instructions[at + 1:at + 2]
        if not following or following[0].offset not in self._depths:
            return None
        above = CALLABLE_FIRST and self._instructions[at].opname == "LOAD_GLOBAL" and self._instructions[at].arg & 1
        self._waiting.append((at + 1, self._depths[following[0].offset] - 1 - above))
        return self._found()

    def of_variable(self, name) -> Takers | None:
        return self._found() if self._holds(name) else None

    def _found(self) -> Takers | None:
        seen: set = set()
        while self._waiting:
            state = self._waiting.pop()
            if state not in seen:
                seen.add(state)
                if not self._step(*state):
                    return None
        return Takers(frozenset(self._calls), self._is_returned)

    def _holds(self, name) -> bool:
        """Follow the value in a variable to all places that load it; return whether these are known."""
        code = self._code
        if name in self._variables:
            return True
        self._variables.add(name)
        if name in code.co_cellvars or name not in code.co_varnames or not _SEES_VARIABLES.isdisjoint(code.co_names):
            return False
        for at, ins in enumerate(self._instructions):
            slot = self._depths.get(ins.offset, 0)
            for is_store, other in (variables_of(ins) or ()) if ins.offset in self._depths else ():
                if not is_store and other == name:
                    self._waiting.append((at + 1, slot))
                slot += -1 if is_store else 1
            if ins.argval == name and ins.opname.startswith("LOAD_FAST") and variables_of(ins) is None:
                return False
        return True

    def _step(self, at, slot) -> bool:
        """Follow the value at a slot through the next instruction; return whether what that does is known."""
        ins = self._instructions[at]
        depth = self._depths.get(ins.offset)
        if depth is None:
            return False
        if ins.opname in ("SWAP", "COPY"):
            return self._move(ins, at, slot, depth)
        moves = variables_of(ins)
        if moves is not None:
            return self._move_to_variable(moves, at, slot, depth)
        taken = _taken_by(ins)
        if taken is None:
            return False
        if slot >= depth - taken:
            return self._take(ins, at, slot - depth + taken, depth - taken)
        self._go_on(ins, at, slot)
        return True

    def _go_on(self, ins, at, slot):
        if ins.opname not in ENDS:
            self._waiting.append((at + 1, slot))
        if ins.opcode in JUMPS:
            self._waiting.append((self._index[ins.argval], slot))

    def _move(self, ins, at, slot, depth) -> bool:
        top, other = depth - 1, depth - ins.arg
        if ins.opname == "SWAP":
            slot = {top: other, other: top}.get(slot, slot)
        elif slot == other:
            self._waiting.append((at + 1, depth))
        self._waiting.append((at + 1, slot))
        return True

    def _move_to_variable(self, moves, at, slot, depth) -> bool:
        for is_store, name in moves:
            depth += -1 if is_store else 1
            if is_store and slot == depth:
                return self._holds(name)
        self._waiting.append((at + 1, slot))
        return True

    def _take(self, ins, at, operand, slot) -> bool:
        """Follow the value into an instruction that takes it off the stack; return whether what that does is known."""
        raise NotImplementedError


class _TextFlow(_Flow):
    """Flow of a text, and of longer ones made of it."""

    def _take(self, ins, at, operand, slot) -> bool:
        name, arg = ins.opname, ins.arg or 0
        if name in _CALLS:
            self._calls.add((at, operand - 2))
            return operand > 1
        if name == "BUILD_STRING" or name == "FORMAT_SIMPLE" or (name == "FORMAT_VALUE" and arg <= _AS_TEXT) or (
                name == "CONVERT_VALUE" and arg == _AS_TEXT):
            self._waiting.append((at + 1, slot))
            return True
        self._is_returned = self._is_returned or name == "RETURN_VALUE"
        return name in _HARMLESS or name.startswith("POP_JUMP")


class _FunctionFlow(_Flow):
    """Flow of a function, and of tuples with it."""

    def __init__(self, code):
        super().__init__(code)
        self.called: set = set()

    def _take(self, ins, at, operand, slot) -> bool:
        if ins.opname in _CALLS:
            if operand > 1:
                self._calls.add((at, operand - 2))
            else:
                self.called.add(at)
            return True
        if ins.opname == "BUILD_TUPLE":
            self._waiting.append((at + 1, slot))
        return ins.opname == "BUILD_TUPLE"


class _TableFlow(_Flow):
    """Flow of a dictionary or set."""

    def _take(self, ins, at, operand, slot) -> bool:
        return operand == (0 if is_lookup(ins) else _CONTAINERS_IN.get(ins.opname))


def _taken_by(ins) -> int | None:
    """Return the number of values that an instruction takes off the stack, or None if unknown."""
    if ins.opname == "PRECALL":
        return ins.arg + 2
    if ins.opname == "CALL" and _HAS_PRECALL:       # which took the operands (`depths_of` counts so, too)
        return 2
    if ins.opname.startswith("POP_JUMP") or ins.opname.endswith("_OR_POP") or ins.opname == "FOR_ITER":
        return 1
    if ins.opname in ("JUMP_FORWARD", "JUMP_BACKWARD"):
        return 0
    effect = effect_of(ins)
    return None if effect is None else effect[0]
