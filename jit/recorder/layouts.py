"""Strides, offsets and attributes of inputs that the function read: later calls must have the same ones."""

from collections.abc import Callable

from ...ir.opdef.op import OPS
from ...ir.ops.core.shape import slice_
from ...ir.symbols.substitute import collect
from ...ir.symbols.symbolic import pinned
from ...runtime.core.tensor import Tensor
from ..guards.memory_order import is_root, layout_of


class LayoutLog:
    """Log of layout queries: {(position of an input, query): answer}."""

    def __init__(self, recorder):
        self._recorder = recorder
        self.answers: dict = {}

    def strides_read(self, t: Tensor):
        """The function reads strides of a tensor."""
        self._query_root(t, layout_of)

    def offset_read(self, t: Tensor, is_whole: bool):
        """The function reads where a tensor begins in its memory; `is_whole` if it is all of that memory.

        The answer depends on the layout, and on the sizes and numbers that the tensor's views use.
        """
        if is_whole:
            self._query_root(t, is_root)
            return
        link, found = self._recorder.link(t), {}
        if link.cell.value is not None:
            collect((link.cell.value.aval.shape, link.chain), found)
        for n in found.values():
            pinned(n)
        self._query_root(t, layout_of)

    def _query_root(self, t, query):
        cell = self._recorder.link(t).cell
        if self._recorder.inputs.is_from(cell, "argument", "captured"):
            self.answers[cell.source, query] = query(cell.root)

    def query(self, t: Tensor, query: Callable):
        """Record the answer of a query on an input."""
        position = self._recorder.inputs.position_of(t)
        if position is not None:
            self.answers[position, query] = query(t)

    def extents_read(self, t: Tensor):
        """The function asks whether a view is row-major: note which symbolic sizes of its slices are whole extents."""
        link = self._recorder.link(t)
        if self._recorder.scope is None or link.cell.value is None:
            return
        aval = link.cell.value.aval
        for name, params in link.chain:
            before, aval = aval, OPS[name].infer(aval, **dict(params))
            if name == slice_.name:
                for mine, all_of in zip(aval.shape, before.shape):
                    bool(mine == all_of)
