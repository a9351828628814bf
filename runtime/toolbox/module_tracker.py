"""`ingot.utils.module_tracker`: names of the modules that run, in forward and backward."""

import threading
from typing import Any
from weakref import WeakKeyDictionary

from ...ir.errors import ArgumentError
from ..autograd.hooks import register_multi_grad_hook
from ..core.tensor import Tensor
from ..nn.base.hooks import GLOBAL, register_module_forward_hook, register_module_forward_pre_hook
from ..pytree.pytree import tree_leaves
from ..state.mode import tls

__all__ = ["ModuleTracker"]


class ModuleTracker:
    """A context with the names of running modules of this thread in `parents`, such as "Net.layer1.0" (outermost class and
    path), and "Global".

        with ModuleTracker() as tracker:
            net(x).sum().backward()          # a hook, or a mode, reads tracker.parents

    In backward, a module runs from the gradient of its results to that of its arguments, and `is_bw` is True.
    """

    def __init__(self):
        self.parents: set = {"Global"}
        self._names: WeakKeyDictionary = WeakKeyDictionary()
        self._handles: list = []
        self._hooks: list = []
        self._thread: Any = None

    @property
    def is_bw(self) -> bool:
        """Return whether this thread runs a backward."""
        return tls.m.backward is not None

    def __enter__(self):
        if self._handles:
            raise ArgumentError("this ModuleTracker is entered already")
        self._thread = threading.get_ident()
        self._handles = [register_module_forward_pre_hook(self._enters), register_module_forward_hook(self._leaves)]
        GLOBAL.always.add(self._handles[1].id)
        return self

    def __exit__(self, *exc):
        GLOBAL.always.discard(self._handles[1].id)
        for handle in (*self._handles, *self._hooks):
            handle.remove()
        self._handles, self._hooks, self.parents = [], [], {"Global"}

    def _name(self, module) -> str:
        if module not in self._names:
            for path, inner in module.named_modules():
                self._names.setdefault(inner, ".".join(filter(None, (type(module).__name__, path))))
        return self._names[module]

    def _enters(self, module, args):
        if threading.get_ident() == self._thread:
            name = self._name(module)
            self.parents.add(name)
            self._at_gradients(args, lambda *_: self.parents.discard(name))

    def _leaves(self, module, args, result):
        if threading.get_ident() == self._thread:
            name = self._name(module)
            self.parents.discard(name)
            self._at_gradients(result, lambda *_: self._enter_backward(name))

    def _enter_backward(self, name):
        """Enter a module in backward. All modules end with the backward, since gradients of arguments may never come."""
        self.parents.add(name)
        if self._over not in tls.m.backward.endings:
            tls.m.backward.endings.append(self._over)

    def _over(self):
        self.parents.clear()
        self.parents.add("Global")

    def _at_gradients(self, values, then):
        """Call a function once the gradients of some values are computed."""
        tensors = [t for t in tree_leaves(values) if isinstance(t, Tensor) and t.requires_grad]
        if tensors:
            self._hooks.append(register_multi_grad_hook(tensors, then))
