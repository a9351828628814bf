"""Operations in bytecode that call a method of an object without a call instruction: `x[key]`, `x + y`, `for v in x`, `f"{x}"`.

Python calls `type(x).__getitem__(x, key)` for `x[key]`. Each site tells the method and where its operands lie on the stack.
"""

from typing import NamedTuple

from .call_sites import KEYWORDS_ALWAYS, depths_of
from .stack import instructions_of, is_lookup, of_code

MATCHED = "__match_args__"      # of `case Point(x, y=0)`: an object, a class and names of attributes
_BINARY = {"+": "add", "-": "sub", "*": "mul", "/": "truediv", "//": "floordiv", "%": "mod", "**": "pow", "@": "matmul",
           "&": "and", "|": "or", "^": "xor", "<<": "lshift", ">>": "rshift"}
_COMPARED = {"<": "__lt__", "<=": "__le__", "==": "__eq__", "!=": "__ne__", ">": "__gt__", ">=": "__ge__"}
# Instruction -> (method, depth of the first operand below the top of the stack, number of operands from there on).
_FIXED = {
    "BINARY_SUBSCR": ("__getitem__", 2, 2), "BINARY_SLICE": ("__getitem__", 3, 3), "STORE_SUBSCR": ("__setitem__", 2, 2),
    "STORE_SLICE": ("__setitem__", 3, 3), "DELETE_SUBSCR": ("__delitem__", 2, 2), "MATCH_KEYS": ("__getitem__", 2, 2),
    "CONTAINS_OP": ("__contains__", 2, 2), "GET_LEN": ("__len__", 1, 1),
    "UNARY_NEGATIVE": ("__neg__", 1, 1), "UNARY_POSITIVE": ("__pos__", 1, 1), "UNARY_INVERT": ("__invert__", 1, 1),
    "UNARY_NOT": ("__bool__", 1, 1), "TO_BOOL": ("__bool__", 1, 1),
    **dict.fromkeys(("GET_ITER", "GET_YIELD_FROM_ITER", "UNPACK_SEQUENCE", "UNPACK_EX", "LIST_EXTEND", "SET_UPDATE",
                     "GET_AITER"), ("__iter__", 1, 1)),
    **dict.fromkeys(("DICT_UPDATE", "DICT_MERGE"), ("keys", 1, 1)),
    **dict.fromkeys(("FORMAT_SIMPLE", "CONVERT_VALUE"), ("__format__", 1, 1)),
    "FORMAT_WITH_SPEC": ("__format__", 2, 1), "MATCH_CLASS": (MATCHED, 3, 3),
    **dict.fromkeys(("BEFORE_WITH", "BEFORE_ASYNC_WITH", "LOAD_SPECIAL"), ("__enter__", 1, 1)),
}
_ATTRIBUTES = {"LOAD_ATTR": 1, "LOAD_METHOD": 1, "STORE_ATTR": 1, "DELETE_ATTR": 1}
_ITEMS_TOO = frozenset(("__contains__", "__format__", "__mod__", *_COMPARED.values()))
_GIVE_BOOLS = frozenset(("COMPARE_OP", "CONTAINS_OP", "IS_OP", "UNARY_NOT", "TO_BOOL"))
_POSITIVE = 5           # the intrinsic function `+x`


class OperationSite(NamedTuple):
    """One operation.

    method        of the object that Python calls, or the attribute that code gets or sets
    slots         positions of the operands on the stack
    is_attribute  whether code gets or sets an attribute
    is_set        whether it sets or deletes one
    offset        of its instruction
    """

    method: str
    slots: range
    is_attribute: bool = False
    is_set: bool = False
    offset: int = 0

    @property
    def reads_items(self) -> bool:
        """Whether the operation also calls methods of the items of lists and tuples."""
        return self.method in _ITEMS_TOO


@of_code(1024)
def makes_text(code) -> bool:
    """Return whether code may make a text of an object by an operation."""
    return any(site.method in ("__format__", "__mod__") for site in operation_sites_of(code).values())


@of_code(1024)
def sets_class(code) -> bool:
    """Return whether code may assign to `__class__` of an object."""
    return "__class__" in code.co_names and any(site.is_set and site.method == "__class__"
                                                for site in operation_sites_of(code).values())


@of_code(1024)
def operation_sites_of(code) -> dict:
    """Return {offset: `OperationSite`} of all operations that code can reach."""
    depths, found, prefix = depths_of(code), {}, None
    instructions = instructions_of(code)
    for before, ins in zip((None, *instructions), instructions):
        site = _site(ins, before, depths[ins.offset]) if ins.offset in depths else None
        if site is not None:
            found[ins.offset] = site
            if prefix is not None:      # where the interpreter stops instead
                found[prefix] = site
        prefix = (ins.offset if prefix is None else prefix) if ins.opname == "EXTENDED_ARG" else None
    return found


@of_code(1024)
def attribute_sites_of(code) -> dict:
    """Return {offset: `OperationSite`} of the attributes that code gets or sets, patterns such as `case Point(x=0)` among them.
    """
    return {offset: site for offset, site in operation_sites_of(code).items() if site.is_attribute or site.method == MATCHED}


def _site(ins, before, depth) -> OperationSite | None:
    name = ins.opname
    if name in _ATTRIBUTES:
        return OperationSite(ins.argval, range(depth - 1, depth), True, name in ("STORE_ATTR", "DELETE_ATTR"), ins.offset)
    if name == "COMPARE_OP":
        return OperationSite(_COMPARED[_symbol(ins)], range(depth - 2, depth))
    if name == "BINARY_OP" and not is_lookup(ins):
        changes = "i" if ins.argrepr.endswith("=") else ""
        return OperationSite(f"__{changes}{_BINARY[ins.argrepr.removesuffix('=')]}__", range(depth - 2, depth))
    if name == "FORMAT_VALUE":
        at = depth - 1 - (ins.arg >> 2 & 1)
        return OperationSite("__format__", range(at, at + 1))
    if name == "CALL_FUNCTION_EX":
        at = depth - 1 - bool(KEYWORDS_ALWAYS or ins.arg & 1)
        return OperationSite("__iter__", range(at, at + 1))
    if name == "CALL_INTRINSIC_1" and ins.arg == _POSITIVE:
        return OperationSite("__pos__", range(depth - 1, depth))
    if "JUMP" in name and name.endswith(("IF_TRUE", "IF_FALSE", "OR_POP")) and before.opname not in _GIVE_BOOLS:
        return OperationSite("__bool__", range(depth - 1, depth))
    method, below, count = ("__getitem__", 2, 2) if is_lookup(ins) else _FIXED.get(name, ("", 0, 0))
    return OperationSite(method, range(depth - below, depth - below + count)) if method else None


def _symbol(ins) -> str:
    return ins.argrepr.removeprefix("bool(").removesuffix(")")
