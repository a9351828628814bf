"""Interface of recorders: the events that eager code reports to `Mode.recorder`.

A recorder is set while a function is traced, exported or summarised. `jit/recorder` holds the implementation; the runtime sees
only these Protocols. Events come after the fact ("ran", "wrote") or just before it ("writing", "turning").
"""

from typing import Any, Protocol


class GradientEvents(Protocol):
    """Events about leaves, `.grad` and the values that gradient rules save."""

    def accessed(self, t, setting: bool) -> None:
        """`t.grad` is about to be read, or set."""

    def leaf_read(self, leaf) -> None:
        """The gradient of a leaf is about to be read."""

    def leaf_set(self, leaf) -> None:
        """The gradient of a leaf was replaced."""

    def turning(self, t) -> None:
        """`t.requires_grad` is about to be set, perhaps to what it is."""

    def turned(self, t) -> None:
        """`t` became a leaf that requires grad."""

    def retaining(self, t) -> None:
        """`t.retain_grad()` was called."""

    def taped(self, node, args, out) -> None:
        """A node was put on the tape: set its `traced`, the graph values of what it saves."""

    def saved(self, t) -> Any:
        """Return the graph's view of a tensor that is saved."""

    def unpacked(self, t, saved, node, guards) -> None:
        """A saved array became the tensor `t`; `guards` are (storage, version) saved with it."""


class RandomEvents(Protocol):
    """Events about random generators."""

    def drew(self, generator, t) -> None:
        """A generator gave the key `t`."""

    def took_state(self, generator, state) -> None:
        """The state of a generator was taken as a tensor."""

    def puts_state(self, generator, state) -> None:
        """A generator is about to be put into a state."""

    def seeds(self, generator, seed: int) -> None:
        """A generator is about to be seeded."""


class ScheduleEvents(Protocol):
    """Events about learning rate schedules."""

    def step(self, optimizer, step, args, kwargs) -> None:
        """Run `step(*args, **kwargs)` of a schedule in the recorder's place."""

    def read(self, scheduler) -> None:
        """A value of a schedule is about to be read."""


class OptimizerEvents(Protocol):
    """Events about optimizers, and their options while a step is recorded."""

    @property
    def schedules(self) -> ScheduleEvents: ...

    @property
    def makes_state(self) -> bool:
        """Whether new state belongs to an optimizer of the recorded function."""

    def created(self, optimizer) -> None:
        """An optimizer was created."""

    def step_called(self, optimizer) -> None:
        """`step()` was called, before its hooks run."""

    def updating(self, optimizer) -> None:
        """An optimizer is about to update its parameters."""

    def clearing(self, optimizer) -> None:
        """The gradients of an optimizer's parameters are about to be dropped."""

    def state_replaced(self, state, name: str) -> None:
        """An entry of a parameter's state is about to be replaced."""

    def options(self, group: dict) -> dict:
        """Return a group of options with tensors for the numbers that change from call to call."""


class SwapEvents(Protocol):
    """Events about tensors that get other memory, sizes or strides."""

    def data_set(self, t, value) -> None:
        """`t.data = value` is about to happen."""

    def reshaping(self, t, name: str) -> None:
        """A function in place is about to change sizes, strides or memory."""

    def rebound(self, t, value, name: str) -> None:
        """`t` now has the memory, sizes and strides of `value`."""


class LayoutEvents(Protocol):
    """Events about code that reads how a tensor lies in memory."""

    def strides_read(self, t) -> None:
        """Strides are read."""

    def offset_read(self, t, is_whole: bool) -> None:
        """The offset in memory is read; `is_whole` if the tensor is all of that memory."""

    def extents_read(self, t) -> None:
        """Whether a view with symbolic sizes is row-major is read."""


class SparseEvents(Protocol):
    """Events about sparse tensors."""

    def created(self, t) -> None:
        """A sparse tensor was created."""

    def is_own(self, t) -> bool:
        """Return whether a sparse tensor was created under this recorder."""

    def parts_read(self, t) -> None:
        """Indices or values of another sparse tensor are about to be used."""


class Recorder(Protocol):
    """A recorder of one run."""

    @property
    def gradients(self) -> GradientEvents: ...

    @property
    def random(self) -> RandomEvents: ...

    @property
    def optimizers(self) -> OptimizerEvents: ...

    @property
    def swaps(self) -> SwapEvents: ...

    @property
    def layouts(self) -> LayoutEvents: ...

    @property
    def sparse(self) -> SparseEvents: ...

    @property
    def fixes_weights(self) -> bool:
        """Whether values that depend on weights alone may be read."""

    # Operators.

    def plain(self, op, args, params) -> tuple:
        """Return (args, params) as an operator takes them."""

    def operand(self, x, dtype) -> Any:
        """Return a number as an operand beside tensors of a dtype."""

    def ran(self, op, args, params, out) -> None:
        """An operator ran."""

    def failed(self, op) -> None:
        """An operator raised for its values, not for their shapes or dtypes."""

    # Memory.

    def created(self, t, data=None) -> None:
        """A tensor was made from Python data, without an operator."""

    def argument_array(self, array) -> Any:
        """Return a tensor for a NumPy array that is an argument of the function; other arrays unchanged."""

    def detached(self, source, t) -> None:
        """`t` is a new tensor with the memory of `source`, and no history."""

    def writing(self, dst) -> None:
        """A tensor is about to be written in place."""

    def wrote(self, dst, src) -> None:
        """A tensor was written in place; `src` is the tensor or number that it holds now."""

    def link(self, t) -> Any:
        """Enter a tensor that is about to be aliased."""

    def chain_of(self, view) -> tuple:
        """Return the view operators that lead from its base to a tensor, with symbolic sizes."""

    # Values that Python reads.

    def read(self, t, how: str, seen) -> Any:
        """Return what Python gets for a value that it reads. The caller's caller is the method that user code called."""

    def cut(self, t, how: str, seen) -> None:
        """A value of a tensor was used: what follows holds for this value alone."""

    def formatted(self, t, spec: str, frame) -> str | None:
        """Return a text for a tensor that becomes part of a string, or None for the usual one."""

    def attribute(self, t, name: str, setting: bool) -> None:
        """The runtime is about to read, or set, an attribute of a tensor."""

    # Actions that a recording cannot repeat.

    def refuse(self, what: str, instead: str) -> None:
        """Raise an error about an action: "this function cannot be traced: {what} ...; {instead}"."""

    def only_once(self, reason: str) -> None:
        """This call does something that later calls do not."""

    def keeps_branches(self, pred) -> bool:
        """Return whether `cond` must record both branches; then `both` and `refuse_rounds` are there too."""


class _Silent:
    """Sink of events: any attribute, called with anything, is None."""

    def __getattr__(self, name):
        return self

    def __call__(self, *args, **kwargs):
        return None


class NullRecorder:
    """A recorder that ignores all events; a base for those that need few of them."""

    def plain(self, op, args, params):
        """Return operands and parameters unchanged."""
        return args, params

    def read(self, t, how, seen):
        """Return the value itself."""
        return seen

    def argument_array(self, array):
        """Return the array itself."""
        return array

    def __getattr__(self, name):
        return _Silent()
