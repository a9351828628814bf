"""Code that may ask whether one object is another: `a is b`, `a in c`, `id(a)`, or a key of a dictionary or set.

Tensors are compared by identity there. A trace of such code holds only while the same arguments are the tensors that the code
reaches otherwise.
"""


from itertools import pairwise

from .stack import CONSTANTS, instructions_of, of_code

_TELL_APART = frozenset(("id", "is_", "is_not"))
_NAMES = frozenset((
    "hash", "contains", "countOf", "indexOf", "index", "count", "remove", "discard", "isdisjoint",
    "issubset", "issuperset", "union", "intersection", "difference", "symmetric_difference", "set", "frozenset", "dict",
    "fromkeys", "Counter", "setdefault", "defaultdict", "OrderedDict", "WeakKeyDictionary", "WeakSet", "_base", "is_set_to"))
_BUILDS = frozenset(("BUILD_SET", "SET_ADD", "SET_UPDATE", "BUILD_MAP", "MAP_ADD", "CONTAINS_OP"))


@of_code()
def asks_identity(code) -> bool:
    """Return whether code may compare the identity of tensors, which are keys of sets and dictionaries by it."""
    return not _NAMES.isdisjoint(code.co_names) or any(ins.opname in _BUILDS for ins in instructions_of(code)) or (
        tells_apart(code))


@of_code()
def tells_apart(code) -> bool:
    """Return whether code may ask whether two objects are one; comparisons with constants, as `x is None`, do not count."""
    instructions = instructions_of(code)
    return not _TELL_APART.isdisjoint(code.co_names) or any(
        ins.opname == "IS_OP" and before.opname not in CONSTANTS for before, ins in pairwise(instructions))
