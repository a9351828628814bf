"""Writes in place: data, version of the memory, and histories of all its views.

A view has the history of its base and the chain of views that leads to it. A write to either gives the base an `assign_view`
node, and derives the history of every live view again.
"""

import weakref
from typing import NamedTuple

import numpy as np

from ...ir import dtype as dt
from ...ir.errors import AutogradError, ShapeError
from ...ir.opdef.op import OPS
from ...ir.ops.core.elementwise import add, cast, copy
from ...ir.ops.index.assign import assign_view
from ...ir.reference import float8
from ...ir.reference.scalar_functions import as_kind
from ...ir.symbols.substitute import at_hint
from ..state.mode import call_inside, tls
from ..state.structure import add_hook
from .device_array import MESH, DeviceArray
from .node import INEXACT, ForbiddenNode, Leaf, Node, broadcast_edge, hooks_of, rescue_operands, rescue_result, source_of
from .tensor import Tensor, memory_of, shape_of, wrap

_ndarray = np.ndarray


def stands_for_number(x) -> bool:
    """Return whether an object is a proxy for a Python number that may change from call to call of a recorded function."""
    return x.__class__ is not type(x) and (x.__class__ is float or x.__class__ is int)


def operand(x, dtype):
    """Return a number as an operand: a lazy scalar of a recorded function may be a tensor."""
    m = tls.m
    return m.recorder.operand(x, dtype) if m.recorder is not None and stands_for_number(x) else x


def write(dst: Tensor, src, name: str, *, foreign: bool = False):
    """Write `src` (a tensor or number) into `dst`: data, version, and histories of all views. Nothing changes if the value does
    not fit. `foreign` says that src was not computed from dst, whose old value then gets a gradient of zeros."""
    m = tls.m
    if m.recorder is not None:
        src = operand(src, dst.dtype)
        if dst._a.__class__ is DeviceArray and dst._a.kind == MESH and isinstance(src, Tensor):
            src = dst._a.backend.laid_like(src, dst)
    if is_plain(dst, m):
        a = dst._a
        if not isinstance(src, Tensor):
            if a.dtype.isbuiltin == 1:
                src = dt.fitted(src, dst.dtype, name)
                try:
                    m.run(a.fill, src)
                except RuntimeError as error:
                    call_inside(error, a.fill, src)
                wrote_plainly(dst, name)
                return dst
        elif src._a.__class__ is _ndarray and src._a.shape == a.shape and (src._node is None or not m.grad):
            kind = src._a.dtype
            if kind is a.dtype or kind.isbuiltin == a.dtype.isbuiltin == 1:
                try:
                    m.run(np.copyto, a, src._a, "unsafe")
                except RuntimeError as error:
                    call_inside(error, np.copyto, a, src._a, "unsafe")
                wrote_plainly(dst, name)
                return dst
    check_writable(dst, m, name, shared=not isinstance(src, Tensor))
    a = dst._a
    value = src._a if isinstance(src, Tensor) else dt.fitted(src, dst.dtype, name)
    if isinstance(src, Tensor) and value.shape != a.shape and not fits_into(value.shape, a.shape):
        raise ShapeError(f"{name}: a result of shape {list(value.shape)} does not fit into a tensor of shape {list(a.shape)}")
    if m.recorder is not None:
        m.recorder.writing(dst, src)
    _rescue(dst)
    if m.grad and isinstance(src, Tensor) and src._node is not None:
        rescue_operands(src._node, (dst if dst._base is None else dst._base)._a, dst._storage)
    if isinstance(src, Tensor) and a.itemsize == 1 and a.dtype in float8.KINDS:
        value = m.quietly(as_kind, value, a.dtype)
    if m.batched is None or not m.batched.writes(dst, src):
        m.quietly(np.copyto, a, at_hint(value), casting="unsafe")
    wrote(dst, src, name, foreign)
    return dst


def write_by(dst: Tensor, fill, name: str):
    """Let `fill(array)` write all elements of `dst`, a host tensor outside of recordings, with values without history."""
    m = tls.m
    if is_plain(dst, m):
        m.quietly(fill, dst._a)
        wrote_plainly(dst, name)
        return dst
    check_writable(dst, m, name)
    _rescue(dst)
    m.quietly(fill, dst._a)
    wrote(dst, None, name)
    return dst


def fits_into(shape, whole) -> bool:
    """Return whether an array of a shape broadcasts to another shape."""
    return len(shape) <= len(whole) and all(n in (1, m) for n, m in zip(shape[::-1], whole[::-1]))


def _rescue(dst):
    """Give a rule that reads the old value a copy of it."""
    owner = dst if dst._base is None else dst._base
    if owner._node is not None:
        rescue_result(owner)


def is_plain(dst: Tensor, m) -> bool:
    """Return whether a write into `dst` is a write into its NumPy array and nothing else."""
    return dst._a.__class__ is _ndarray and is_quiet(dst, m)


def is_quiet(dst: Tensor, m) -> bool:
    """Return whether a write into `dst` is a write into its array: no history or recorder is affected, and elements are
    contiguous."""
    a, base = dst._a, dst._base
    if m.noticed:
        return False
    node = dst._node if base is None else base._node
    if node is not None and (m.grad or type(node) is not Leaf):
        return False
    flags = a.flags
    return flags.c_contiguous and flags.writeable and (base is None or dst._node is None or not m.grad)


def wrote_plainly(dst: Tensor, name: str):
    """Count a write that `is_quiet` allowed."""
    storage = dst._shared or dst._own_storage()
    if storage.guarded:
        storage.wrote(name)
    else:                       # the same, where nobody wants to know the user's line
        storage.version += 1
    if (dst if dst._base is None else dst._base)._is_data:
        storage.wrote_unchecked()


class Passed(NamedTuple):
    """The reason why a tensor shares memory with another one as the result of a node that is no view: the node's label, the
    reason, and the remedy where it forbids a write. With `may_part` it gets memory of its own before a write."""

    label: str
    told: str
    instead: str
    may_part: bool


def check_writable(dst: Tensor, m, name: str, shared: bool = False):
    """Raise if writing into `dst` would be wrong; `shared` allows several elements in one place, since all get one value."""
    if m.special:
        m.only_now()
    flags = dst._a.flags
    if not flags.writeable:
        raise ShapeError(f"{name}: the memory of this tensor of shape {list(dst._a.shape)} is read-only; clone() it before "
                         "writing")
    if not shared and not flags.c_contiguous and overlaps(dst._a):
        raise ShapeError(f"{name}: several elements of this tensor of shape {list(dst._a.shape)} share one place in memory "
                         "(it was expanded or unfolded); clone() it before writing")
    if m.grad:
        check_history(dst, name)


def check_history(dst: Tensor, name: str):
    """Raise if the history of `dst`, or of its base, could not express a write."""
    if dst.is_leaf and dst._node is not None:
        raise AutogradError(f"{name}: a leaf tensor that requires grad was written in place; do it under no_grad(), or on a "
                            "clone()")
    base = dst._base
    if base is not None and base._node is not None:
        if base.is_leaf:
            raise AutogradError(f"{name}: a view of a leaf tensor that requires grad was written in place; do it under "
                                "no_grad()")
        if dst._node is None and dst._a.dtype.kind in INEXACT:
            raise AutogradError(f"{name}: a view that was made under no_grad() was written in place where gradients are "
                                "recorded, which leaves open whether the tensor that it looks into is to have a history of it; "
                                "make the view and write to it both under no_grad(), or both outside")
    elif base is not None and dst._node is not None:
        raise AutogradError(f"{name}: a view of a view was written in place that was made where no gradients are recorded, "
                            "and told to require them later: there is no history for the tensor below. Write to a clone(), or "
                            "under no_grad()")
    owner = dst if base is None else base
    if owner._passed_by is not None and owner._node is not None:
        if owner._passed_by.may_part and dst is owner and not has_views(dst):
            _part(dst, name)
            return
        raise AutogradError(f"{name}: {owner._passed_by.told}: a write would be missing from the history of what lies below it."
                            f" Write to a clone(), or {owner._passed_by.instead}")


def views_of(t: Tensor) -> list:
    """Return the live views of a tensor."""
    return [view for view in [ref() for ref in t._storage.aliases] if view is not None and view._base is t]


def has_views(t: Tensor) -> bool:
    """Return whether a tensor has live views."""
    return bool(views_of(t))


def _part(t: Tensor, name: str):
    """Give a tensor memory of its own, with the same values and history."""
    m = tls.m
    before, m.grad = m.grad, False
    try:
        own = copy(t.detach())
    finally:
        m.grad = before
    if m.recorder is not None:
        m.recorder.swaps.rebound(t, own, name)
    t._a, t._storage, t._base, t._path, t._part_of = memory_of(own)
    t._passed_by = None


def overlaps(a) -> bool:
    """Return whether two elements of an array share an address."""
    if a.size <= 1:
        return False
    steps = sorted((abs(s), n) for s, n in zip(a.strides, a.shape) if n > 1)
    reach = 0
    for step, n in steps:
        if step == 0:
            return True
        if step <= reach:
            break
        reach += step * (n - 1)
    else:
        return False
    offsets = np.zeros(1, np.int64)
    for step, n in steps:
        offsets = (offsets + (np.arange(n) * step)[:, None]).reshape(-1)
    return np.unique(offsets).size < a.size


def wrote(dst: Tensor, src, name: str, foreign: bool = False):
    """Update version, history and recorder after data was written. `src` is the new value of dst, for the tape."""
    m = tls.m
    storage = dst._storage
    storage.wrote(name)
    if (dst if dst._base is None else dst._base)._is_data:
        storage.wrote_unchecked()
    node = getattr(src, "_node", None)
    if m.grad and (node is not None or dst._node is not None):
        rewrite_history(dst, src, name, foreign)
    if m.recorder is not None:
        m.recorder.wrote(dst, src)


def rewrite_history(dst: Tensor, src, name: str, foreign: bool = False):
    """Give `dst`, its base and all other views of that base the history of the value just written."""
    value_edge = value_history(dst, src)
    base = dst._base
    if base is None:
        if dst._node is not None and (foreign or value_edge is None):
            value_edge = Node(assign_view, {"chain": ()}, (dst._node, value_edge), (None, *(dst.aval,) * 2), ())
        elif (foreign or type(value_edge) is Leaf) and value_edge is src._node:       # which stays that of src alone
            value_edge = Node(copy, {}, (value_edge,), (None, dst.aval), ())
        dst._node = value_edge
        base = dst
    else:
        edges = (base._node, value_edge)
        params = {"chain": chain_of(dst)}
        saved = (None, base.aval, dst.aval)
        base._node = Node(assign_view, params, edges, saved, ())
    if base._retains:
        keep_gradient(base)
    for ref in base._storage.aliases:
        view = ref()
        if view is None:
            continue
        if view._passed_by is not None and view is not base:
            told = f"{view._passed_by.told}, whose memory {name} then wrote to, of which its history does not know"
            view._node = ForbiddenNode(view._passed_by.label, (view._node,),
                                       f"{told}. Write to a clone(), or {view._passed_by.instead}")
        elif view._base is base:
            view._node = chain_history(base, chain_of(view))
            if view._retains:
                keep_gradient(view)


def value_history(dst, src):
    """Return the edge of the written value, through the cast and expand of the write."""
    if not isinstance(src, Tensor) or src._node is None:
        return None
    edge = src._node
    if src._a.dtype != dst._a.dtype:
        edge = Node(cast, {"dtype": dst.dtype}, (edge,), (None, src.aval), ())
    if src._a.shape != dst._a.shape:
        edge = broadcast_edge(edge, src.aval, shape_of(dst))
    return edge


def chain_of(view):
    """Return the view operators from the base to a view, with sizes as a recorder has them."""
    m = tls.m
    return view._chain if m.sizes is None or m.recorder is None else m.recorder.chain_of(view)


def inverse_chain(aval, chain) -> tuple | None:
    """Return the chain that leads from a view back to a tensor like `aval` that it looks into; None if the view lacks
    elements."""
    back = []
    for name, items in chain:
        op, params = OPS[name], dict(items)
        undoing = None if op.lower.undo is None else op.lower.undo(aval, **params)
        if undoing is None:
            return None
        back.append((name, tuple(sorted(undoing.items()))))
        aval = op.infer(aval, **params)
    return tuple(back[::-1])


def chain_history(base, chain):
    """Return the history of a view: its chain of view operators on top of the base's."""
    node, aval = base._node, base.aval
    if node is None:
        return None
    for name, items in chain:
        op, params = OPS[name], dict(items)
        out = op.infer(aval, **params)
        node = Node(op, params, (node,), (out, aval), ())
        aval = out
    return node


def keep_gradient(self) -> None:
    """Keep the gradient of the tensor's current node; called again when a write gives the tensor another node."""
    node, index = source_of(self._node)
    me = weakref.ref(self)

    def retain(run, g):
        tensor, one = me(), g if node_outs is None else g[index]
        if tensor is not None and one is not None and source_of(tensor._node) == (node, index):
            fresh = copy(one) if run.on_tensors else wrap(one.copy() if one.__class__ is DeviceArray else np.array(one))
            tensor._retained_grad = fresh if tensor._retained_grad is None else add(tensor._retained_grad, fresh)

    node_outs = node.outs
    add_hook(hooks_of(node, "pre_hooks"), ("retain", retain))
