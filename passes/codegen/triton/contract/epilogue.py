"""Epilogues of products inside their tiles, as lines of Triton text (`passes/fusion/fuse_epilogue.py`).

The tile `z_tile` is rounded to the product's dtype, as a separate kernel would read it, so results have the same bits. An
operand `b0` is a parameter of that name, with strides `r_b0` of rows and `t_b0` of batches if it has them. Values that do not
vary along an axis of the tile are loaded and computed once for it.
"""

from dataclasses import dataclass

from .....ir import dtype as dt
from .....ir.kernel.kernel import CAST, CONST, LOAD, STORE, Instr
from ...epilogue_program import ACCUMULATED
from ..ir.nest import applied
from ..ir.source import POINTER, SIZE, Parameter
from ..ir.spelling import Text, TritonBuilder, memory


@dataclass(frozen=True)
class Written:
    """An epilogue as text: functions before the kernel, lines of its body, the name and dtype of the result, and its (pointers,
    sizes)."""

    helpers: str
    lines: tuple
    result: str
    stored: dt.DType
    parameters: tuple


@dataclass(frozen=True)
class Site:
    """Positions of a tile's elements as text: (index, mask) of batches, rows and columns; an empty mask means that all exist.
    """

    batch: tuple
    row: tuple
    column: tuple


PRODUCT = Site(("batch", ""), ("row[:, None]", "(row[:, None] < M)"), ("column[None, :]", "(column[None, :] < N)"))


def parameters(fused, along) -> tuple:
    """Return (pointers, sizes) of the operands; `along` says for each whether (rows, batches) differ."""
    pointers = [Parameter(o.name, POINTER, memory(o.dtype)) for o in fused.operands]
    sizes = [Parameter(f"{what}_{o.name}", SIZE) for o, differs in zip(fused.operands, along) for what, d in zip("rt", differs)
             if d]
    return tuple(pointers), tuple(sizes)


def joined_helpers(*helpers: str) -> str:
    """Join functions before a kernel, each once."""
    return "".join(dict.fromkeys([f"@triton.jit\n{text}" for h in helpers for text in h.split("@triton.jit\n")[1:]]))


def written(fused, along, site: Site = PRODUCT, first: int = 0) -> Written:
    """Return the text of an epilogue; its names count from `first` on."""
    made = _Writer(fused, along, site)
    made.text.count = first
    for i in fused.body:
        made.put(i)
    helpers = "".join(f"@triton.jit\n{text}\n\n" for text in made.text.helpers.values())
    return Written(helpers, tuple(made.text.lines), made.env[fused.result].ref, fused.stored, parameters(fused, along))


class _Writer:
    """Writer of an epilogue's instructions."""

    def __init__(self, fused, along, site):
        self.site = site
        self.text = Text({p.name for part in parameters(fused, along) for p in part})
        self.s = TritonBuilder(self.text)
        self.env: dict = {}
        self.product = fused.dtype
        self.place = {o.name: (o, differs) for o, differs in zip(fused.operands, along)}

    def put(self, i: Instr):
        args = [self.env[a] for a in i.args]
        if i.op == STORE:
            self._store(i, args[0])
        elif i.op == LOAD:
            self.env[i.name] = self.s.wrap(self.product, "z_tile") if i.attr == ACCUMULATED else self._load(i)
        elif i.op == CONST:
            self.env[i.name] = self.s.const(i.dtype, i.attr)
        elif i.op == CAST:
            self.env[i.name] = self.s.cast(args[0], i.dtype)
        else:
            self.env[i.name] = applied(self.s, i.op, args)

    def _at(self, name, whole=False):
        """Return (elements from an operand's start, mask); `whole`: for each element, a single row or column having index 0."""
        operand, (rows, batches) = self.place[name]
        site = self.site
        found = [(f"{site.batch[0]} * t_{name}", site.batch[1])] if batches else []
        found += [(f"{site.row[0]} * r_{name}", site.row[1])] if rows else [site.row] if whole else []
        found += [site.column] if operand.along_columns or whole else []
        masks = dict.fromkeys([mask for _, mask in found if mask])
        return " + ".join([term for term, _ in found]), " & ".join(masks)

    def _load(self, i):
        return self.s.load(self.place[i.attr][0].dtype, i.attr, *self._at(i.attr))

    def _store(self, i, value):
        self.s.store(value, i.attr, *self._at(i.attr, whole=True))
