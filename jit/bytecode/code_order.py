"""Which instructions of a code object may run after another one, while it is running."""

import dis
from functools import lru_cache

from .stack import instructions_of

_ENDS = frozenset(("RETURN_VALUE", "RETURN_CONST", "RAISE_VARARGS", "RERAISE", "JUMP_FORWARD", "JUMP_BACKWARD",
                   "JUMP_BACKWARD_NO_INTERRUPT", "INTERPRETER_EXIT"))
_JUMPS = frozenset((*dis.hasjrel, *dis.hasjabs))


@lru_cache(maxsize=1024)
def _following(code) -> tuple:
    """For each instruction the indices of those that may come next: jumps lead elsewhere, and so do exceptions."""
    instructions = instructions_of(code)
    index = {ins.offset: at for at, ins in enumerate(instructions)}
    found: list[set] = [set() for _ in instructions]
    for at, ins in enumerate(instructions):
        if at + 1 < len(instructions) and ins.opname not in _ENDS:
            found[at].add(at + 1)
        if ins.opcode in _JUMPS and ins.argval in index:
            found[at].add(index[ins.argval])
    for entry in dis.Bytecode(code).exception_entries:      # type: ignore[attr-defined]
        for at, ins in enumerate(instructions):
            if entry.start <= ins.offset < entry.end and entry.target in index:
                found[at].add(index[entry.target])
    return tuple(found)


@lru_cache(maxsize=4096)
def offsets_after(code, at: int) -> frozenset:
    """The offsets of the instructions that may run after the one with a number, itself among them if it is in a loop."""
    instructions, following = instructions_of(code), _following(code)
    seen: set = set()
    stack = [*following[at]]
    while stack:
        n = stack.pop()
        if n not in seen:
            seen.add(n)
            stack += following[n]
    return frozenset([instructions[n].offset for n in seen])
