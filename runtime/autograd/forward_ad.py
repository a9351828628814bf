"""Forward mode as pairs of a value and its tangent: `ingot.autograd.forward_ad`.

A dual tensor starts a history and carries its tangent. The tangent of a result is computed from its history on request, as in
`func.jvp`. A dual shares the memory of its value and may be written in place. So duals work for everything with a gradient,
and not under no_grad().
"""

from typing import NamedTuple

from ...ir.blocks import Block
from ...ir.errors import ArgumentError, AutogradError, DTypeError, ShapeError
from ...ir.ops.core.elementwise import copy
from ...ir.ops.core.shape import reshape
from ..core.node import Leaf, Node
from ..core.tensor import Tensor, shape_of
from ..state.mode import tls
from .backward import pulled_without_hooks
from .functional import _grads, constant_like
from .grad_mode import enable_grad
from .graph_edges import ends_of

__all__ = ["UnpackedDualTensor", "dual_level", "enter_dual_level", "exit_dual_level", "make_dual", "unpack_dual"]
_LEVELS: list = []      # duals of each open level: (dual, its start, tangent)


class UnpackedDualTensor(NamedTuple):
    """A value and its tangent, None if it has none."""

    primal: Tensor
    tangent: Tensor | None


def enter_dual_level() -> int:
    """Open a level; only one can be open."""
    _check_no_level()
    _LEVELS.append([])
    return 0


def _check_no_level():
    if _LEVELS:
        raise AutogradError("nested levels of forward_ad are not supported; use func.jvp inside of func.jvp")


def exit_dual_level(*, level=None):
    """Close the level; its duals lose their tangents. `level` is ignored: one level can be open."""
    if not _LEVELS:
        raise AutogradError("exit_dual_level: no level of forward_ad is open")
    _LEVELS.pop()


class dual_level(Block):
    """Context manager of a level for duals."""

    def around(self):
        _check_no_level()
        return enter_dual_level, _LEVELS.clear


def make_dual(tensor, tangent, *, level=None) -> Tensor:
    """Return a dual tensor with the value and the tangent; results computed from it have tangents. `level` is
    ignored: one level can be open."""
    if not _LEVELS:
        raise AutogradError("make_dual: open a level first, with dual_level()")
    if not tls.m.grad:
        raise AutogradError("make_dual: tangents are computed from histories, which no_grad() leaves out")
    for what, t in (("tensor", tensor), ("tangent", tangent)):
        if not t.dtype.is_inexact:
            raise ArgumentError(f"make_dual: the {what} must be floating point or complex, got {t.dtype.name}")
    if tangent.dtype is not tensor.dtype:
        raise DTypeError(f"make_dual: the tangent has dtype {tangent.dtype.name}, the tensor {tensor.dtype.name}")
    if shape_of(tensor) != shape_of(tangent):
        raise ShapeError(f"make_dual: the tangent has shape {list(tangent.shape)}, the tensor {list(tensor.shape)}")
    if type(tensor._node) is Leaf:
        dual = reshape(tensor, shape=shape_of(tensor))
    else:       # no view: a write would reach the base and its views, not the dual
        dual = tensor.detach()
        dual._node = Node(copy, {}, (tensor._node,), (None, dual.aval), ())
    beginning = dual.detach()
    beginning._node = dual._node
    _LEVELS[-1].append((dual, beginning, tangent))
    return dual


def unpack_dual(tensor, *, level=None) -> UnpackedDualTensor:
    """Return (value, tangent) of a dual tensor, or of a result computed from duals. `level` is ignored: one level can be
    open."""
    duals = _LEVELS[-1] if _LEVELS else []
    for dual, beginning, tangent in duals:
        if dual is tensor and dual._node is beginning._node:        # it was not written since
            return UnpackedDualTensor(tensor.detach(), tangent)
    if not duals or tensor._node is None:
        return UnpackedDualTensor(tensor, None)
    with enable_grad():
        holder = constant_like(tensor).requires_grad_()
        pulled = pulled_without_hooks([tensor], [beginning for _, beginning, _ in duals], [holder], along=True)
        pairs = [(p, t) for p, (_, _, t) in zip(pulled, duals) if p is not None]
        if not pairs:
            return UnpackedDualTensor(tensor, None)
        tangent, = _grads([p for p, _ in pairs], [holder], [t for _, t in pairs], True)
    if any(t.requires_grad for _, _, t in duals) or ends_of([tensor]):
        return UnpackedDualTensor(tensor, tangent)
    return UnpackedDualTensor(tensor.detach(), tangent.detach())        # histories serve only this level
