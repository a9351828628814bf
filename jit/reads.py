"""What Python state a function reads: chains such as `cfg.scale`, `self.training` or `table["k"]`, seen in its bytecode.

A trace is only right while everything it read from Python is as it was. The reads are found per code object, once, and are
evaluated when a frame of that code starts; what they gave becomes guards. Writes to Python state that outlives the call
cannot be repeated by a trace, so they are found too.
"""

import dis
from dataclasses import dataclass
from functools import lru_cache

GLOBAL, FREE, ARGUMENT = "global", "free", "argument"


@dataclass(frozen=True)
class Chain:
    """One read: a root and the steps from it, each ("attr", name) or ("item", constant)."""

    root: str
    name: str
    steps: tuple

    def __str__(self):
        return self.name + "".join(f".{k}" if kind == "attr" else f"[{k!r}]" for kind, k in self.steps)


@dataclass(frozen=True)
class Write:
    """A write to Python state: what kind of variable, its name, and the line."""

    root: str
    name: str
    line: int

    def __str__(self):
        return f"the global {self.name}" if self.root == GLOBAL else f"the enclosing function's variable {self.name}"


_ATTRIBUTES = ("LOAD_ATTR", "LOAD_METHOD")
_LOADS = {"LOAD_GLOBAL": GLOBAL, "LOAD_NAME": GLOBAL, "LOAD_DEREF": FREE, "LOAD_CLASSDEREF": FREE}


@lru_cache(maxsize=4096)
def reads_of(code) -> tuple:
    """All chains that a code object reads, each with the prefixes that lead to it."""
    arguments = set(code.co_varnames[: code.co_argcount + code.co_kwonlyargcount])
    stored = {i.argval for i in dis.get_instructions(code) if i.opname == "STORE_FAST"}
    found: dict[Chain, None] = {}
    instructions = [i for i in dis.get_instructions(code) if i.opname not in ("CACHE", "PRECALL", "EXTENDED_ARG", "RESUME")]
    for at, ins in enumerate(instructions):
        root = _root_of(ins, code, arguments - stored)
        if root is None:
            continue
        steps = _steps_after(instructions, at + 1)
        for n in range(len(steps) + 1):
            if n or root[0] != ARGUMENT:
                found.setdefault(Chain(root[0], root[1], tuple(steps[:n])), None)
    return tuple(found)


def _root_of(ins, code, arguments):
    kind = _LOADS.get(ins.opname)
    if kind == FREE and ins.argval not in code.co_freevars:
        return None
    if kind:
        return kind, ins.argval
    if ins.opname.startswith("LOAD_FAST"):
        name = ins.argval[-1] if isinstance(ins.argval, tuple) else ins.argval
        if name in arguments:
            return ARGUMENT, name
    return None


def _steps_after(instructions, at):
    steps = []
    while at < len(instructions):
        ins = instructions[at]
        if ins.opname in _ATTRIBUTES:
            steps.append(("attr", ins.argval))
            at += 1
        elif ins.opname == "LOAD_CONST" and at + 1 < len(instructions) and instructions[at + 1].opname == "BINARY_SUBSCR":
            steps.append(("item", ins.argval))
            at += 2
        else:
            break
    return steps


@lru_cache(maxsize=4096)
def writes_of(code) -> tuple:
    """Writes to globals and to variables of enclosing functions."""
    found, line = [], code.co_firstlineno
    for ins in dis.get_instructions(code):
        if ins.positions and ins.positions.lineno:
            line = ins.positions.lineno
        if ins.opname in ("STORE_GLOBAL", "DELETE_GLOBAL"):
            found.append(Write(GLOBAL, ins.argval, line))
        elif ins.opname in ("STORE_DEREF", "DELETE_DEREF") and ins.argval in code.co_freevars:
            found.append(Write(FREE, ins.argval, line))
    return tuple(found)


class Missing:
    """Stands for a chain that leads nowhere (an attribute or key that is not there)."""

    def __repr__(self):
        return "<missing>"


MISSING = Missing()


def follow(root, steps):
    """The value at the end of a chain, or MISSING."""
    value = root
    for kind, key in steps:
        try:
            if kind == "attr":
                value = value.__dict__[key] if _plain_instance(value, key) else getattr(value, key)
            else:
                value = value[key]
        except (AttributeError, KeyError, IndexError, TypeError):
            return MISSING
    return value


def _plain_instance(value, key) -> bool:
    own = getattr(value, "__dict__", None)
    return type(own) is dict and key in own and not isinstance(value, type)
