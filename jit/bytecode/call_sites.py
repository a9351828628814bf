"""Call instructions in bytecode: the depth of the stack at each, its operands, and whether the result is used."""

import dis
import sys
from typing import NamedTuple

from .stack import CALLABLE_FIRST, CONSTANTS, ENDS, JUMPS, instructions_of, of_code

KEYWORDS_ALWAYS = sys.version_info >= (3, 14)      # a call with `*args` has a slot for keyword arguments in any case
_HAS_PRECALL = sys.version_info < (3, 12)           # the instruction before CALL sees the same operands
_CALLS = frozenset(("PRECALL",) if _HAS_PRECALL else ("CALL", "CALL_KW")) | {"CALL_FUNCTION_EX"}


class CallSite(NamedTuple):
    """One call instruction.

    depth       of the stack before it
    operands    number of values after the callable and its object
    keywords    names of the last operands; None if a tuple on top of the stack holds them
    is_spread   whether the operands are a tuple and a dictionary, as for `f(*args, **kwargs)`
    is_dropped  whether the result is not used
    may_catch   whether the function goes on after an error of the call
    """

    depth: int
    operands: int
    keywords: tuple | None
    is_spread: bool
    is_dropped: bool
    may_catch: bool

    @property
    def callable_slots(self) -> tuple:
        """The positions on the stack of the callable and of its object or nothing, the lower one first."""
        if self.is_spread:
            bottom = self.depth - 3 - bool(KEYWORDS_ALWAYS or self.operands & 1)
            return bottom, bottom + 1
        bottom = self.depth - self.operands - 2 - (self.keywords is None)
        return bottom, bottom + 1

    def is_callable_above(self, below) -> bool:
        """Return whether the callable is the upper one of the values at `callable_slots`, with no object."""
        return not CALLABLE_FIRST and (below is None or self.is_spread)

    def callable_and_object(self, below, above) -> tuple:
        """Return (the callable, its object or None) from the values at `callable_slots`."""
        return (above, None) if self.is_callable_above(below) else (below, above)

    @property
    def operand_slots(self) -> range:
        """The positions of the operands, and of their names on top; for a spread call those of a tuple and a dictionary."""
        if self.is_spread:
            return range(self.depth - 1 - bool(KEYWORDS_ALWAYS or self.operands & 1), self.depth)
        return range(self.depth - self.operands - (self.keywords is None), self.depth)


class SuperSite(CallSite):
    """A `super(cls, x)` that one instruction calls and reads an attribute of (from Python 3.12 on)."""

    @property
    def callable_slots(self) -> tuple:
        return self.depth - 3, self.depth - 2

    def is_callable_above(self, below) -> bool:
        return False

    def callable_and_object(self, below, above) -> tuple:
        return below, None

    @property
    def operand_slots(self) -> range:
        return range(self.depth - 2, self.depth)


@of_code()
def call_sites_of(code) -> dict:
    """Return {offset: `CallSite`} of all calls that code can reach."""
    instructions = instructions_of(code)
    if not any(ins.opname in _CALLS or _is_super_of(ins) for ins in instructions):
        return {}
    depths, handled, found, keywords = depths_of(code), _handled(code), {}, ()
    for ins, after in zip(instructions, [*instructions[1:], instructions[-1]]):
        if ins.opname == "KW_NAMES":
            keywords = code.co_consts[ins.arg]
        if ins.opname in _CALLS and ins.offset in depths:
            following = after
            if ins.opname == "PRECALL":
                at = instructions.index(after)
                following = instructions[at + 1]
            found[ins.offset] = CallSite(depths[ins.offset], ins.arg or 0, None if ins.opname == "CALL_KW" else keywords,
                                         ins.opname == "CALL_FUNCTION_EX", following.opname == "POP_TOP",
                                         any(entry.start <= ins.offset < entry.end for entry in handled))
        elif _is_super_of(ins) and ins.offset in depths:
            found[ins.offset] = SuperSite(depths[ins.offset], 2, (), False, False, False)
        if ins.opname in ("PRECALL", "CALL"):
            keywords = ()
    return found


def _is_super_of(ins) -> bool:
    """Return whether an instruction calls `super` with arguments; the bytecode reads of `super()` are known without that."""
    return ins.opname == "LOAD_SUPER_ATTR" and bool(ins.arg & 2)


def _handled(code) -> list:
    """Return the ranges of code from which errors lead to code of the function, rather than to the end of an `except`."""
    entries = dis.Bytecode(code).exception_entries      # type: ignore[attr-defined]
    by_offset = {ins.offset: ins for ins in instructions_of(code)}
    follows = {ins.offset: after for ins, after in zip(instructions_of(code), instructions_of(code)[1:])}
    return [e for e in entries if by_offset[e.target].opname == "PUSH_EXC_INFO"
            and follows[e.target].opname not in CONSTANTS]


@of_code(1024)
def reads_handled(code) -> bool:
    """Return whether code may read the error that its caller handles: by a bare `raise` outside of an `except`, or as the
    context of an error of its own."""
    if "__context__" in code.co_names:
        return True
    by_offset = {ins.offset: ins for ins in instructions_of(code)}
    bare = [at for at, ins in by_offset.items() if ins.opname == "RAISE_VARARGS" and ins.arg == 0]
    entries = dis.Bytecode(code).exception_entries if bare else ()      # type: ignore[attr-defined]
    handlers = [e for e in entries if by_offset[e.target].opname == "COPY"]      # (an error there ends the `except`)
    return not all(any(e.start <= at < e.end for e in handlers) for at in bare)


def depths_of(code) -> dict:
    """Return {offset: depth of the stack before the instruction}."""
    instructions = instructions_of(code)
    index = {ins.offset: at for at, ins in enumerate(instructions)}
    entries = dis.Bytecode(code).exception_entries      # type: ignore[attr-defined]
    depths: dict = {}
    pending = [(0, 0), *((index[e.target], e.depth + 1 + e.lasti) for e in entries)]
    while pending:
        at, depth = pending.pop()
        while at < len(instructions) and instructions[at].offset not in depths:
            ins = instructions[at]
            depths[ins.offset] = depth
            arg = ins.arg if ins.opcode >= dis.HAVE_ARGUMENT else None
            if ins.opcode in JUMPS and ins.argval in index:
                pending.append((index[ins.argval], depth + dis.stack_effect(ins.opcode, arg, jump=True)))
            if ins.opname in ENDS:
                break
            depth += 1 if ins.opname == "RETURN_GENERATOR" else dis.stack_effect(ins.opcode, arg, jump=False)    # a sent value
            at += 1
    return depths
