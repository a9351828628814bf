"""Checkpointing: values saved for backward are dropped and recomputed when backward needs them."""

from contextlib import contextmanager, nullcontext
from contextvars import ContextVar
from functools import partial, wraps

from ...ir.blocks import block
from ...ir.errors import ArgumentError, AutogradError, DTypeError, kind_of
from ...ir.suggestions import unknown_choice
from ..core.composite_tensors import values_in
from ..core.device import EVERYWHERE
from ..core.node import Named, overwritten_error
from ..core.random import get_rng_state, set_rng_state
from ..core.tensor import Tensor
from ..pytree.pytree import tree_leaves
from ..state.messages import warn
from ..state.mode import tls
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
    """Return the default `context_fn`: no context around either run."""
    return nullcontext(), nullcontext()


class _Surroundings:
    """Thread state of the first run, restored for the second."""

    def __init__(self, preserve_rng_state):
        self.rng = get_rng_state() if preserve_rng_state else None
        self.autocast = tls.m.autocast

    def again(self):
        """Return a block with the same random numbers and autocast."""
        return _again(self.rng, self.autocast)


@block
def _again(rng, autocast):
    m = tls.m
    before = get_rng_state() if rng is not None else None, m.autocast

    def put(rng, autocast):
        m.autocast = autocast
        m.refresh()
        if rng is not None:
            set_rng_state(rng)

    return partial(put, rng, autocast), partial(put, *before)


class _Hooks(saved_tensors_hooks):
    """Hooks of both runs. The second computes the values of the first."""

    keeps_values = True


class _Enough(BaseException):
    """Signal that ends a second run once it has all values that the first saved so far."""


_early: ContextVar[bool | None] = ContextVar("early_stop", default=None)    # for all checkpoints; None: as each was told


class _Frame:
    """One checkpointed call: how to run it again, and what it saved, by position.

    If the function runs backward itself, the second run starts during the first one and ends where that is. With `early_stop`
    a second run always ends at the last saved tensor.
    """

    def __init__(self, function, args, kwargs, surroundings, again, compare, early_stop):
        self.function, self.args, self.kwargs = function, args, kwargs
        self.surroundings, self.again, self.compare, self.early_stop = surroundings, again, compare, early_stop
        self.guards = [values_in(t)._storage.guard() for t in (*args, *kwargs.values()) if isinstance(t, Tensor)]
        self.avals = []      # of tensors that the first run saved
        self.versions = []       # of their memory, during that run
        self.overwritten_error = set()
        self.values = {}     # of the second run, until backward takes them
        self.is_done = False     # whether the first run is over

    def pack(self, tensor):
        """Keep only the position, in the first run."""
        self.avals.append(tensor.aval)
        self.versions.append((tensor._storage, tensor._storage.version))
        return len(self.avals) - 1

    def written(self) -> set:
        """Return the positions of saved tensors that the function itself overwrote."""
        if self.versions:
            self.overwritten_error = {i for i, (storage, version) in enumerate(self.versions) if storage.version != version}
        return self.overwritten_error

    def done(self):
        """End the first run: later writes are not the function's."""
        self.written()
        self.versions.clear()
        self.is_done = True

    def unpack(self, position):
        """Return a saved value for backward; run the function again if needed."""
        if position not in self.values:
            self.recompute()
        return _checked(self.values.pop(position))

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
            if stops and len(found) == len(self.avals):     # the function caught the signal and went on
                raise _Enough
            if len(found) in written:
                t = t.clone()
            found.append((t if self.is_done else t.detach(), t._storage.guard()))     # a backward within this run reads it, too
            if stops and len(found) == len(self.avals):
                raise _Enough
            return found[-1]

        try:
            with _Hooks(keep, _checked), enable_grad(), self.surroundings.again(), self.again:
                self.function(*self.args, **self.kwargs)
        except _Enough:
            pass
        self._check([t for t, _ in found])
        self.values = dict(enumerate(found))

    def _check(self, again):
        if len(again) != len(self.avals):
            raise CheckpointError(f"checkpoint: the first run saved {len(self.avals)} tensors, the second {len(again)}; the "
                                  "function must do the same thing both times")
        for i, (first, second) in enumerate(zip(self.avals, again)):
            if self.compare and first != second.aval:
                raise CheckpointError(f"checkpoint: tensor {i} saved by the first run is {first}, by the second {second.aval}; "
                                      "the function must do the same thing both times")


def _require_unwritten(storage, version):
    if storage.was_overwritten(version):
        raise overwritten_error(Named("checkpoint"), storage, version)


def _checked(saved):
    """Return a tensor of the second run, for a backward inside it."""
    tensor, guard = saved
    _require_unwritten(*guard)
    return tensor


class _Reentrant(Function):
    """Function that runs without history, and in backward once more with one."""

    @staticmethod
    def forward(ctx, function, surroundings, *args):
        ctx.function, ctx.surroundings = function, surroundings
        ctx.positions = [i for i, a in enumerate(args) if isinstance(a, Tensor)]
        ctx.require_grads = [args[i].requires_grad for i in ctx.positions]
        ctx.others = [None if isinstance(a, Tensor) else a for a in args]
        ctx.save_for_backward(*(args[i] for i in ctx.positions))
        return function(*args)

    @staticmethod
    def backward(ctx, *grads):
        run = tls.m.backward
        if run is None or run.targets is not None:      # None: a recording derives the rule for later backward calls
            raise AutogradError("checkpoint with use_reentrant=True goes backward to all leaves inside of it, so it works "
                                "neither with grad() or backward(inputs=...), nor in a traced function that leaves backward to "
                                "its caller; use use_reentrant=False")
        args = list(ctx.others)
        for i, t, requires_grad in zip(ctx.positions, ctx.saved_tensors, ctx.require_grads):
            args[i] = t.detach().requires_grad_(requires_grad)
        with enable_grad(), ctx.surroundings.again():
            outs = ctx.function(*args)
        outs = outs if isinstance(outs, (tuple, list)) else (outs,)
        pairs = [(o, g) for o, g in zip(outs, grads) if isinstance(o, Tensor) and o.requires_grad]
        if not pairs:
            raise AutogradError("none of the outputs of the checkpointed function requires grad, so checkpoint() is not needed")
        backward([o for o, _ in pairs], [g for _, g in pairs])
        return (None, None, *(a.grad if isinstance(a, Tensor) else None for a in args))


def _checkpointed(function, options):
    """Return a function with every call checkpointed."""

    @wraps(function)
    def run(*args, **kwargs):
        return checkpoint(function, *args, **options, **kwargs)

    return run


def checkpoint(function=None, *args, use_reentrant=None, context_fn=noop_context_fn, determinism_check="default", debug=False,
               early_stop=True, preserve_rng_state=True, **kwargs):
    """Return `function(*args, **kwargs)` without its saved values; backward runs the function again.

    Memory then grows only with the inputs of checkpointed parts. The second run uses the random state of the first, unless
    `preserve_rng_state` is False. `use_reentrant=True` runs the function as one operation whose backward calls backward
    itself. The default keeps the function's own history and works with `grad`, `backward(inputs=...)`, keyword arguments and
    nested outputs.

    The second run ends with the last tensor that backward needs. With `early_stop=False` it runs to the end, which repeats
    side effects there and finds extra saved tensors. `debug` changes nothing: errors always name the tensors that differ.
    Without a function the result is a decorator.
    """
    if function is None:
        options = {"use_reentrant": use_reentrant, "context_fn": context_fn, "determinism_check": determinism_check,
                   "debug": debug, "early_stop": early_stop, "preserve_rng_state": preserve_rng_state, **kwargs}
        return partial(_checkpointed, options=options)
    if determinism_check not in ("default", "none"):
        raise unknown_choice("checkpoint: determinism_check", determinism_check, ("default", "none"))
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
    early = _early.get()
    frame = _Frame(function, args, kwargs, surroundings, again, determinism_check == "default",
                   bool(early_stop if early is None else early))
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


# Helpers for libraries with checkpoints of their own.


def detach_variable(inputs) -> tuple:
    """Return leaves over the memory of tensors, with their `requires_grad`; other objects as they are."""
    if not isinstance(inputs, tuple):
        raise DTypeError(f"detach_variable takes a tuple, got {kind_of(inputs)}")
    return tuple([x.detach().requires_grad_(x.requires_grad) if isinstance(x, Tensor) else x for x in inputs])


def check_backward_validity(inputs) -> None:
    """Warn if no tensor among the inputs requires a gradient."""
    if not any(isinstance(x, Tensor) and x.requires_grad for x in inputs):
        warn("checkpoint with use_reentrant=True: no input requires grad, so no gradient will be computed")


def _devices_of(trees):
    """Return the indices of the GPUs of tensors in arguments, each once."""
    tensors = [x for x in tree_leaves(trees) if isinstance(x, Tensor)]
    return list(dict.fromkeys([t.device.index for t in tensors if t.device.type not in EVERYWHERE]))


def get_device_states(*args) -> tuple[list, list]:
    """Return (indices, random states) of the GPUs of the arguments."""
    devices = _devices_of(args)
    return devices, [get_rng_state() for _ in devices]     # one generator draws for all of them


def set_device_states(devices, states, *, device_type=None) -> None:
    """Restore random states that `get_device_states` returned. `devices` and `device_type` are ignored: one generator draws for
    all devices."""
    for state in states:
        set_rng_state(state)


@block
def set_checkpoint_early_stop(enable: bool):
    """Set inside a `with` whether second runs end early, whatever `checkpoint` is told."""
    return partial(_early.set, bool(enable)), partial(_early.set, _early.get())


@contextmanager
def set_checkpoint_debug_enabled(enabled: bool | None):
    """Do nothing. `enabled` is ignored: errors always name the saved tensors that differ."""
    yield
