"""Hooks on tensors and nodes, which see and replace gradients. Also the contents of `ingot.autograd.graph`."""

import weakref
from abc import ABC, abstractmethod
from typing import Any

from ...ir.errors import AutogradError, DTypeError
from ..core.node import Leaf, hooks_of, settle_view, source_of
from ..core.node import Node as Operation
from ..core.tensor import Tensor
from ..core.writes import keep_gradient as keep_gradient
from ..state.mode import tls
from ..state.structure import RemovableHandle, add_hook
from .graph_edges import GradientEdge, get_gradient_edge
from .saved_tensor_hooks import allow_mutation_on_saved_tensors, disable_saved_tensors_hooks, save_on_cpu, saved_tensors_hooks

__all__ = ["GradientEdge", "Node", "allow_mutation_on_saved_tensors", "disable_saved_tensors_hooks", "get_gradient_edge",
           "increment_version", "register_multi_grad_hook", "save_on_cpu", "saved_tensors_hooks"]


class Node(ABC):
    """Base of history nodes: operations, and leaves where gradients are accumulated."""

    @abstractmethod
    def name(self) -> str:
        """Return the public name."""


Node.register(Operation)
Node.register(Leaf)


def register_hook(self, hook) -> RemovableHandle:
    """Call hook(grad) whenever a gradient of this tensor has been computed; a tensor it returns replaces the gradient."""
    if self._node is None:
        raise AutogradError("cannot register a hook on a tensor that does not require grad")
    if tls.m.recorder is not None:
        tls.m.recorder.gradients.hooking(self)
    if type(self._node) is Leaf:
        return add_hook(hooks_of(self._node, "hooks"), hook)
    settle_view(self)
    node, index = source_of(self._node)
    if node.expand is not None:
        node.hooking(index)
    return add_hook(hooks_of(node, "pre_hooks"), (index, hook))


def register_post_accumulate_grad_hook(self, hook) -> RemovableHandle:
    """Call hook(tensor) after a gradient was accumulated into this leaf's `.grad`."""
    if self._node is None:
        raise AutogradError("cannot register a hook on a tensor that does not require grad")
    if type(self._node) is not Leaf:
        raise AutogradError("post accumulate grad hooks go on leaf tensors only; use register_hook for this one")
    if tls.m.recorder is not None:
        tls.m.recorder.gradients.hooking(self)
    return add_hook(hooks_of(self._node, "post_hooks"), (False, weakref.ref(self), hook))


def retain_grad(self) -> None:
    """Keep the gradient of this non-leaf tensor in `.grad`."""
    if self._node is None:
        raise AutogradError("cannot retain_grad on a tensor that does not require grad")
    if tls.m.recorder is not None:
        tls.m.recorder.gradients.retains_read(self)
    if type(self._node) is Leaf or self._retains:
        return
    self._retains = True
    if tls.m.recorder is not None:
        tls.m.recorder.gradients.retaining(self)
    settle_view(self)
    keep_gradient(self)


def retains_grad(self) -> bool:
    """Return whether retain_grad() was called on this tensor."""
    if tls.m.recorder is not None:
        tls.m.recorder.gradients.retains_read(self)
    return self._retains


def hook_accumulation(self, hook) -> RemovableHandle:
    """Call hook((), (gradient,)) after accumulation into the `.grad` of the leaf's tensor, and after that tensor's own
    hooks."""

    def called(tensor):
        hook((), (tensor.grad,))

    return add_hook(hooks_of(self, "post_hooks"), (True, self.of, called))


def hook_before_accumulation(self, hook) -> RemovableHandle:
    """Call hook((gradient,)) before accumulation, after the tensor's own hooks; a result replaces the gradient."""
    return add_hook(hooks_of(self, "pre_hooks"), hook)


Leaf.register_hook = hook_accumulation  # type: ignore[attr-defined]
Leaf.register_prehook = hook_before_accumulation  # type: ignore[attr-defined]
Tensor.register_hook = register_hook
Tensor.register_post_accumulate_grad_hook = register_post_accumulate_grad_hook
Tensor.retain_grad = retain_grad
Tensor.retains_grad = property(retains_grad, doc=retains_grad.__doc__)  # type: ignore[assignment]


def increment_version(tensor):
    """Declare that tensors were written by other means, so that saved values are known to be lost."""
    for t in (tensor,) if isinstance(tensor, Tensor) else tensor:
        t._storage.wrote("increment_version")


class _MultiHandle:
    """Handle that removes several hooks at once."""

    def __init__(self, handles):
        self.handles = handles

    def remove(self):
        for handle in self.handles:
            handle.remove()

    def __enter__(self):
        return self

    def __exit__(self, *exc):
        self.remove()


def register_multi_grad_hook(tensors, fn, *, mode="all"):
    """Call fn(grads) in each backward once all reached tensors have their gradient (None for the others). With mode="any" call
    fn(grad) for the first one."""
    if mode not in ("all", "any"):
        raise AutogradError(f"mode must be 'all' or 'any', got {mode!r}")
    tensors = list(tensors)
    if not all(isinstance(t, Tensor) for t in tensors):
        raise DTypeError("register_multi_grad_hook takes a sequence of tensors")
    nodes = [None if t._node is None else source_of(t._node)[0] for t in tensors]
    runs: Any = weakref.WeakKeyDictionary()       # gradients so far, by backward

    def hook_for(i):
        def hook(grad):
            run = tls.m.backward
            arrived = runs.setdefault(run, {})
            arrived[i] = grad
            if mode == "any":
                if len(arrived) == 1:
                    fn(grad)
            elif len(arrived) == sum([node is not None and run.gives(node) for node in nodes]):
                fn([runs[run].get(k) for k in range(len(tensors))])

        return hook

    indices = [i for i, t in enumerate(tensors) if mode == "all" or t.requires_grad]
    return _MultiHandle([tensors[i].register_hook(hook_for(i)) for i in indices])
