"""Cost model of instructions: scalar functions run against a builder that only counts."""

import functools

from ...ir import dtype as dt
from ...ir.kernel.kernel import SWEEP, Instr, Kernel
from . import scalars
from .scalars import Builder, Val

_MEMORY = frozenset({"load", "store"})
_FREE = frozenset({"const", "index", "size", "cast", "reduce", "scan", "complex"})
_TURNS = 16         # assumed of a loop that ends when all lanes are done


class Counter(Builder):
    """A builder that counts the instructions of a scalar function."""

    def __init__(self):
        self.count = 0

    def emit(self, op, dtype, args, attr=None):
        self.count += op != "const"
        return Val(self, dtype, None)

    def re_im(self, z):
        return tuple([Val(self, dt.PARTS[z.dtype], None)] * 2)

    def rare(self, cond, usual, slow, *arguments):
        return usual

    def iterate(self, most, live, state, step):
        """Count a few turns."""
        return self.repeat(_TURNS, (live, *state), lambda *before: self._lived(before, step))[1:]

    def scale(self, y, n, i):
        self.count += 2
        return Val(self, y.dtype, None)


@functools.lru_cache(None)
def function_cost(name: str, arity: int, dtype) -> int:
    """Return the instruction count of a scalar function, doubled where it computes in float64."""
    counter = Counter()
    first = dt.bool_ if name == "where" else dtype
    scalars.apply(counter, name, Val(counter, first, None), *(Val(counter, dtype, None) for _ in range(arity - 1)))
    wide = dtype is dt.float64 or dtype is dt.complex128 or name in scalars.VIA_DOUBLE
    return counter.count * (2 if wide else 1)


def kernel_cost(kernel: Kernel) -> int:
    """Return the simple instructions per point of the iteration space. Work done once per row does not count."""
    stages = [s for s in kernel.stages if s.over == SWEEP] if kernel.reduce else kernel.stages
    return max(1, sum(instr_cost(i) for stage in stages for i in stage.body))


def instr_cost(i: Instr) -> int:
    """Return the work of one instruction on one element."""
    if i.op in _MEMORY or i.op in _FREE or i.op not in (scalars.COMPLEX if i.dtype.is_complex else scalars.FUNCTIONS):
        return 1
    kind = dt.float32 if i.dtype is dt.bool_ else i.dtype
    return function_cost(i.op, len(i.args), kind)
