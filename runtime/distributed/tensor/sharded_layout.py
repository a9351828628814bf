"""Layout of a tensor's parts on a mesh: the elements of each process; and pieces of tensors in state dicts.

Mesh dims that split one tensor dim do so one after the other, each the parts of those before it, in the order of the mesh.
`_StridedShard` comes after later ones.
"""

from dataclasses import dataclass
from typing import Any

from ....ir.errors import ArgumentError, DimError, DTypeError
from ....ir.opdef.aval import canonical_dim
from ...autograd.grad_mode import no_grad
from ..collectives.device_mesh import DeviceMesh
from .placements import Partial, Placement, Replicate, Shard, _StridedShard

__all__ = ["Piece"]

REPLICATE = Replicate()


def bounds(size: int, parts: int, index: int) -> tuple:
    """Return begin and end of part `index` of `size` elements, in equal parts but the last ones."""
    step = -(-size // parts)
    return min(size, index * step), min(size, (index + 1) * step)


def part_sizes(size: int, parts: int) -> list:
    """Return the sizes of all parts."""
    return [b - a for a, b in [bounds(size, parts, i) for i in range(parts)]]


def nesting(placements, sizes) -> dict:
    """Return for each split tensor dim the mesh dims that split it, in order."""
    found: dict[int, list] = {}
    for i in reversed(range(len(placements))):
        p = placements[i]
        if not isinstance(p, Shard):
            continue
        order = found.setdefault(p.dim, [])
        at = 0
        if isinstance(p, _StridedShard):
            product = 1
            while product < p.split_factor and at < len(order):
                product *= sizes[order[at]]
                at += 1
            if product != p.split_factor:
                raise ArgumentError(f"{p!r} stands before dims of the mesh that do not make {p.split_factor} parts of dim "
                                    f"{p.dim}")
        order.insert(at, i)
    return found


def place_in(shape, mesh, placements, coordinate=None) -> tuple:
    """Return (local shape, offsets) of the part at a position of the mesh, by default this process's."""
    local, offsets = list(shape), [0] * len(shape)
    at = mesh.get_coordinate() if coordinate is None else coordinate
    if at is None:
        return (0,) * max(1, len(shape)), tuple(offsets)
    for dim, order in nesting(placements, mesh.shape).items():
        for i in order:
            first, last = bounds(local[dim], mesh.shape[i], at[i])
            offsets[dim] += first
            local[dim] = last - first
    return tuple(local), tuple(offsets)


def compute_local_shape_and_global_offset(global_shape, mesh, placements) -> tuple:
    """Return the shape of this process's part of a tensor, and its offset along each dim."""
    return place_in(tuple(global_shape), mesh, tuple(placements))


def whole_shape(local, mesh, placements) -> tuple:
    """Return the shape of a tensor whose parts all have this one's shape."""
    shape = list(local)
    for i, p in enumerate(placements):
        if isinstance(p, Shard):
            shape[p.dim] *= mesh.shape[i]
    return tuple(shape)


def checked(placements, mesh, ndim: int, what: str) -> tuple:
    """Return placements as a tuple, one for each dim of the mesh, with dims counted from the front."""
    if placements is None:
        return (REPLICATE,) * mesh.ndim
    found = tuple(placements) if isinstance(placements, (list, tuple)) else (placements,)
    if len(found) != mesh.ndim:
        raise ArgumentError(f"{what}: a mesh of {mesh.ndim} dims takes {mesh.ndim} placements, got {list(found)}")
    kinds = {p.reduce_op for p in found if isinstance(p, Partial)}
    if len(kinds) > 1 and not kinds <= {"sum", "avg"}:
        raise ArgumentError(f"{what}: terms of different reductions make no tensor, got {list(found)}")
    return tuple([_checked(p, ndim, what) for p in found])


def _checked(p: Any, ndim: int, what: str) -> Placement:
    if not isinstance(p, Placement):
        raise DTypeError(f"{what}: a placement is Shard(dim), Replicate() or Partial(), got {p!r}")
    if not isinstance(p, Shard) or (0 <= p.dim < ndim):
        return p
    try:
        dim = canonical_dim(p.dim, ndim)
    except DimError:
        raise DimError(f"{what}: {p!r} of a tensor of {ndim} dims") from None
    return _StridedShard(dim, split_factor=p.split_factor) if isinstance(p, _StridedShard) else Shard(dim)


def without_terms(placements) -> tuple:
    """Return placements with terms replaced by whole values: the layout of gradients."""
    return tuple([REPLICATE if isinstance(p, Partial) else p for p in placements])


def current_mesh() -> DeviceMesh:
    """Return the default mesh: that of the innermost `with mesh:`, or all ranks in a row."""
    found = DeviceMesh.current()
    if found is None:
        raise ArgumentError("no mesh is given: pass device_mesh, or make tensors inside of `with mesh:`")
    return found


@dataclass
class Piece:
    """Consecutive elements of a tensor, counted row by row: those of `tensor`, from number `start` on."""

    tensor: Any
    start: int
    shape: tuple

    @property
    def stop(self) -> int:
        """Number of the element after the last one."""
        return self.start + self.tensor.numel()

    def fill(self, values, start: int = 0):
        """Copy its elements from a segment that begins at number `start`; return how many these were."""
        values = values.reshape(-1)
        first, last = max(start, self.start), min(start + values.numel(), self.stop)
        if first >= last:
            return 0
        with no_grad():
            self.tensor[first - self.start:last - self.start].copy_(values[first - start:last - start])
        return last - first
