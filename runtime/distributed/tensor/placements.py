"""Placements: layouts of a tensor along one dim of a mesh."""

from dataclasses import dataclass

from ....ir.suggestions import unknown_choice
from ..engines.reduce_op import ReduceOp

__all__ = ["Partial", "Placement", "Replicate", "Shard", "_StridedShard"]


class Placement:
    """Layout of a tensor along one dim of a mesh."""

    def is_shard(self, dim: int | None = None) -> bool:
        """Return whether each process has a part (along `dim`, if given)."""
        return isinstance(self, Shard) and dim in (None, self.dim)

    def is_replicate(self) -> bool:
        return isinstance(self, Replicate)

    def is_partial(self, reduce_op: str | None = None) -> bool:
        """Return whether each process has a term of it (of this reduction, if given)."""
        return isinstance(self, Partial) and reduce_op in (None, self.reduce_op)


@dataclass(frozen=True)
class Shard(Placement):
    """Parts along a dim, split like `chunk`: the last ones may be smaller, or empty."""

    dim: int

    def __str__(self):
        return f"S({self.dim})"


@dataclass(frozen=True)
class _StridedShard(Shard):
    """Parts along a dim that later mesh dims, with `split_factor` processes in all, split before."""

    split_factor: int = 1

    def __init__(self, dim, split_factor=1):
        object.__setattr__(self, "dim", dim)
        object.__setattr__(self, "split_factor", split_factor)

    def __str__(self):
        return f"_S({self.dim}, {self.split_factor})"


@dataclass(frozen=True)
class Replicate(Placement):
    """All of the tensor in each process."""

    def __str__(self):
        return "R"


@dataclass(frozen=True)
class Partial(Placement):
    """Terms of a reduction: sum, avg, product, min or max."""

    reduce_op: str = "sum"

    def __post_init__(self):
        if self.reduce_op not in REDUCTIONS:
            raise unknown_choice("Partial", self.reduce_op, REDUCTIONS)

    def __repr__(self):
        return f"Partial({self.reduce_op})"

    def __str__(self):
        return f"P({self.reduce_op})"


REDUCTIONS = {op.value: op for op in (ReduceOp.SUM, ReduceOp.AVG, ReduceOp.PRODUCT, ReduceOp.MIN, ReduceOp.MAX)}
KINDS = {kind.__name__: kind for kind in (Shard, _StridedShard, Replicate, Partial)}
