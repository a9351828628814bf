"""Levels of vmap: inside one, a tensor may stand for a whole batch, and the function sees one sample.

Such a tensor holds a `DeviceArray` of the kind "batch": shape and strides are a sample's, and behind it is a tensor of all
samples, batch first. `dispatch.call` hands an operator to the innermost level first. The level applies the operator's batch
rule (`ir/opdef/batch_rules.py`) to the tensors behind, one level further out. So histories, recorders and other levels out
there see operators on whole batches. Then it puts the operator on the sample's own tape. Composites without a rule run their
body; other operators run sample by sample.
"""

from typing import Any, cast

import numpy as np

from ...ir.blocks import Block
from ...ir.errors import AutogradError, IngotError
from ...ir.opdef.batch_rules import view_links
from ...ir.opdef.op import NO_GRAD, Composite, Op
from ...ir.ops.core.batching import batched, lifted, repeated
from ...ir.ops.core.shape import cat, reshape, select
from ...ir.suggestions import unknown_choice
from ...ir.symbols.substitute import at_hint
from ..autograd.graph_edges import ends_of
from ..core import dispatch, writes
from ..core.device_array import BACKENDS, SAMPLE, DeviceArray, is_sample
from ..core.storage import Storage
from ..core.tensor import Tensor, shape_of
from ..state.mode import tls
from ..state.recorder import Recorder
from . import vmap_custom_functions

RANDOMNESS = ("error", "different", "same")


class Memory:
    """The memory of a sample's array: the tensor of all samples, and its level."""

    __slots__ = ("device", "full", "level")

    def __init__(self, level, full):
        self.level, self.full = level, full
        self.device = full._a.device if full._a.__class__ is DeviceArray else None

    @property
    def inner(self):
        """Return the array of all samples."""
        return self.full._a


class Level(Block):
    """One running vmap: a context in which dispatch asks it first."""

    def __init__(self, size: int, randomness: str = "error"):
        if randomness not in RANDOMNESS:
            raise unknown_choice("vmap: randomness", randomness, RANDOMNESS)
        super().__init__()
        self.size, self.randomness = size, randomness
        self.sizes: Any = None
        self.leaves: set = set()        # leaves that are made inside

    def around(self):
        m = tls.m
        before = self.outer, self.recorder, self.sizes = m.batched, m.recorder, m.sizes

        def begin():
            m.batched = self
            if self.recorder is not None:
                m.recorder = cast(Recorder, SampleRecorder(self.recorder))
            if self.sizes is not None:
                m.sizes = self.size_of
            m.refresh()
            return self

        def put_back():
            m.batched, m.recorder, m.sizes = before
            m.refresh()

        return begin, put_back

    def run_outer(self, work, *args):
        """Run work one level further out."""
        m = tls.m
        before = m.batched, m.recorder, m.sizes, m.told, m.listened, m.noticed, m.special
        m.batched, m.recorder, m.sizes = self.outer, self.recorder, self.sizes
        try:
            m.refresh()
            return work(*args)
        finally:
            m.batched, m.recorder, m.sizes, m.told, m.listened, m.noticed, m.special = before   # by no call, for an interrupt
            m.refresh()

    # Samples and the batches behind them.

    def holds(self, x) -> bool:
        """Return whether a tensor stands for a batch of this level."""
        return is_batched(x) and x._a.memory.level is self

    def sample(self, full: Tensor, base=None) -> Tensor:
        """Return the sample of a tensor whose first dimension is the batch."""
        a = full._a
        t = Tensor.__new__(Tensor)
        t._a = DeviceArray(SAMPLE, Memory(self, full), a.shape[1:], a.dtype, a.strides[1:], 0, base)
        t._node = t._shared = None
        return t

    def full(self, t: Tensor) -> Tensor:
        """Return the tensor of all samples; a tensor of no level is repeated."""
        return t._a.memory.full if self.holds(t) else self.run_outer(repeated, t, self.size)

    def size_of(self, t: Tensor) -> tuple:
        """Return the sizes of a tensor, perhaps symbolic."""
        if self.holds(t):
            return self.sizes(t._a.memory.full)[1:]
        return self.sizes(t)

    # Dispatch.

    def call(self, op: Op, args, params):
        """Run an operator, or return NotImplemented if no argument belongs to this level or an outer one."""
        if not any([self.holds(a) for a in args]):  # noqa: C419  (quicker than a generator)
            if "random" in op.traits:
                return self.drawn(op, args, params)
            return NotImplemented if self.outer is None else self.run_outer(self.outer.call, op, args, params)
        m = tls.m
        autocast = m.autocast
        if autocast is not None and not op.is_view:
            args = autocast.cast(op, args)
        if not op.checked_by_kernel:
            known = params if m.sizes is None else {k: at_hint(v) for k, v in params.items()}
            dispatch.check(op, [a._a if isinstance(a, Tensor) else a for a in args], known)
        m.autocast = None
        try:
            out = self.run(op, args, params)
        finally:
            m.autocast = autocast
        if m.grad and op.vjp is not NO_GRAD and any([isinstance(a, Tensor) and a._node is not None for a in args]):  # noqa: C419
            dispatch.record(op, args, params, out)
        return out

    def run(self, op, args, params):
        """Return the results of all samples, as samples."""
        if op.is_view:
            return self.viewed(op, args[0], params)
        flags = [self.holds(a) for a in args]
        if "random" in op.traits and self.randomness == "error":
            self.refuse_random(op)
        fulls = [a._a.memory.full if held else self.from_outside(a) for a, held in zip(args, flags)]
        alike = "random" in op.traits and self.randomness == "same"
        found = NotImplemented if alike else self.run_outer(at_once, self.size, op, fulls, flags, params)
        if found is NotImplemented and type(op.lower) is Composite:
            return op.lower.body(*[self.bare(a) if held else full for a, full, held in zip(args, fulls, flags)], **params)
        if found is NotImplemented:
            found = self.run_outer(one_by_one, self.size, op, fulls, flags, params)
        return tuple([self.sample(f) for f in found]) if type(found) is tuple else self.sample(found)

    def bare(self, t):
        """Return a sample without its history: the tape holds the operator, not its body."""
        return self.sample(t._a.memory.full, t._a.base) if t._node is not None else t

    def from_outside(self, x):
        """Return a tensor shared by all samples, without history that only the function knows."""
        if not isinstance(x, Tensor) or x._node is None or not self.leaves or not ends_of([x]) <= self.leaves:
            return x
        return x.detach()

    def begins(self, leaf):
        """Record that an inner transform differentiates by `leaf`."""
        self.leaves.add(leaf)
        if self.outer is not None:
            self.outer.begins(leaf)

    def viewed(self, op, x, params):
        """Return a view of a sample, if the batch can be viewed the same way."""
        behind = x._a.memory.full
        full = self.run_outer(self.viewed_at_once, op, behind, params)
        if full._storage is not behind._storage:
            return self.sample(full)
        out = self.sample(full, x._a if x._a.base is None else x._a.base)
        return dispatch.as_view(x, out._a, (x._path, op, params))

    def viewed_at_once(self, op, full, params):
        """Apply the views that do a view operator on all samples."""
        for link, link_params in view_links(self.size, op, shape_of(full)[1:], params):
            full = link(full, **link_params)
        return full

    def drawn(self, op, args, params):
        """Draw random numbers, separate for each sample or shared."""
        if self.randomness == "error":
            self.refuse_random(op)
        if self.randomness == "same" or "shape" not in params:
            return NotImplemented if self.outer is None else self.run_outer(self.outer.call, op, args, params)
        shape = (self.size, *params["shape"])
        return self.sample(self.run_outer(lambda: op(*args, **{**params, "shape": shape})))

    def refuse_random(self, op):
        """Raise with advice on the argument `randomness`."""
        raise AutogradError(f"vmap: {op.name} draws random numbers, and it is not said whether each sample gets its own; pass "
                            "randomness='different' or randomness='same' to vmap")

    # Other operations.

    def user_function(self, cls, ctx, args, separate):
        """Return the results of a user's Function; ctx stores what backward needs."""
        return vmap_custom_functions.run(self, cls, ctx, args, separate)

    def writes(self, dst: Tensor, src) -> bool:
        """Write into the batch behind a sample, if `dst` is one."""
        if not self.holds(dst):
            if self.holds(src):
                raise AutogradError("vmap: a tensor that is one for all samples cannot be written with a value that each "
                                    "sample has its own of; make it from a mapped one, as with x.new_zeros()")
            return self.outer is not None and self.run_outer(self.outer.writes, dst, src)
        full = dst._a.memory.full
        value = src
        if isinstance(src, Tensor) and self.holds(src):
            value = self.run_outer(lifted, src._a.memory.full, dst._a.ndim)
        self.run_outer(writes.write, full, value, "vmap")
        return True

    def detached(self, t: Tensor):
        """Return a sample without its history, at this level and further out, or None for other tensors."""
        if not self.holds(t):
            return None if self.outer is None else self.run_outer(self.outer.detached, t)
        out = self.sample(self.run_outer(t._a.memory.full.detach), t._a.base)
        out._shared = t._storage
        return out


class SampleRecorder:
    """A recorder inside a level of vmap. It reports tensors shared by all samples. Other tensors are reported where their
    batches are made."""

    def __init__(self, recorder):
        self._recorder = recorder
        self.gradients = SampleGradients(recorder.gradients)

    def __getattr__(self, name):
        return getattr(self._recorder, name)

    def read(self, t, how, value):
        if not is_batched(t):
            self._recorder.cut(t, how, value)
        return value

    def detached(self, source, t):
        if not is_batched(t):
            self._recorder.detached(source, t)

    def writing(self, dst, src):
        if not is_batched(dst):
            self._recorder.writing(dst, src)

    def wrote(self, dst, src):
        if not is_batched(dst):
            self._recorder.wrote(dst, src)


class SampleGradients:
    """Gradient events inside a level of vmap, of tensors shared by all samples."""

    def __init__(self, log):
        self._log = log

    def __getattr__(self, name):
        return getattr(self._log, name)

    def hooking(self, t):
        if not is_batched(t):
            self._log.hooking(t)

    def history_read(self, t):
        if not is_batched(t):
            self._log.history_read(t)

    def detaching(self, t):
        if not is_batched(t):
            self._log.detaching(t)

    def requires_grad_changing(self, t):
        if not is_batched(t):
            self._log.requires_grad_changing(t)

    def requires_grad_started(self, t):
        if not is_batched(t):
            self._log.requires_grad_started(t)

    def accessed(self, t, setting):
        if not is_batched(t):
            self._log.accessed(t, setting)

    def taped(self, node, args, out):
        tensors = [out, *args]
        node.traced = tuple([self.saved(t) if saved is not None else None for t, saved in zip(tensors, node.saved)])

    def saved(self, t):
        if type(t) is tuple:
            return tuple(map(self.saved, t))
        return None if is_batched(t) else self._log.saved(t)

    def unpacked(self, t, saved, node, guards):
        if not is_batched(t):
            self._log.unpacked(t, saved, node, guards)


class Backend:
    """The device backend of arrays of samples."""

    @staticmethod
    def run(op, arrays, params):
        """Run an operator on arrays of samples, as tensors."""
        found = op(*[_tensor(a) if hasattr(a, "strides") else a for a in arrays], **params)
        return tuple([t._a for t in found]) if type(found) is tuple else found._a

    @staticmethod
    def key(generator, index):
        """Return None: the level draws keys."""

    @staticmethod
    def gradients(op, goals, args, params):
        """Return None: gradient rules run operator by operator."""

    @staticmethod
    def overwrite(op, out, inputs, params):
        """Return False: the level handles writes."""
        return False

    @staticmethod
    def to_host(a, wait=True):
        """Raise: a sample has no values of its own."""
        raise AutogradError("vmap: the function reads a value that each sample has its own of (item(), a condition of `if` or "
                            "`while`, numpy(), a mask whose number of elements is asked, or a write into a tensor that is one "
                            "for all samples); use where() instead of such a condition")

    @staticmethod
    def filled(shape, dtype, value, index=None):
        """Return an array of one number, shared by all samples."""
        if index is None:
            return np.full(shape, value, dtype)
        return BACKENDS["cuda"].filled(shape, dtype, value, index)

    def converted(self, a, dtype):
        """Return the elements in another dtype."""
        level, full = a.memory.level, a.memory.full
        return level.sample(level.run_outer(full.to, dtype))._a

    def copied(self, a):
        """Return the elements in new memory."""
        level, full = a.memory.level, a.memory.full
        return level.sample(level.run_outer(full.clone))._a


def _tensor(a) -> Tensor:
    t = Tensor.__new__(Tensor)
    t._a, t._node, t._shared = a, None, Storage()
    return t


BACKENDS[SAMPLE] = Backend()


def is_batched(x: Any) -> bool:
    """Return whether a tensor stands for a batch, of any level."""
    return isinstance(x, Tensor) and is_sample(x._a)


def has_outer_history(t: Tensor) -> bool:
    """Return whether the batch behind a sample has a history at an outer level."""
    while is_batched(t):
        t = t._a.memory.full
        if t._node is not None:
            return True
    return False


def over_batch(function, tensors, randomness="same"):
    """Return the results of a function of samples, for tensors whose first dimension is the batch."""
    with Level(shape_of(tensors[0])[0], randomness) as level:
        found = function([level.sample(t) for t in tensors])
    return [None if f is None else level.full(f) for f in found]


def at_once(size, op, args, held, params):
    """Run an operator by its batch rule. If it refuses the batch, raise the error of the first sample that it refuses."""
    try:
        return batched(size, op, args, held, params)
    except IngotError:
        one_by_one(size, op, args, held, params)
        raise


def one_by_one(size, op, args, held, params):
    """Run an operator on every sample and stack the results."""
    each = [op(*[select(a, dim=0, index=i) if has else a for a, has in zip(args, held)], **params) for i in range(size)]
    if type(each[0]) is tuple:
        return tuple([_stacked(column) for column in zip(*each)])
    return _stacked(each)


def _stacked(tensors):
    return cat(*[reshape(t, shape=(1, *shape_of(t))) for t in tensors], dim=0)
