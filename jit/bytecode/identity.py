"""Code that may ask whether one object is another: `a is b`, `a in c`, `id(a)`, or a key of a dictionary or set.

Tensors are compared by identity there. A trace of such code holds only while the same arguments are the tensors that the code
reaches otherwise.
"""


from .stack import CONSTANTS, instructions_of, of_code

_NAMES = frozenset((
    "id", "hash", "is_", "is_not", "contains", "countOf", "indexOf", "index", "count", "remove", "discard", "isdisjoint",
    "issubset", "issuperset", "union", "intersection", "difference", "symmetric_difference", "set", "frozenset", "dict",
    "fromkeys", "Counter", "setdefault", "defaultdict", "OrderedDict", "WeakKeyDictionary", "WeakSet", "_base", "is_set_to"))
_BUILDS = frozenset(("BUILD_SET", "SET_ADD", "SET_UPDATE", "BUILD_MAP", "MAP_ADD", "CONTAINS_OP"))


@of_code()
def asks_identity(code) -> bool:
    """Return whether code may compare the identity of tensors; comparisons with constants, as `x is None`, do not count."""
    if not _NAMES.isdisjoint(code.co_names):
        return True
    before = None
    for ins in instructions_of(code):
        if ins.opname in _BUILDS or (ins.opname == "IS_OP" and (before is None or before.opname not in CONSTANTS)):
            return True
        before = ins
    return False
