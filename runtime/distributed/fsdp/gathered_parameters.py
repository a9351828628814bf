"""Base of sharded parameters that are gathered together: their whole values, and the leaves that modules show meanwhile."""

import weakref
from functools import partial
from itertools import cycle
from typing import Any, NamedTuple
from weakref import ref

from ....ir.errors import AutogradError
from ...api.register.register import FUNCTIONS
from ...autograd.grad_mode import no_grad
from ...core.tensor import wrap
from ...nn.base.parameter import Parameter
from ...state.mode import other_mode, tls
from ...state.structure import Structure
from .gradient_reduction import register_gradient_hook

_counts: Any = weakref.WeakKeyDictionary()      # by group: number of objects that its ranks have made


def next_number(group) -> int:
    """Return a number for the label of sharded parameters, the same on all ranks of a group."""
    number = _counts[group] = _counts.get(group, 0) + 1
    return number


class Slot(NamedTuple):
    """Attribute of a module, and the number of its parameter."""

    module: Any
    name: str
    number: int


class GatheredEntry:
    """One sharded parameter of a group, and its leaf for the modules' computation.

    The leaf has values only while its module needs them. A traced function makes another leaf at every call, since it could not
    leave the lasting one without values.
    """

    name: str
    shape: tuple
    start: int
    stop: int

    def __init__(self, leaf):
        self.lasting = leaf
        self._hook: Any = None
        self._traced: Any = None        # (weak reference to a recorder, the leaf of its run)

    def whole(self, values) -> Any:
        """Return a tensor with the leaf's layout."""
        return values

    @property
    def leaf(self) -> Any:
        """The leaf of the code that runs."""
        recorder = tls.m.recorder
        if self._traced is None or (recorder is not None and self._traced[0]() is recorder):
            return self.lasting if self._traced is None else self._traced[1]
        self._traced = None
        return self.lasting

    def fill(self, values):
        """Give the leaf whole values."""
        recorder, leaf = tls.m.recorder, self.leaf
        if recorder is None or leaf is not self.lasting:
            leaf.data = values
            return
        made = Parameter(values, requires_grad=leaf.requires_grad)
        made.__dict__.update({k: v for k, v in leaf.__dict__.items() if k[0] != "_"})
        if self._hook is not None:
            register_gradient_hook(made, partial(self._arrived, made))      # (it lives as long as what leads to it)
        self._traced = ref(recorder), made

    def empty(self, dtype=None):
        """Take values from the leaf, but keep its shape."""
        self._empty(self.leaf, dtype)

    def _empty(self, leaf, dtype=None):
        """Do so with any leaf. No replay hears of it: its leaves end with the call."""
        with other_mode(recorder=None):
            leaf.data = self.whole(FUNCTIONS["empty"](self.shape, dtype=dtype or leaf.dtype, device="meta"))

    def _arrived(self, made, _):
        """Handle a gradient of a leaf that a traced function has made. If the recording was thrown away, its call counts as it
        ran: the gradient is that of the lasting leaf."""
        leaf = self.leaf
        if leaf is not made:
            g, made.grad = made.grad, None
            leaf.grad = g if leaf.grad is None else leaf.grad + g
            self._empty(made)
        self._hook(leaf)

    def forget_gradient(self):
        """Drop the gradient of a failed backward. A trace does not look at the lasting leaf."""
        if tls.m.recorder is None or self.leaf is not self.lasting:
            self.leaf.grad = None

    def on_gradient(self, hook):
        """Call `hook` when a gradient has been added to a leaf."""
        self._hook = hook
        register_gradient_hook(self.lasting, hook)


class GatheredParameters:
    """Parameters whose whole values exist only while their modules need them.

    Each of `entries` has a leaf for the modules' computation: elements `start` to `stop` of the whole values. `params` are for
    optimizers: one for each entry, or one for all. Subclasses define `unshard` and `_hide_slot`.
    """

    params: Any

    def __init__(self, entries, slots, device, offload):
        self.entries, self.slots, self.device, self.offload = entries, slots, device, offload
        self.whole: Any = None          # all values, while they exist
        self.stamp: Any = None          # identity of the gathered values
        self.is_shown = False
        self._filled: list = []         # (leaf with whole values, the version of its memory then)

    def versions(self) -> list:
        """Return a list that changes whenever a parameter is written."""
        return [(p._storage, p._storage.version) for p in self.params]

    def is_overwritten(self, stamp) -> bool:
        """Return whether a parameter was written since `versions` gave a stamp."""
        return any(s is not now or v != n for (s, v), (now, n) in zip(stamp, self.versions()))

    def unshard(self, *dtype):
        """Gather whole values into the modules."""
        raise NotImplementedError

    def unshard_again(self, stamp, *dtype):
        """Gather whole values again as they were in forward, for gradients, and return their array."""
        if self.is_overwritten(stamp):
            raise AutogradError(f"{self.entries[0].name} and what is gathered with it were overwritten after the forward whose "
                                "gradients are computed; step once backward is done")
        self.unshard(*dtype)            # and show them: a checkpoint may recompute a part of forward
        return self.whole

    def reshard(self):
        """Drop whole values."""
        if self.whole is None:
            return
        written = [e.name for e, (leaf, version) in zip(self.entries, self._filled) if leaf._storage.version != version]
        self.hide()
        self._empty()
        if written:
            self._refuse_write(written[0])

    def _refuse_write(self, name):
        """Raise if the write of a leaf would be lost."""
        raise NotImplementedError

    def _fill(self):
        """Give leaves whole values, and the `requires_grad` of parameters."""
        for e, p in zip(self.entries, cycle(self.params)):
            e.fill(e.whole(self._values_of(e)))
            if e.leaf.requires_grad is not p.requires_grad:
                e.leaf.requires_grad_(p.requires_grad)
        self._filled = [(e.leaf, e.leaf._storage.version) for e in self.entries]

    def _fill_others(self):
        """Give the leaves of the code that runs whole values, if those of a recorded run have them."""
        if any(e.leaf is not leaf for e, (leaf, _) in zip(self.entries, self._filled)):
            self._fill()

    def _values_of(self, entry):
        """Return a parameter's part of whole values, which knows of writes to itself alone unless a trace needs its origin."""
        if tls.m.recorder is None:
            return wrap(self.whole._a[entry.start:entry.stop].reshape(entry.shape))
        with no_grad():
            return self.whole.detach()[entry.start:entry.stop].view(entry.shape)

    def _empty(self):
        """Take values from leaves, but keep their shapes."""
        self.whole, self._filled = None, []
        for e in self.entries:
            e.empty()

    def _show(self):
        """Make leaves the parameters of the modules."""
        if not self.is_shown:
            for slot in self.slots:
                slot.module.__dict__.pop(slot.name, None)
                slot.module._parameters[slot.name] = self.entries[slot.number].leaf
            self.is_shown = True
            Structure.version += 1

    def hide(self):
        """Make the optimizers' parameters those of the modules."""
        if self.is_shown:
            for slot in self.slots:
                self._hide_slot(slot)
            self.is_shown = False
            Structure.version += 1

    def _hide_slot(self, slot):
        raise NotImplementedError
