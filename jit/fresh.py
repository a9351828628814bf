"""Containers that a function makes itself, seen in its bytecode: what is done to them is no state that outlives the call."""

import dis
import inspect
import types
from functools import lru_cache

KINDS = (list, dict, set)
_BUILD = frozenset(("BUILD_LIST", "BUILD_MAP", "BUILD_SET", "BUILD_CONST_KEY_MAP", "LIST_EXTEND", "DICT_UPDATE", "DICT_MERGE",
                    "SET_UPDATE", "SET_ADD", "LIST_APPEND", "MAP_ADD"))
_MAKERS = frozenset(("list", "dict", "set", "sorted"))
_COMPREHENSIONS = frozenset(("<listcomp>", "<dictcomp>", "<setcomp>"))
_NAMES = ("STORE_FAST", "STORE_DEREF")
_FAR = 4      # frames within which a module or a comprehension hands on a variable


@lru_cache(maxsize=4096)
def made_by(code) -> tuple:
    """(the variables of a code object that hold nothing but what it has just made, the offsets of returns of such)."""
    instructions = [i for i in dis.get_instructions(code) if i.opname not in ("CACHE", "EXTENDED_ARG")]
    held: dict = {}
    returns = set()
    for at, ins in enumerate(instructions):
        if ins.opname == "RETURN_VALUE" and _is_made(instructions, at):
            returns.add(ins.offset)
        elif ins.opname in _NAMES:
            held[ins.argval] = held.get(ins.argval, True) and _is_made(instructions, at)
        elif ins.opname.startswith(("STORE_FAST", "STORE_DEREF")):      # several at once, from Python 3.13 on
            held.update(dict.fromkeys(ins.argval if isinstance(ins.argval, tuple) else (ins.argval,), False))
    stars = bool(code.co_flags & inspect.CO_VARARGS) + bool(code.co_flags & inspect.CO_VARKEYWORDS)
    given = code.co_varnames[:code.co_argcount + code.co_kwonlyargcount + stars]
    elsewhere = {n for inner in code.co_consts if isinstance(inner, types.CodeType) for n in _stored(inner)}
    return frozenset(n for n, fresh in held.items() if fresh and n not in elsewhere and n not in given), frozenset(returns)


def _stored(code) -> set:
    """The variables of enclosing functions that a function assigns to."""
    return {i.argval for i in dis.get_instructions(code) if i.opname == "STORE_DEREF"}


def _is_made(instructions, at) -> bool:
    """Whether what an instruction takes from the stack was made right before it, on all ways to it."""
    if instructions[at].is_jump_target:
        return False
    before = instructions[at - 1]
    if before.opname in _BUILD or _ends_loop(instructions, at):
        return True
    if not before.opname.startswith("CALL"):
        return False
    depth = 0
    for ins in reversed(instructions[:at]):
        if ins.opname.startswith(("JUMP", "POP_JUMP", "SEND", "FOR_ITER")):
            return False
        depth += dis.stack_effect(ins.opcode, ins.arg if ins.opcode >= dis.HAVE_ARGUMENT else None)
        if depth == 1:
            return ins.argval in _MAKERS or getattr(ins.argval, "co_name", None) in _COMPREHENSIONS
        if ins.is_jump_target:
            return False
    return False


def _ends_loop(instructions, at) -> bool:
    """Whether a loop leaves something on the stack: it is a comprehension that is part of the code, as from Python 3.12 on."""
    last, before = instructions[at - 1].opname, instructions[at - 2].opname
    return last == "END_FOR" or (last == "POP_TOP" and before == "END_FOR") or last == "POP_ITER"


def is_own(frame, value, floor) -> bool:
    """Whether a container is held by a variable that a frame, or those that called it, have filled with what they made; `floor`
    is the frame below the run."""
    for _ in range(_FAR):
        if frame is None or frame is floor:
            return False
        own, _ = made_by(frame.f_code)
        local = frame.f_locals
        if any(local.get(name) is value for name in own):
            return True
        frame = frame.f_back
    return False


def is_returned(frame) -> bool:
    """Whether a frame that returns gives what it has just made."""
    return frame.f_lasti in made_by(frame.f_code)[1]
