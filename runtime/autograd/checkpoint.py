"""Checkpointing: what a function saved for backward is thrown away and computed again when backward needs it."""

import warnings
from contextlib import contextmanager, nullcontext
from contextvars import ContextVar
from functools import partial, wraps

from ...ir.errors import ArgumentError, AutogradError, DTypeError, kind_of
from ..core.composite_tensors import values_in
from ..core.device import EVERYWHERE
from ..core.node import overwritten
from ..core.random import get_rng_state, set_rng_state
from ..core.state import tls
from ..core.tensor import Tensor
from ..pytree.pytree import tree_leaves
from .backward import backward
from .function import Function
from .grad_mode import enable_grad
from .saved_tensor_hooks import saved_tensors_hooks
from .selective_checkpoint import CheckpointPolicy, SelectiveCheckpointContext, create_selective_checkpoint_contexts

__all__ = ["CheckpointError", "CheckpointPolicy", "SelectiveCheckpointContext", "check_backward_validity", "checkpoint",
           "checkpoint_sequential", "create_selective_checkpoint_contexts", "detach_variable", "get_device_states",
           "noop_context_fn", "set_checkpoint_debug_enabled", "set_checkpoint_early_stop", "set_device_states"]


class CheckpointError(AutogradError):
    """The second run of a checkpointed function saved other tensors than the first."""


def noop_context_fn():
    """Return the default `context_fn`: nothing around either run."""
    return nullcontext(), nullcontext()


class _Surroundings:
    """What the first run saw of the thread's state, to be set up again for the second."""

    def __init__(self, preserve_rng_state):
        self.rng = get_rng_state() if preserve_rng_state else None
        self.autocast = tls.m.autocast

    @contextmanager
    def again(self):
        m = tls.m
        rng, autocast = get_rng_state() if self.rng is not None else None, m.autocast
        if self.rng is not None:
            set_rng_state(self.rng)
        m.autocast = self.autocast
        m.refresh()
        try:
            yield
        finally:
            if rng is not None:
                set_rng_state(rng)
            m.autocast = autocast
            m.refresh()


class _Hooks(saved_tensors_hooks):
    """The hooks of both runs: the second computes what the first did."""

    keeps_values = True


class _Enough(BaseException):
    """Ends a second run that has computed all that the first one has saved (so far)."""


_early: ContextVar[bool | None] = ContextVar("early_stop", default=None)    # what every checkpoint does, None: what it was told


class _Frame:
    """One checkpointed call: how to run it again, and what it saved, by position. Where the function goes backward itself, it
    is run again while the first run is still under way, up to where that one is. So it is with `early_stop` in any case: what
    follows the last tensor that was saved is not run again."""

    def __init__(self, function, args, kwargs, surroundings, again, compare, early_stop):
        self.function, self.args, self.kwargs = function, args, kwargs
        self.surroundings, self.again, self.compare, self.early_stop = surroundings, again, compare, early_stop
        self.guards = [values_in(t)._storage.guard() for t in (*args, *kwargs.values()) if isinstance(t, Tensor)]
        self.avals = []      # of what the first run saved
        self.versions = []       # of its memory, while that run goes on
        self.overwritten = set()
        self.values = {}     # of the second run, until backward has taken them
        self.is_done = False     # the first run

    def pack(self, tensor):
        """First run: keeps only the position."""
        self.avals.append(tensor.aval)
        self.versions.append((tensor._storage, tensor._storage.version))
        return len(self.avals) - 1

    def written(self) -> set:
        """Return the positions of what the function itself writes over after it was saved."""
        if self.versions:
            self.overwritten = {i for i, (storage, version) in enumerate(self.versions) if storage.version != version}
        return self.overwritten

    def done(self):
        """Return the first run is over: what is written from here on is no work of the function's."""
        self.written()
        self.versions.clear()
        self.is_done = True

    def unpack(self, position):
        """Backward: the value, after running the function again if need be."""
        if position not in self.values:
            self.recompute()
        return _kept(self.values.pop(position))

    def recompute(self):
        for guard in self.guards:
            _require_unwritten(*guard)
        if not self.is_done and not isinstance(self.again, nullcontext):
            raise AutogradError("a function whose checkpoint keeps results of chosen operators cannot go backward itself; use "
                                "checkpoint without context_fn there")
        self.values = {}
        found: list = []
        written = self.written()

        stops = self.early_stop or not self.is_done

        def keep(t):
            if stops and len(found) == len(self.avals):     # the function went on after it was told to end
                raise _Enough
            if len(found) in written:
                t = t.clone()
            found.append((t if self.is_done else t.detach(), t._storage.guard()))     # a backward within this run reads it, too
            if stops and len(found) == len(self.avals):
                raise _Enough
            return found[-1]

        try:
            with _Hooks(keep, _kept), enable_grad(), self.surroundings.again(), self.again:
                self.function(*self.args, **self.kwargs)
        except _Enough:
            pass
        self._check([t for t, _ in found])
        self.values = dict(enumerate(found))

    def _check(self, found):
        if len(found) != len(self.avals):
            raise CheckpointError(f"checkpoint: the first run saved {len(self.avals)} tensors, the second {len(found)}; the "
                                  "function must do the same thing both times")
        for i, (first, second) in enumerate(zip(self.avals, found)):
            if self.compare and first != second.aval:
                raise CheckpointError(f"checkpoint: tensor {i} saved by the first run is {first}, by the second {second.aval}; "
                                      "the function must do the same thing both times")


def _require_unwritten(storage, version):
    if storage.was_overwritten(version):
        raise overwritten(_Checkpointed, storage, version)


class _Checkpointed:
    """Stands for a node where errors ask for a name."""

    class op:
        name = "checkpoint"

    line = None


def _kept(saved):
    """What the second run saved, for a backward inside of it."""
    tensor, guard = saved
    _require_unwritten(*guard)
    return tensor


class _Reentrant(Function):
    """Runs the function without a history, and in backward once more with one."""

    @staticmethod
    def forward(ctx, function, surroundings, *args):
        ctx.function, ctx.surroundings = function, surroundings
        ctx.places = [i for i, a in enumerate(args) if isinstance(a, Tensor)]
        ctx.asked = [args[i].requires_grad for i in ctx.places]
        ctx.others = [None if isinstance(a, Tensor) else a for a in args]
        ctx.save_for_backward(*(args[i] for i in ctx.places))
        return function(*args)

    @staticmethod
    def backward(ctx, *grads):
        run = tls.m.backward
        if run is None or run.targets is not None:      # (None: a recording makes the rule of calls that go backward later)
            raise AutogradError("checkpoint with use_reentrant=True goes backward to all leaves inside of it, so it works "
                                "neither with grad() or backward(inputs=...), nor in a traced function that leaves backward to "
                                "its caller; use use_reentrant=False")
        args = list(ctx.others)
        for i, t, asked in zip(ctx.places, ctx.saved_tensors, ctx.asked):
            args[i] = t.detach().requires_grad_(asked)
        with enable_grad(), ctx.surroundings.again():
            outs = ctx.function(*args)
        outs = outs if isinstance(outs, (tuple, list)) else (outs,)
        pairs = [(o, g) for o, g in zip(outs, grads) if isinstance(o, Tensor) and o.requires_grad]
        if not pairs:
            raise AutogradError("none of the outputs of the checkpointed function requires grad, so checkpoint() is not needed")
        backward([o for o, _ in pairs], [g for _, g in pairs])
        return (None, None, *(a.grad if isinstance(a, Tensor) else None for a in args))


def _checkpointed(function, options):
    """Return a function of which every call is checkpointed."""

    @wraps(function)
    def run(*args, **kwargs):
        return checkpoint(function, *args, **options, **kwargs)

    return run


def checkpoint(function=None, *args, use_reentrant=None, context_fn=noop_context_fn, determinism_check="default", debug=False,
               early_stop=True, preserve_rng_state=True, **kwargs):
    """`function(*args, **kwargs)` without keeping what it saves for backward; backward runs it a second time.

    Memory then grows with the inputs of checkpointed parts only. The random state of the first run is used again for the
    second unless `preserve_rng_state` is False. `use_reentrant=True` runs the function as one operation whose backward calls
    backward itself; the default keeps the function's own history and works with `grad`, `backward(inputs=...)`, keyword
    arguments and nested outputs.
    Its second run ends with the last tensor that backward asks for; with `early_stop=False` the function runs to its end, which
    repeats what it does there, and finds out if it saves more than the first time. `debug` is accepted: errors always say which
    tensors differ. Without a function it is a decorator for one.
    """
    if function is None:
        options = {"use_reentrant": use_reentrant, "context_fn": context_fn, "determinism_check": determinism_check,
                   "debug": debug, "early_stop": early_stop, "preserve_rng_state": preserve_rng_state, **kwargs}
        return partial(_checkpointed, options=options)
    if determinism_check not in ("default", "none"):
        raise ArgumentError(f"checkpoint: determinism_check must be 'default' or 'none', got {determinism_check!r}")
    surroundings = _Surroundings(preserve_rng_state)
    if use_reentrant:
        if kwargs or context_fn is not noop_context_fn:
            raise ArgumentError("checkpoint with use_reentrant=True takes neither keyword arguments nor context_fn")
        check_backward_validity(args)
        return _Reentrant.apply(function, surroundings, *args)
    first, again = context_fn()
    if not tls.m.grad:
        with first:
            return function(*args, **kwargs)
    asked = _early.get()
    frame = _Frame(function, args, kwargs, surroundings, again, determinism_check == "default",
                   bool(early_stop if asked is None else asked))
    with _Hooks(frame.pack, frame.unpack), first:
        result = function(*args, **kwargs)
    frame.done()
    return result


def checkpoint_sequential(functions, segments, input, use_reentrant=None, preserve_rng_state=True):
    """Run modules or functions one after the other in `segments` parts, each but the last one checkpointed."""
    steps = list(functions.children()) if hasattr(functions, "children") else list(functions)
    if not 1 <= segments <= max(1, len(steps)):
        raise ArgumentError(f"checkpoint_sequential: segments must be between 1 and the {len(steps)} functions, got {segments}")
    size = len(steps) // segments

    def run(start, stop):
        def part(x):
            for step in steps[start:stop]:
                x = step(x)
            return x

        return part

    start = 0
    for _ in range(segments - 1):
        input = checkpoint(run(start, start + size), input, use_reentrant=use_reentrant, preserve_rng_state=preserve_rng_state)
        start += size
    return run(start, len(steps))(input)


# What libraries build checkpoints of their own with.


def detach_variable(inputs) -> tuple:
    """Leaves over the memory of tensors, which ask for gradients as these do; other things as they are."""
    if not isinstance(inputs, tuple):
        raise DTypeError(f"detach_variable takes a tuple, got {kind_of(inputs)}")
    return tuple([x.detach().requires_grad_(x.requires_grad) if isinstance(x, Tensor) else x for x in inputs])


def check_backward_validity(inputs) -> None:
    """Warn if no tensor among the inputs asks for a gradient."""
    if not any(isinstance(x, Tensor) and x.requires_grad for x in inputs):
        warnings.warn("checkpoint with use_reentrant=True: no input requires grad, so no gradient will be computed",
                      stacklevel=3)


def _devices_of(trees):
    """Return the indices of the GPUs that tensors in arguments are on, each once."""
    tensors = [x for x in tree_leaves(trees) if isinstance(x, Tensor)]
    return list(dict.fromkeys([t.device.index for t in tensors if t.device.type not in EVERYWHERE]))


def get_device_states(*args) -> tuple[list, list]:
    """(indices, states of the random numbers) of the GPUs that arguments are on."""
    devices = _devices_of(args)
    return devices, [get_rng_state() for _ in devices]     # one generator draws for all of them


def set_device_states(devices, states, *, device_type=None) -> None:
    """Put GPUs into the states that `get_device_states` has found."""
    for state in states:
        set_rng_state(state)


@contextmanager
def set_checkpoint_early_stop(enable: bool):
    """Return whether second runs of what is checkpointed inside of the `with` end once they have what gradients need, whatever
    `checkpoint` is told."""
    before = _early.set(bool(enable))
    try:
        yield
    finally:
        _early.reset(before)


@contextmanager
def set_checkpoint_debug_enabled(enabled: bool | None):
    """Accepted: errors always say which saved tensors differ."""
    yield
