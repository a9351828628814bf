"""Gradients while a recorder listens: what rules will read, what is read and set of leaves, and their hooks."""

import weakref
from typing import Any

from ...ir.ops.index.assign import run_chain
from ...ir.symbols.symbolic import is_symbol
from ...runtime.core.composite_tensors import PARTS
from ...runtime.core.node import Leaf
from ...runtime.core.tensor import Tensor
from ..errors.conditions import Condition
from ..errors.errors import TraceError
from ..guards.state_guards import HooksGuard
from .recording import LeafState, Saved


class GradientGuard(Condition):
    """A leaf's gradient is this very tensor, which the function also reaches otherwise, or through other memory."""

    def __init__(self, leaf: Tensor, gradient: Tensor):
        self.leaf, self.gradient = leaf, gradient

    @property
    def watched(self) -> tuple:
        """What identifies the condition."""
        return "gradient", id(self.leaf)

    def holds(self) -> bool:
        """Whether it still is."""
        return self.leaf.grad is self.gradient

    def moved(self) -> list:
        """The gradient, which may be looked up by its leaf."""
        return [self.watched]

    def __str__(self):
        return "a gradient that lies in memory of other tensors is another tensor now"


class Gradients:
    """The part of a recorder that hears of them."""

    def add_leaf(self: Any, t, leaf, grad):
        """An input has this leaf, and this gradient."""
        position = self.input_of(t)
        if t._node is leaf and position is not None:
            self.edges[position] = leaf
        state = self.leaves[id(leaf)] = LeafState(position, leaf, grad)
        self.meets_hooks("a hook of a tensor", leaf.all_hooks())
        if grad is not None:
            is_shared = self._fix_gradient(grad)            # (it is another leaf's, too)
            grad.__dict__["_gradient_of"] = self, position, t
            self._linked.append(weakref.ref(grad))
            self.gradients.append((t, state, weakref.ref(grad)))
            if is_shared or (type(grad) not in PARTS and self.cell_of(grad) is not None):
                self._fix_gradient(grad)

    def leaf_of_gradient(self: Any, t) -> int | None:
        """The position of the leaf by which a tensor is looked up at every call, if it is a gradient and has its memory for
        itself. One that has not is the same tensor at each call, as long as it is not seen to be another one."""
        owner = t.__dict__.get("_gradient_of")
        if owner is None or owner[0] is not self:
            return None
        views = [ref() for ref in t._storage.aliases]
        has_own = t._base is None or (("gradient", id(owner[2])) in self.changing and all(v is None or v is t for v in views))
        if self.cell_of(t) is None and has_own:
            return owner[1]
        self._fix_gradient(t)
        return None

    def _fix_gradient(self: Any, grad) -> bool:
        """If a tensor is the gradient of a leaf, then it is so at all calls for which the recording is good."""
        owner = grad.__dict__.get("_gradient_of")
        if owner is None or owner[0] is not self:
            return False
        self.fixed[id(owner[2])] = grad
        return True

    def gradient_guards(self: Any, reached) -> list:
        """What must be so of gradients that were read: those that lie in other memory, or that the function has `reached`
        otherwise, too (tensors by id), are the same ones at each call."""
        looked_up = {s.what for s in self.sources if s.kind == "grad"}
        read = [(t, self.fixed.get(id(t), ref())) for t, state, ref in self.gradients
                if state.was_read or state.position in looked_up]
        return [GradientGuard(t, grad) for t, grad in read if grad is not None and (id(t) in self.fixed or id(grad) in reached)]

    def taped(self: Any, node, args, out):
        """An operation went on the tape: notes what the graph knows of what its rule will read."""
        tensors = [out, *args]
        node.traced = tuple([self.saved(t) if kept is not None else None for t, kept in zip(tensors, node.saved)])

    def saved(self: Any, t):
        """What the graph knows of a tensor that is saved, or of several; numbers that are symbolic."""
        if type(t) is tuple:
            return tuple(map(self.saved, t))
        return Saved(self.value_of(t), self.link(t), t._storage) if isinstance(t, Tensor) else t if is_symbol(t) else None

    def unpacked(self: Any, t: Tensor, saved, node, guards):
        """Backward took a saved array out as the tensor `t`; `guards` are (storage, version) of what was saved with it. What
        was written through `.data` since holds what was written."""
        value = None if saved is None else saved.value
        if value is None or value.owner is not self.builder:
            raise TraceError(f"backward inside a traced function reached {node.op.name}, which ran before it; call backward() "
                             "in the same traced function as the forward pass, or outside of it")
        if any(storage is saved.storage and storage.version != version for storage, version in guards):
            value = run_chain(saved.link.cell.value, saved.link.chain)
        self.fresh(t, value)

    def grad_access(self: Any, t: Tensor, setting: bool):
        """`t.grad` is about to be read or set."""
        if type(t._node) is Leaf:
            self.link(t)
            self.note_leaf(t)
            leaf = t._node
        elif t._node is None and self.link(t).cell.root is t:
            leaf = self._resting_leaf(t)
        else:
            return
        if setting:
            self.leaves[id(leaf)].was_set = True
        else:
            self.grad_read(leaf)

    def _resting_leaf(self: Any, t) -> Leaf:
        """The leaf of a tensor from outside that does not require grad, but may have a gradient."""
        if t._kept_leaf is None:
            t._kept_leaf = Leaf(t)
        if id(t._kept_leaf) not in self.leaves:
            self.add_leaf(t, t._kept_leaf, t._kept_grad)
        self.leaves[id(t._kept_leaf)].resting = t
        return t._kept_leaf

    def retaining(self: Any, t: Tensor):
        """`t`, which is no leaf, keeps its gradients from now on."""
        position = self.input_of(t)
        if position is not None:
            self.retained.add(position)
        elif self.link(t).is_given:
            self.refuse("it calls retain_grad() on a view of a tensor from outside", "do so outside of it")

    def leaf_turning(self: Any, t: Tensor):
        """`t` is about to start or stop requiring grad, if it does not do so already: one from outside does so in later calls,
        too."""
        position = self.input_of(t)
        if position is None:
            return
        self.turned.setdefault(position, (t, t._node is not None))
        if t._node is not None:
            self.note_leaf(t)
            self.leaves[id(t._node)].resting = t

    def leaf_made(self: Any, t: Tensor):
        """`t` requires grad from now on."""
        position = self.input_of(t)
        if position is None:
            self.leaves[id(t._node)] = LeafState(None, t._node, None)
        else:
            self.note_leaf(t)
            self.edges[position] = t._node

    def turns(self: Any) -> list:
        """(position, whether it requires grad in the end) of the inputs that did not when the call began, or the other way
        round."""
        return [(position, not began) for position, (t, began) in self.turned.items() if (t._node is not None) != began]

    def turned_tensors(self: Any) -> set:
        """The ids of these inputs."""
        return {id(self.turned[position][0]) for position, _ in self.turns()}

    def grad_read(self: Any, leaf: Leaf):
        """The gradient of a leaf is about to be read."""
        state = self.leaves.get(id(leaf))
        if state is None:
            raise TraceError("backward inside a traced function reached a tensor that the function never used; call backward() "
                             "in the same traced function as the forward pass, or outside of it")
        if not state.was_set:
            state.was_read = True

    def grad_set(self: Any, leaf: Leaf):
        """The gradient of a leaf is another tensor now."""
        self.leaves[id(leaf)].was_set = True

    def guard_hooks(self: Any):
        """The hooks of leaves that are no arguments must be those that they had."""
        known = [(s, s.position) for s in self.leaves.values()]
        states = [s for s, at in known if at is not None and self.sources[at].kind == "captured"]
        if any(s.leaf.hook_numbers() != s.hooks for s in states):
            self.refuse("it registers a hook on a tensor from outside, or removes one", "do so outside of the function")
        if states:
            self.guards.append(HooksGuard([s.leaf for s in states]))
