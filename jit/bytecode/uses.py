"""Uses of containers that chains lead to: guards see only what the code does with a list, dictionary, tuple or array."""


from .reads import (
    ATTRIBUTES,
    Chain,
    chains_in,
    counts_back,
    instructions_in,
    is_measured,
    is_tested,
    is_updated,
    last_items,
)
from .stack import CONSTANTS, Walk, is_lookup, of_code

ADDED, STORED, INDEXED, PASSED, INSPECTED = "added", "stored", "indexed", "passed", "inspected"
ITEMS = "items"         # only its items are appended to
LAST, GROWN = "last", "grown"       # items at its end are read; that, and it is appended to
MEASURED, COUNTED = "measured", "counted"       # its length is read, beside single items; that, and it is appended to
CONTAINED = "contained"     # membership is tested, or items are added to a set
CALLED = "called"       # a function or method that only calls take, as what they call
COMPARED = "compared"       # `is` compares it with another object
KEYED = "keyed"         # items under constants are read and set: `chain["n"] += 1`
_ADDS = ("append", "extend")
KEEPS_ITEMS = frozenset(("add", "discard"))     # methods of sets that give nobody an item
ONLY_LOOK = frozenset(("len", "max", "min", "sum"))        # builtins that only read the items of a container
_JOINT_USES = [(frozenset(some), both) for some, both in (      # uses that may stand together, and the joint use
    ((INDEXED, LAST), INDEXED), ((INDEXED, LAST, INSPECTED), INSPECTED), ((INDEXED, LAST, ITEMS), ITEMS),
    ((INDEXED, LAST, STORED, KEYED), KEYED), ((ADDED, LAST, GROWN), GROWN), ((INDEXED, LAST, MEASURED), MEASURED),
    ((INSPECTED, MEASURED), INSPECTED), ((ADDED, INDEXED, LAST, GROWN, MEASURED, COUNTED), COUNTED))]
SINGLE = frozenset((INDEXED, LAST))             # uses that only read items with guards of their own
_TESTS = ("TO_BOOL", "UNARY_NOT")                 # instructions that test for emptiness


@of_code()
def uses_of(code) -> dict:
    """Return {chain: the only use of its value in the code, or None for several or others}.

    ADDED      `chain.append(...)`, `chain.extend(...)`
    STORED     `chain[key] = ...`
    INDEXED    `chain[constant]`; beside STORED that is KEYED
    LAST       `chain[-1]`, `chain[-3:]`; beside ADDED that is GROWN
    MEASURED   `len(chain)`, `if chain`, `chain is None`, also beside INDEXED; beside ADDED that is COUNTED
    INSPECTED  `chain[key]`, also beside INDEXED
    CONTAINED  `key in chain`, `chain.add(key)`
    CALLED     `chain(...)`
    COMPARED   `chain is other`
    ITEMS      `chain[key].append(...)`, `chain.setdefault(key, []).append(...)`
    PASSED     an argument of a call, which may stand beside any of the others
    """
    found: dict = {}
    for chain, how, _ in _uses_in(code):
        found[chain] = both(found.get(chain, how), how)
    return found


def both(use, other):
    """Return the use of a value that has two uses."""
    if use == other or other == PASSED:
        return use
    if use == PASSED:
        return other
    return next((both for some, both in _JOINT_USES if {use, other} <= some), None)


@of_code()
def compared_in(code) -> frozenset:
    """Return the chains whose values code compares by identity."""
    return frozenset([chain for chain, how, _ in _uses_in(code) if how == COMPARED])


def passed_in(code) -> list:
    """Return (chain, offset of the call that takes its value as an argument) for each such place in the code."""
    return [(chain, offset) for chain, how, offset in _uses_in(code) if how == PASSED]


@of_code()
def _uses_in(code) -> tuple:
    """Return (chain, use, offset of the call that takes it) for each place in the code."""
    found: list = []
    instructions = instructions_in(code)
    for at, root, steps, end in chains_in(code):
        for n in range(len(steps) + 1):
            chain, offset = Chain(root[0], root[1], steps[:n]), None
            if n == len(steps) - 1 and is_updated(instructions, end - 2):
                how = KEYED
            elif n < len(steps):
                how = ITEMS if _adds_to_default(instructions, end, steps[n:]) else _use_of(steps[n])
            elif _is_store(instructions, end):
                how = STORED
            elif last_items(instructions, end):
                how = LAST
            elif is_measured(instructions, at, end) or is_tested(instructions, end):
                how = MEASURED
            elif _is_extended(instructions, end):
                how = ADDED
            else:
                how, offset = _taken(instructions, at, end)
            found.append((chain, how, offset))
    return tuple(found)


def _taken(instructions, start, at) -> tuple:
    """Return (use of the value on top of the stack, offset of the only call that takes it); its chain begins at `start`."""
    walk = Walk(stack=[PASSED])
    for before, ins, after in zip(instructions[at - 1:], instructions[at:], [*instructions[at + 1:], instructions[-1]]):
        if ins.opname.startswith("POP_JUMP") and walk.stack[-1:] == [PASSED] and not ins.is_jump_target:
            return MEASURED if ins.opname.endswith("NONE") else INSPECTED, None
        taken = None if ins.is_jump_target else walk.step(ins)
        if taken is None:
            return None, None
        if PASSED in taken and ins.opname == "IS_OP" and before.opname in CONSTANTS and before.argval is None:
            return MEASURED, None
        if PASSED in taken and ins.opname == "IS_OP":
            return COMPARED, None
        if PASSED in taken and ins.opname in _TESTS:
            return INSPECTED, None
        if PASSED in taken:
            if ins.opname == "GET_ITER":
                return INSPECTED, None
            if ins.opname == "CONTAINS_OP" and taken[0] != PASSED:
                return CONTAINED, None
            if is_lookup(ins):
                adds = after.opname in ATTRIBUTES and after.argval in _ADDS and not after.is_jump_target
                return (ITEMS if adds else INSPECTED) if taken[0] == PASSED else None, None
            if ins.opname not in ("CALL", "CALL_KW"):
                return None, None
            if PASSED in taken[:2]:
                return CALLED, None
            called = instructions[start - 1] if start else ins
            is_builtin = called.opname == "LOAD_GLOBAL" and called.argval in ONLY_LOOK
            return (INSPECTED, None) if is_builtin else (PASSED, ins.offset)
        if PASSED not in walk.stack:
            return None, None
    return None, None


def _use_of(step):
    if step[0] == "item":
        if type(step[1]) is int and step[1] < 0:
            return LAST if counts_back((step,)) else None
        return INDEXED
    return CONTAINED if step[1] in KEEPS_ITEMS else ADDED if step[1] in _ADDS else None


def _is_extended(instructions, at) -> bool:
    """Return whether code adds to the value on top of the stack and stores it back: `self.log += [x]`."""
    of_object = instructions[at].opname in ATTRIBUTES       # whose owner lies below
    back = ("STORE_ATTR",) if of_object else ("STORE_GLOBAL", "STORE_DEREF")
    at += of_object
    name, walk = instructions[at - 1].argval, Walk(stack=[PASSED])
    for n, ins in enumerate(instructions[at:-2], at + 1):
        taken = None if ins.is_jump_target else walk.step(ins)
        if taken is None:
            return False
        if PASSED in taken:
            following = instructions[n:n + 1 + of_object]
            is_swapped = not of_object or (following[0].opname, following[0].arg) == ("SWAP", 2)
            is_put_back = following[-1].opname in back and following[-1].argval == name
            return ins.argrepr == "+=" and taken[0] == PASSED != taken[1] and is_swapped and is_put_back and not any(
                i.is_jump_target for i in following)
    return False


def _adds_to_default(instructions, at, steps) -> bool:
    """Return whether the method before an index is that of `d.setdefault(key, []).append(...)`; `steps` lead from d to it."""
    if steps != (("attr", "setdefault"),):
        return False
    walk = Walk(stack=[PASSED])
    for ins, after in zip(instructions[at:], instructions[at + 1:]):
        taken = None if ins.is_jump_target else walk.step(ins)
        if taken is None or PASSED in taken:
            return (taken is not None and ins.opname == "CALL" and taken.index(PASSED) < 2
                    and after.opname in ATTRIBUTES and after.argval in _ADDS and not after.is_jump_target)
    return False


def _is_store(instructions, at) -> bool:
    return (at + 1 < len(instructions) and instructions[at + 1].opname == "STORE_SUBSCR"
            and instructions[at].opname.startswith("LOAD_") and instructions[at].opname not in ATTRIBUTES)


@of_code()
def attribute_uses(code) -> dict:
    """Return {offset: (use, offset of the call that takes it)} of the values of attributes, by their instructions."""
    at_each = instructions_in(code)
    return {ins.offset: _used_at(at_each, at + 1) for at, ins in enumerate(at_each) if ins.opname in ATTRIBUTES}


@of_code()
def table_lookups(code) -> dict:
    """Return {offset: key} of the instructions that get a `__dict__` of which code only looks up a key that it spells out."""
    instructions = instructions_in(code)
    return {ins.offset: key.argval for ins, key, lookup in zip(instructions, instructions[1:], instructions[2:])
            if ins.argval == "__dict__" and ins.opname in ATTRIBUTES and key.opname in CONSTANTS and is_lookup(lookup)}


def _used_at(instructions, at) -> tuple:
    following = instructions[at:at + 1]
    if following and following[0].opname in ATTRIBUTES:
        step = ("attr", following[0].argval)
        return ITEMS if _adds_to_default(instructions, at + 1, (step,)) else _use_of(step), None
    return (STORED, None) if _is_store(instructions, at) else _taken(instructions, at, at)
