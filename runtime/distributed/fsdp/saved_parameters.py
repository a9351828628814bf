"""Saved values in whole parameters: dropped with these, and gathered again when a gradient needs them."""

from typing import Any, NamedTuple

import numpy as np

from ...autograd.function import SavedTensor
from ...core.device_array import DeviceArray
from ...core.node import Leaf, Output
from ...core.tensor import wrap
from ...state.mode import tls
from ..tensor.mesh_array import is_on_mesh, mesh_array


class View(NamedTuple):
    """Window of a saved array in whole values: byte offset of its first element, dtype, shape and strides."""

    offset: int
    shape: tuple
    strides: tuple

    def of(self, flat):
        """Return the same window of whole values."""
        if flat.__class__ is DeviceArray:
            return flat.look(self.shape, self.strides, self.offset)
        return np.ndarray(self.shape, flat.dtype, flat, self.offset, self.strides)


class PartView(NamedTuple):
    """Window of a sharded saved tensor, whose local part is in whole values."""

    part: View
    shape: tuple
    mesh: Any
    placements: tuple

    def of(self, flat):
        """Return the array over the same window of whole values."""
        return mesh_array(self.part.of(flat), self.shape, self.mesh, self.placements)


def _view_in(flat, a) -> Any:
    """Return an array as a View of whole values, or None if it is elsewhere."""
    if is_on_mesh(a):
        part = _view_in(flat, a.memory.local)
        return None if part is None else PartView(part, a.shape, a.memory.mesh, a.memory.placements)
    if a.__class__ is DeviceArray:
        inside = flat.__class__ is DeviceArray and a.memory is flat.memory
        return View(a.offset - flat.offset, a.shape, a.strides) if inside and a.dtype == flat.dtype else None
    if a.__class__ is not np.ndarray or flat.__class__ is DeviceArray or a.dtype != flat.dtype or not a.size:
        return None
    offset = a.__array_interface__["data"][0] - flat.__array_interface__["data"][0]
    return View(offset, a.shape, a.strides) if 0 <= offset < flat.nbytes else None


class Fetched:
    """Saved values, some of which are windows of whole parameters. `link` is what a trace knows of these."""

    def __init__(self, values, fetch, link):
        self.values, self.fetch, self.link = values, fetch, link

    def unpack(self, node):
        """Return all values; gather if needed."""
        whole = self.fetch()
        recorder = tls.m.recorder
        if recorder is not None and self.link is not None and node.traced is not None:
            node.traced = recorder.gradients.gathered(node.traced, self.link, whole)
        return tuple([v.of(whole._a) if v.__class__ in (View, PartView) else v for v in self.values])


def nodes_since(outputs, first: int):
    """Return the nodes behind results that were recorded from number `first` on."""
    stack = [t._node for t in outputs if t._node is not None]
    seen = set()
    while stack:
        node = stack.pop()
        node = node.source if type(node) is Output else node
        if node in seen or type(node) is Leaf or node.number < first:
            continue
        seen.add(node)
        yield node
        stack += [edge for edge in node.edges if edge is not None]


def let_go(outputs, first: int, whole, fetch):
    """Make nodes recorded from number `first` on call fetch() for the whole values that their gradient rules read. Nodes that
    lead to no result keep their values."""
    flat, recorder = whole._a, tls.m.recorder
    link = None if recorder is None else recorder.link(whole)
    for node in nodes_since(outputs, first):
        if type(node.saved) is tuple:
            views = [_view_in(flat, v) for v in node.saved]
            if any(v is not None for v in views):
                node.saved = Fetched([v if view is None else view for v, view in zip(node.saved, views)], fetch, link)
        saved = getattr(getattr(node, "ctx", None), "_saved", None)
        for one in saved if type(saved) is tuple else ():
            view = _view_in(flat, one.array) if type(one) is SavedTensor and one.unpack_hook is None else None
            if view is not None:
                one.array, one.packed, one.unpack_hook = None, view, _unpacker(one, fetch, link)


def _unpacker(saved, fetch, link):
    def unpack(view):
        whole = fetch()
        recorder = tls.m.recorder
        if recorder is not None and link is not None and saved.traced is not None:
            saved.traced, = recorder.gradients.gathered((saved.traced,), link, whole)
        return wrap(view.of(whole._a))

    return unpack
