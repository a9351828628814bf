"""Buffers of modules that an exported call writes. In the graph they are inputs and results; a loaded model stores them between
calls."""

from collections.abc import Iterator
from contextlib import contextmanager

from ....runtime.autograd.grad_mode import no_grad
from ....runtime.core.tensor import Tensor
from ...errors.errors import ExportError


class State:
    """Current buffers of some modules, which a function may write.

    modules   (name, module) of each
    names     {id of a buffer: its name}
    """

    def __init__(self, modules):
        self.names: dict = {}
        self._slots: list = []           # (module, key, the buffer)
        self._before: dict = {}           # name -> (the buffer, a copy, its version)
        self._known: frozenset = frozenset()
        for prefix, module in modules:
            for key, t in module._buffers.items():
                if t is not None:
                    self._note(module, key, f"{prefix}.{key}" if prefix else key, t)

    def _note(self, module, key, name, t):
        self._slots.append((module, key, t))
        if id(t) not in self.names:
            self.names[id(t)] = name
            self._before[name] = t, t.detach().clone(), t._version

    def __bool__(self):
        return bool(self.names)

    @property
    def refusal(self) -> str:
        """Reason to refuse a write to anything else."""
        if self is NO_STATE:
            return ("an exported model keeps no state; call .eval() on the module before the export (.apply(disable_observer), "
                    "too, where it has fake quantisation), return the new value, or let jit.export(..., stateful=True) keep "
                    "buffers of modules")
        return "an exported model keeps buffers of modules alone; register_buffer makes it one, or return the new value"

    # While a function is recorded.

    def expect(self, names):
        """Declare the buffers that the run writes, so that no decision may depend on their values."""
        self._known = frozenset(names)

    def takes(self, t: Tensor) -> bool:
        return id(t) in self.names

    def holds(self, module, key) -> bool:
        """Return whether it knows a buffer of a module by a key."""
        return any(m is module and name == key for m, name, _ in self._slots)

    def changes(self, t) -> bool:
        """Return whether a tensor's value differs between calls."""
        return self.names.get(id(t)) in self._known

    def exchanged(self) -> dict:
        """Return {name: new tensor} of the buffers that modules replaced."""
        found: dict = {}
        for module, key, t in self._slots:
            new, name = module._buffers.get(key), self.names[id(t)]
            if new is t:
                continue
            if not isinstance(new, Tensor) or sum(other is t for _, _, other in self._slots) > 1:
                why = "is removed" if new is None else "several modules hold"
                raise ExportError(f"the buffer {name}, which {why}, is set to something else: write to it in place")
            found[name] = new
        return found

    def check(self, avals: dict):
        """Raise if a new value has another shape or dtype than its buffer."""
        for name, aval in avals.items():
            t = self._before[name][0]
            if aval != t.aval:
                raise ExportError(f"the buffer {name} of {t.aval} becomes {aval}: an exported model keeps buffers of one "
                                  "kind; write to a part of a larger one")

    # Values of buffers.

    def tensors(self, names) -> list:
        """Return copies of the initial values."""
        return [self._before[name][1] for name in names]

    def buffers(self, names) -> dict:
        return {name: self._before[name][0] for name in names}

    def now(self, names) -> list:
        """Return the tensors that modules hold for these buffers now."""
        now = {self.names[id(t)]: module._buffers[key] for module, key, t in self._slots}
        return [now[name] for name in names]

    @contextmanager
    def restored(self) -> Iterator[None]:
        """Run the function inside; restore the buffers afterwards."""
        try:
            yield
        finally:
            self._restore()

    def _restore(self):
        for module, key, t in self._slots:
            if module._buffers.get(key) is not t:
                module._buffers[key] = t
        with no_grad():
            for name, (t, copy, version) in self._before.items():
                if t._version != version:
                    t.copy_(copy)
                    self._before[name] = t, copy, t._version


NO_STATE = State(())
