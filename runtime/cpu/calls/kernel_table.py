"""Which operators have a kernel of their own in eager mode, and what makes it.

    TABLE = KernelTable()

    @TABLE.makes(sort.argsort, sort.arg_topk)
    def order(op): ...                          # gives what runs `op` on arrays, called like its reference
"""

from collections.abc import Callable

from ....ir.opdef.op import Op


class KernelTable:
    """Operators and the makers of their kernels."""

    def __init__(self):
        self._makers: dict[Op, Callable] = {}

    def makes(self, *ops: Op):
        """Marks the maker of the kernels of some operators."""

        def mark(maker):
            self._makers.update(dict.fromkeys(ops, maker))
            return maker

        return mark

    def __iter__(self):
        return iter(self._makers)

    def __contains__(self, op: Op) -> bool:
        return op in self._makers

    def make(self, op: Op):
        """The callable that runs `op` on arrays: called like its reference."""
        return self._makers[op](op)
