"""Which composite operators a program has as what they are made of (`ExportedProgram.run_decompositions`)."""

from collections.abc import Mapping

from ....ir.errors import ArgumentError
from ....ir.opdef.op import OPS, Composite, Op
from ....ir.ops import load_all
from .fx_graph import operator_named

__all__ = ["CustomDecompTable", "default_decompositions"]


class CustomDecompTable(dict):
    """{operator, as nodes of a program call it: what it is made of} for all composite operators; take one out, and it stays
    whole."""

    def __init__(self):
        load_all()
        super().__init__({operator_named(op.name): op.lower.body for op in OPS.values() if type(op.lower) is Composite})

    def __getitem__(self, key):
        return super().__getitem__(_operator(key))

    def __delitem__(self, key):
        super().__delitem__(_operator(key))

    def pop(self, key, *default):
        """Takes an operator out."""
        return super().pop(_operator(key), *default)

    def __contains__(self, key):
        return super().__contains__(_operator(key))

    def copy(self) -> "CustomDecompTable":
        """Another table with the same entries."""
        made = CustomDecompTable()
        for key in set(made) - set(self):
            del made[key]
        return made

    def materialize(self) -> dict:
        """The table itself: all operators are known."""
        return self


def _operator(key):
    """An operator by its name, its record, or as nodes call it."""
    name = key.name if isinstance(key, Op) else key
    return operator_named(name) if isinstance(name, str) and name in OPS else key


def default_decompositions() -> CustomDecompTable:
    """What all composite operators are made of."""
    return CustomDecompTable()


def checked(table: Mapping) -> Mapping:
    """A table, unless it says that an operator is made of something else than its record does."""
    known = CustomDecompTable()
    for key, body in table.items():
        if key not in known or known[_operator(key)] is not body:
            raise ArgumentError("run_decompositions takes no table but one of default_decompositions(): an operator is made of "
                                "what its record says; write another computation as code and export that")
    return table


def kept_by(table: Mapping) -> frozenset:
    """The composites that stay whole."""
    return frozenset([key.record for key in CustomDecompTable() if key not in table])
