"""Simulation of the interpreter's stack, as far as it takes to follow some values, and the order of instructions.

A `Walk` goes through instructions that run one after the other. It keeps a mark for each value, which `marked` gives when an
instruction makes the value, or None. Unknown instructions and jumps end it.
"""

import dis
import functools
import re
import sys
from bisect import bisect

_HAS_METHOD_BIT = sys.version_info >= (3, 12)       # LOAD_ATTR may leave a method and its object
CALLABLE_FIRST = sys.version_info >= (3, 13)       # and then its object or nothing; before, the other way round
_HAS_POSITION = sys.version_info >= (3, 15)         # an iterator lies beside what it iterates over
_VARIANT = re.compile("_CHECK|_BORROW|_AND_CLEAR")      # of a load; a comprehension clears variables that it stores back
_CALLABLES = frozenset(("LOAD_ATTR", "LOAD_GLOBAL", "LOAD_METHOD"))
NO_EFFECT = frozenset(("CACHE", "COPY_FREE_VARS", "EXTENDED_ARG", "KW_NAMES", "MAKE_CELL", "NOP", "NOT_TAKEN", "PRECALL",
                      "RESUME"))
CONSTANTS = frozenset(("LOAD_CONST", "LOAD_SMALL_INT", "LOAD_COMMON_CONSTANT"))    # (the others from 3.14 and 3.15 on)
_LOADS = CONSTANTS | {"LOAD_DEREF", "LOAD_CLOSURE", "LOAD_NAME", "LOAD_CLASSDEREF", "PUSH_NULL"}
_FIXED = {       # (values taken, values left)
    "BEFORE_WITH": (1, 2), "BINARY_OP": (2, 1), "BINARY_SLICE": (3, 1), "BINARY_SUBSCR": (2, 1), "CALL_INTRINSIC_1": (1, 1),
    "COMPARE_OP": (2, 1), "CONTAINS_OP": (2, 1), "CONVERT_VALUE": (1, 1), "FORMAT_SIMPLE": (1, 1), "FORMAT_WITH_SPEC": (2, 1),
    "DELETE_SUBSCR": (2, 0), "GET_ITER": (1, 2 if _HAS_POSITION else 1), "IS_OP": (2, 1), "LIST_TO_TUPLE": (1, 1),
    "LOAD_METHOD": (1, 2), "END_FOR": (1, 0) if CALLABLE_FIRST else (2, 0), "MAP_ADD": (2, 0),
    **dict.fromkeys(("DICT_MERGE", "DICT_UPDATE", "LIST_APPEND", "LIST_EXTEND", "SET_ADD", "SET_UPDATE"), (1, 0)),
    "POP_TOP": (1, 0), "RETURN_VALUE": (1, 0), "STORE_ATTR": (2, 0), "STORE_DEREF": (1, 0), "STORE_GLOBAL": (1, 0),
    "STORE_SLICE": (4, 0), "STORE_SUBSCR": (3, 0), "TO_BOOL": (1, 1), "UNARY_INVERT": (1, 1), "UNARY_NEGATIVE": (1, 1),
    "UNARY_NOT": (1, 1), "UNARY_POSITIVE": (1, 1)}
_BUILT = frozenset(("BUILD_LIST", "BUILD_SET", "BUILD_SLICE", "BUILD_STRING", "BUILD_TUPLE"))
_CONTAINERS = frozenset(("BUILD_LIST", "BUILD_TUPLE", "BUILD_MAP", "BUILD_CONST_KEY_MAP"))


def of_code(most=4096):
    """Return a decorator that remembers what a function gives for its last code objects. These count by identity: to hash
    code takes long."""
    def remembering(function):
        known: dict = {}

        @functools.wraps(function)
        def answer(code):
            found = known.get(id(code))
            if found is None:
                if len(known) >= most:
                    known.clear()
                found = known[id(code)] = code, function(code)
            return found[1]

        return answer

    return remembering


@of_code(256)
def instructions_of(code) -> tuple:
    """Return the instructions of a code object."""
    return tuple(dis.get_instructions(code))


def position_of(frame) -> int:
    """Return the index of the instruction at which a frame stands. The frame may have read its inline caches, too."""
    return bisect([ins.offset for ins in instructions_of(frame.f_code)], frame.f_lasti) - 1


def effect_of(ins) -> tuple | None:
    """Return (number of values that an instruction takes off the stack, number that it leaves), or None if unknown."""
    name, n = ins.opname, ins.arg or 0
    if name in NO_EFFECT:
        return 0, 0
    if name in _FIXED:
        return _FIXED[name]
    if name in _LOADS:
        return 0, 1
    if name == "LOAD_GLOBAL":
        return 0, 1 + (n & 1)
    if name == "LOAD_ATTR":
        return 1, 1 + (n & 1 if _HAS_METHOD_BIT else 0)
    if name in _BUILT:
        return n, 1
    counted = {"BUILD_MAP": (2 * n, 1), "BUILD_CONST_KEY_MAP": (n + 1, 1), "CALL": (n + 2, 1), "CALL_KW": (n + 3, 1),
               "MAKE_FUNCTION": (1 + n.bit_count(), 1), "UNPACK_SEQUENCE": (1, n), "FORMAT_VALUE": (1 + (n >> 2 & 1), 1)}
    return counted.get(name)


def variables_of(ins) -> list | None:
    """Return [(is_store, variable)] of an instruction that only moves values between variables and the stack, else None."""
    parts = _VARIANT.sub("", ins.opname).split("_FAST")
    kinds = [p.strip("_") for p in parts if p.strip("_")]
    names = ins.argval if isinstance(ins.argval, tuple) else (ins.argval,)
    if "_FAST" not in ins.opname or not set(kinds) <= {"LOAD", "STORE"} or len(kinds) != len(names):
        return None
    return [(kind == "STORE", name) for kind, name in zip(kinds, names)]


def is_lookup(ins) -> bool:
    """Return whether an instruction is `x[key]`."""
    return ins.opname == "BINARY_SUBSCR" or (ins.opname == "BINARY_OP" and ins.argrepr == "[]")


def builds_container(ins, marked) -> bool:
    """Return whether an instruction puts values into a container, with none of the marked ones as a key."""
    return ins.opname in _CONTAINERS and not (ins.opname == "BUILD_MAP" and any(marked[::2]))


class Walk:
    """Simulation of straight-line code: marks of the values on the stack and in variables."""

    def __init__(self, variables=None, stack=()):
        self.variables = dict(variables or {})
        self.stack = list(stack)

    def marked(self, ins, taken):
        """Return the mark of the values that an instruction leaves, after it took some."""

    def take(self, n) -> list:
        """Pop the upper n values, lowest first; values from before the walk are unknown."""
        missing = max(n - len(self.stack), 0)
        found = [None] * missing + self.stack[len(self.stack) - (n - missing):]
        del self.stack[len(self.stack) - (n - missing):]
        return found

    def step(self, ins) -> list | None:
        """Follow an instruction; return the values that it has used up, or None if its effect is unknown."""
        moves = variables_of(ins)
        if moves is not None:
            for is_store, name in moves:
                if is_store:
                    self.variables[name], = self.take(1)
                else:
                    self.stack.append(self.variables.get(name))
            return []
        if ins.opname in ("SWAP", "COPY"):
            above = self.take(ins.arg)
            self.stack += [above[-1], *above[1:-1], above[0]] if ins.opname == "SWAP" else [*above, above[0]]
            return []
        effect = effect_of(ins)
        if effect is None:
            return None
        taken = self.take(effect[0])
        mark = self.marked(ins, taken)
        if effect[1] == 2 and ins.opname in _CALLABLES:
            self.stack += [mark, None] if CALLABLE_FIRST else [None, mark]
        else:
            self.stack += [mark] * effect[1]
        return taken

    def up_to(self, instructions, at):
        """Walk the straight-line code before an instruction. The stack before it is unknown."""
        start = at
        while start > 0 and not instructions[start].is_jump_target and "JUMP" not in instructions[start - 1].opname:
            start -= 1
        for ins in instructions[start:at]:
            if self.step(ins) is None:
                self.stack, self.variables = [], {}
        return self


ENDS = frozenset(("RETURN_VALUE", "RETURN_CONST", "RAISE_VARARGS", "RERAISE", "JUMP_FORWARD", "JUMP_BACKWARD",
                   "JUMP_BACKWARD_NO_INTERRUPT", "INTERPRETER_EXIT"))
JUMPS = frozenset((*dis.hasjrel, *dis.hasjabs))


@of_code(1024)
def following_of(code) -> tuple:
    """Return the positions of the instructions that may run next after each one, handlers of errors included."""
    instructions = instructions_of(code)
    index = {ins.offset: at for at, ins in enumerate(instructions)}
    found: list[set] = [set() for _ in instructions]
    for at, ins in enumerate(instructions):
        if at + 1 < len(instructions) and ins.opname not in ENDS:
            found[at].add(at + 1)
        if ins.opcode in JUMPS and ins.argval in index:
            found[at].add(index[ins.argval])
    for entry in dis.Bytecode(code).exception_entries:      # type: ignore[attr-defined]
        for at, ins in enumerate(instructions):
            if entry.start <= ins.offset < entry.end and entry.target in index:
                found[at].add(index[entry.target])
    return tuple(found)


@functools.lru_cache(maxsize=4096)
def offsets_after(code, at: int) -> frozenset:
    """Return the offsets of the instructions that may run after one, itself among them if it is in a loop."""
    instructions, following = instructions_of(code), following_of(code)
    seen: set = set()
    stack = [*following[at]]
    while stack:
        n = stack.pop()
        if n not in seen:
            seen.add(n)
            stack += following[n]
    return frozenset([instructions[n].offset for n in seen])
