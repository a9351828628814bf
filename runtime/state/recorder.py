"""Interfaces of listeners: recorders, which hear of all that eager code does, and observers, which hear of operators.

`Mode.recorder` is set while a function is traced, exported or summarised. `jit/recorder` holds the implementation; the runtime
sees only these Protocols. Events come after the fact ("ran", "wrote") or just before it ("writing", "requires_grad_changing").
"""

import warnings
from typing import Any, Protocol


class GradientEvents(Protocol):
    """Events about leaves, `.grad`, and the values that gradient rules save."""

    def accessed(self, t, setting): ...                     # `t.grad` is about to be read, or set
    def leaf_read(self, leaf): ...                          # the gradient of a leaf is about to be read
    def leaf_set(self, leaf): ...                           # the gradient of a leaf was replaced
    def hooking(self, t): ...                               # a hook is about to be registered on `t`
    def history_read(self, t): ...                          # `t.grad_fn` is about to be read
    def node_read(self, node): ...                          # edges or attributes of a node are about to be read
    def detaching(self, t): ...                             # `t` is about to lose its history
    def requires_grad_changing(self, t): ...                # `t.requires_grad` is about to be set, perhaps to its old value
    def requires_grad_started(self, t): ...                 # `t` became a leaf that requires grad
    def retaining(self, t): ...                             # `t.retain_grad()` was called
    def retains_read(self, t): ...                          # code asks whether it was called
    def taped(self, node, args, out): ...                   # a node is new: set `node.traced`, graph values of what it saves
    def saved(self, t) -> Any: ...                          # return the graph's view of a tensor that is saved
    def going_back(self, nodes): ...                        # backward is about to go through these nodes
    def gathered(self, traced, link, t) -> Any: ...         # return `traced` with `t` for the memory behind `link`
    def unpacked(self, t, saved, node, guards): ...         # a saved array became `t`; saved with it: (storage, version)


class RandomEvents(Protocol):
    """Events about random generators."""

    def drew(self, generator, t): ...                       # a generator gave the key `t`
    def took_state(self, generator, state): ...             # the state of a generator was taken as a tensor
    def puts_state(self, generator, state): ...             # a generator is about to be put into a state
    def seeds(self, generator, seed): ...                   # a generator is about to be seeded


class ScheduleEvents(Protocol):
    """Events about learning rate schedules."""

    def step(self, optimizer, step, args, kwargs): ...      # run `step(*args, **kwargs)` of a schedule
    def read(self, scheduler): ...                          # a value of a schedule is about to be read


class OptimizerEvents(Protocol):
    """Events about optimizers, and their options while a step is recorded."""

    @property
    def schedules(self) -> ScheduleEvents: ...
    @property
    def makes_state(self) -> bool: ...                      # whether new state belongs to an optimizer of the recorded run
    def created(self, optimizer): ...                       # an optimizer was created
    def step_called(self, optimizer): ...                   # `step()` was called; its hooks have not run
    def runs_hooks(self, optimizer): ...                    # some of its hooks are about to run
    def updating(self, optimizer): ...                      # an optimizer is about to update its parameters
    def clearing(self, optimizer): ...                      # the gradients of all parameters are about to be dropped
    def state_replaced(self, state, name): ...              # an entry of a parameter's state is about to be replaced
    def options(self, group) -> dict: ...                   # return options with tensors for the numbers that change
    def shown(self, optimizer) -> list: ...                 # return its groups as texts and state dicts show them
    def copying(self, optimizer): ...                       # a copy is about to take its options and its state


class SwapEvents(Protocol):
    """Events about tensors that get other memory, sizes or strides."""

    def data_set(self, t, value): ...                       # `t.data = value` is about to happen
    def reshaping(self, t, name): ...                       # `name`, in place, is about to change sizes, strides or memory
    def stood_in(self, t, root): ...                        # `root` is now the base of older views of `t` in its place
    def rebound(self, t, value, name): ...                  # `t` now has the memory, sizes and strides of `value`


class LayoutEvents(Protocol):
    """Events about code that reads how a tensor lies in memory."""

    def strides_read(self, t): ...                          # strides are read
    def offset_read(self, t, is_whole): ...                 # the offset is read; `is_whole`: `t` is all of its memory
    def asked(self, t, query): ...                          # code reads the answer of `query(t)`
    def extents_read(self, t): ...                          # code asks if a view with symbolic sizes is row-major


class SparseEvents(Protocol):
    """Events about sparse tensors."""

    def created(self, t): ...                               # a sparse tensor was created
    def is_own(self, t) -> bool: ...                        # return whether it was created under this recorder
    def parts_read(self, t): ...                            # indices or values of another one are about to be used


class SharedTensorEvents(Protocol):
    """Events about DTensors, which several processes share."""

    def knows(self, t) -> bool: ...                         # return whether a tensor is one of the recorded run
    def beside(self, t, shared) -> Any: ...                 # return a plain tensor as a replicated one beside a DTensor


class HostCalls(Protocol):
    """Host calls of a traced function."""

    def call(self, function, tensors, key) -> list: ...     # call a function of tensors, now and in every replay
    def warn(self, message, category, stacklevel): ...      # warn, now and in every replay
    def leaves_open(self, reason, is_open=True): ...        # work has begun that must end in the same call, or has ended


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
    def shared(self) -> SharedTensorEvents: ...
    @property
    def hosts(self) -> HostCalls: ...

    # Operators.
    def plain(self, op, args, params) -> tuple: ...         # return (args, params) as an operator takes them
    def operand(self, x, dtype) -> Any: ...                 # return a number as an operand beside tensors of a dtype
    def ran(self, op, args, params, out): ...               # an operator ran
    def failed(self, op): ...                               # an operator raised for its values, not for its shapes

    # Memory.
    def created(self, t, data=None): ...                    # a tensor was made from Python data, without an operator
    def argument_array(self, array) -> Any: ...             # return a tensor for an array that is an argument, or the array
    def detached(self, source, t): ...                      # `t` is new: the memory of `source`, without history
    def writing(self, dst, src): ...                        # a tensor is about to be written in place: it will hold `src`
    def wrote(self, dst, src): ...                          # a tensor was written in place: it holds `src` now
    def link(self, t) -> Any: ...                           # a tensor is about to be aliased by Python code
    @property
    def takes_parts(self) -> bool: ...                      # whether it hears of operators on parts of DTensors
    def pin_sizes(self, t): ...                             # what follows holds for the sizes of a tensor alone
    def chain_of(self, view) -> tuple: ...                  # return the views that lead from its base, with symbolic sizes

    # Values and attributes. The caller's caller of `read` is the method that user code called.
    def read(self, t, how, value) -> Any: ...                # return what Python gets for a value that it reads
    def cut(self, t, how, value): ...                        # a value was used: what follows holds for this value alone
    def formatted(self, t, spec, frame) -> Any: ...         # return a text for a tensor in a string; None: the usual one
    def attribute(self, owner, name, setting): ...          # the runtime is about to read, or set, an attribute
    def switch_read(self, switch): ...                      # a `Switch` is about to be read
    def switch_set(self, switch, is_restored): ...          # a `Switch` is about to be set
    def asked(self, name, question): ...                    # a function of other state is about to be called
    @property
    def fixes_weights(self) -> bool: ...                    # whether values that depend on weights alone may be read

    # Actions that a recording cannot repeat.
    def refuse(self, what, instead): ...                    # raise "this function cannot be traced: {what}...; {instead}"
    def only_once(self, reason): ...                        # this call does something that later calls do not
    def keeps_branches(self, pred) -> bool: ...             # whether `cond` records both branches, by `both`


class _Silent:
    """Sink of events: any attribute, called with anything, is None."""

    def __getattr__(self, name):
        return self

    def __call__(self, *args, **kwargs):
        return None


class _PlainCalls:
    """Host calls that nobody records."""

    def call(self, function, tensors, key):
        return function(*tensors)

    def warn(self, message, category, stacklevel):
        warnings.warn(message, category, stacklevel + 1)

    def leaves_open(self, reason, is_open=True):
        """Ignore the event."""


class NullRecorder:
    """A recorder that ignores all events; a base for those that need few of them."""

    hosts = _PlainCalls()
    takes_parts = False

    def plain(self, op, args, params):
        return args, params

    def read(self, t, how, value):
        return value

    def argument_array(self, array):
        return array

    def __getattr__(self, name):
        return _Silent()


class OperatorEvents(Protocol):
    """An observer of the operators of a thread (`Mode.observer`): a profile, a call recorder, a tracer of operators."""

    observes_rules: bool                                       # whether gradient rules are observed, too
    only_watches: bool                                      # whether functions do what they do without an observer
    checks_values: bool                                     # whether fused updates run as operators, so that each is checked

    def call(self, op, args, params) -> Any: ...            # run an operator in place of `dispatch.call`
    def met_only_now(self): ...                             # something happens that may differ at the next such call
    def around_operator(self, op, run, args, kwargs): ...   # run an operator of the user's
    def around_backward(self, through): ...                 # return what runs a node of the history
    def begin(self, name, kind) -> Any: ...                 # begin a named range, and return its event
    def end(self, event): ...                               # end it
