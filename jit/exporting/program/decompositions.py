"""Decomposition tables of programs: which composite operators are replaced by their bodies."""

from collections.abc import Mapping

from ....ir.errors import ArgumentError
from ....ir.opdef.op import OPS, Composite, Op
from ....ir.ops import load_all
from .fx_graph import operator_named

__all__ = ["CustomDecompTable", "default_decompositions"]


class CustomDecompTable(dict):
    """{composite operator, as nodes call it: its body}. An operator that is taken out is not decomposed."""

    def __init__(self):
        load_all()
        super().__init__({operator_named(op.name): op.lower.body for op in OPS.values() if type(op.lower) is Composite})

    def __getitem__(self, key):
        return super().__getitem__(_operator(key))

    def __delitem__(self, key):
        super().__delitem__(_operator(key))

    def pop(self, key, *default):
        return super().pop(_operator(key), *default)

    def __contains__(self, key):
        return super().__contains__(_operator(key))

    def copy(self) -> "CustomDecompTable":
        made = CustomDecompTable()
        for key in set(made) - set(self):
            del made[key]
        return made

    def materialize(self) -> dict:
        """Return the table itself: all operators are known."""
        return self


def _operator(key):
    """Return an operator given by its name, its record, or as nodes call it."""
    name = key.name if isinstance(key, Op) else key
    return operator_named(name) if isinstance(name, str) and name in OPS else key


def default_decompositions() -> CustomDecompTable:
    """Return the table of all composite operators."""
    return CustomDecompTable()


def checked(table: Mapping) -> Mapping:
    """Return a table; raise if an operator has another body than its record."""
    known = CustomDecompTable()
    for key, body in table.items():
        if key not in known or known[_operator(key)] is not body:
            raise ArgumentError("run_decompositions takes no table but one of default_decompositions(): an operator is made of "
                                "what its record says; write another computation as code and export that")
    return table


def whole_composites(table: Mapping) -> frozenset:
    """Return the composites that are not decomposed."""
    return frozenset([key.record for key in CustomDecompTable() if key not in table])
