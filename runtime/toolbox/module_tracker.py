"""`ingot.utils.module_tracker`: which modules are running now, in forward and in backward, by their names."""

import threading
from typing import Any
from weakref import WeakKeyDictionary

from ...ir.errors import ArgumentError
from ..autograd.hooks import register_multi_grad_hook
from ..core.state import tls
from ..core.tensor import Tensor
from ..nn.base.hooks import GLOBAL, register_module_forward_hook, register_module_forward_pre_hook
from ..pytree.pytree import tree_leaves

__all__ = ["ModuleTracker"]


class ModuleTracker:
    """While it is entered, `parents` has the names of the modules that this thread runs, such as "Net.layer1.0" (the class of
    the first one, and the path below it), and "Global". In backward it has those between whose results and arguments the
    gradient is, and `is_bw` is True.

        with ModuleTracker() as tracker:
            net(x).sum().backward()          # a hook, or a mode, looks at tracker.parents
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
            self._at_gradients(result, lambda *_: self._goes_back_into(name))

    def _goes_back_into(self, name):
        """Return the gradient of a module's results is there; that of its arguments may never be, so all is over at the end."""
        self.parents.add(name)
        if self._over not in tls.m.backward.endings:
            tls.m.backward.endings.append(self._over)

    def _over(self):
        self.parents.clear()
        self.parents.add("Global")

    def _at_gradients(self, values, then):
        """Has a function run once the gradients of some values are there."""
        tensors = [t for t in tree_leaves(values) if isinstance(t, Tensor) and t.requires_grad]
        if tensors:
            self._hooks.append(register_multi_grad_hook(tensors, then))
