"""Averages of gradients over processes, overlapped with backward.

Parameters are grouped in buckets, in the likely order of their gradients. A full bucket is reduced in the background, in the
same order on every process. With the last gradient, backward waits for pending buckets and writes the averages.
"""

import weakref
from collections.abc import Callable
from typing import Any

import numpy as np

from ....ir.errors import ArgumentError, AutogradError
from ...api.register.register import FUNCTIONS
from ...autograd.grad_mode import no_grad
from ...core.device_array import DeviceArray, zeros_on_device_of
from ...core.node import Leaf, Output
from ...core.placement import on_device_of
from ...core.tensor import Tensor, wrap
from ...core.writes import write
from ...distributed.collectives.traceable import done_in_order, in_background
from ...distributed.engines.reduce_op import ReduceOp
from ...distributed.groups.futures import Future
from ...distributed.stores.distributed_errors import DistError
from ...distributed.training.grad_bucket import GradBucket
from ...state.mode import tls

FIRST_BUCKET_BYTES = 1 << 20
_OPEN = ("it calls a DistributedDataParallel, and leaves the average of gradients to a backward outside; call backward in it,"
         " or the module under no_grad")


class Bucket:
    """Parameters whose gradients are reduced together."""

    def __init__(self, numbers, params):
        self.numbers, self.params = numbers, params
        self.sizes = [p._a.size for p in params]

    def flat(self) -> Tensor:
        """Return all gradients concatenated, with zeros for absent ones."""
        for p in self.params:
            if p.grad is not None and p.grad.is_sparse:
                p.grad = p.grad.to_dense()
        grads = [zeros_like(p) if p.grad is None else p.grad for p in self.params]
        if grads[0]._a.__class__ is DeviceArray or tls.m.recorder is not None:
            return FUNCTIONS["cat"]([g.detach().reshape(-1) for g in grads])
        return wrap(np.concatenate([g._a.reshape(-1) for g in grads]))

    def zeros(self) -> Tensor:
        """Return the contribution of a process without gradients."""
        return zeros_like(self.params[0], (sum(self.sizes),))

    def put(self, flat, used):
        """Write averages into the gradients of parameters that some process used."""
        flat = flat.detach().to(self.params[0].dtype)
        with no_grad():
            for p, piece, is_used in zip(self.params, self._pieces(flat), used):
                if not is_used:
                    continue
                if p.grad is None:
                    p.grad = FUNCTIONS["clone"](piece)
                else:
                    write(p.grad, piece, "DistributedDataParallel")

    def _pieces(self, flat) -> list:
        if flat._a.__class__ is DeviceArray or tls.m.recorder is not None:
            return [piece.reshape(p.shape) for piece, p in zip(flat.split(self.sizes), self.params)]
        parts = np.split(flat._a.reshape(-1), np.cumsum(self.sizes)[:-1])
        return [wrap(part.reshape(p._a.shape)) for part, p in zip(parts, self.params)]


def zeros_like(p, shape=None) -> Tensor:
    """Return zeros of a parameter's dtype on its device."""
    return wrap(zeros_on_device_of(p._a, shape))


def _kind(p):
    return p.dtype, p.device


def make_buckets(params, cap: int) -> list:
    """Return buckets of about `cap` bytes, each of one dtype and device, from the last parameter to the first. The first is
    small."""
    found, limit = [], min(cap, FIRST_BUCKET_BYTES)
    numbers: list = []
    size = 0
    for i in reversed(range(len(params))):
        if numbers and (size >= limit or _kind(params[i]) != _kind(params[numbers[-1]])):
            found.append(Bucket(numbers, [params[k] for k in numbers]))
            numbers, size, limit = [], 0, cap
        numbers.append(i)
        size += params[i]._a.nbytes
    return [*found, Bucket(numbers, [params[k] for k in numbers])] if numbers else found


def tensors_in(value) -> list:
    """Return every tensor in nested lists, tuples and dicts."""
    if isinstance(value, Tensor):
        return [value]
    if isinstance(value, dict):
        value = value.values()
    elif not isinstance(value, (tuple, list)):
        return [t for t in vars(value).values() if isinstance(t, Tensor)] if hasattr(value, "__dataclass_fields__") else []
    return [t for v in value for t in tensors_in(v)]


def reachable_leaves(outputs) -> set:
    """Return the leaves that backward from any output reaches."""
    stack = [t._node for t in outputs if t._node is not None]
    seen = set()
    while stack:
        node = stack.pop()
        node = node.source if type(node) is Output else node
        if node in seen:
            continue
        seen.add(node)
        if type(node) is not Leaf:
            stack += [e for e in node.edges if e is not None]
    return {n for n in seen if type(n) is Leaf}


def start_average(group, divisor: int, flat) -> Callable[[], list]:
    """Begin to average a flat gradient over processes, and return the function that waits for it."""
    note = f"gradients of {flat._a.size} {flat.dtype.np.name}"

    def start(a):
        channel = group.channel_of(a)
        mine = channel.operand(a)
        out = channel.empty(mine.shape, mine.dtype)
        return group.run(lambda: channel.average(mine, divisor, note, out), True, channel), lambda: [out]

    return in_background(start, [flat], (note, divisor), group.is_on_devices(flat._a))


def _remove(handles):
    for handle in handles:
        handle.remove()


_REDUCERS: weakref.WeakSet = weakref.WeakSet()


class Reducer:
    """The reduction of gradients during backward passes. Parameters do not keep it: its hooks go with it."""

    def __init__(self, named_params, group, cap: int):
        self.names = [n for n, _ in named_params]
        self.params = [p for _, p in named_params]
        self.group = group
        self.buckets = make_buckets(self.params, cap)
        self.active = False             # between a forward that needs averages and the end of its backward
        self.is_cut_off = False         # whether a forward of a later reducer came before the end of its backward
        self.detects_unused = False
        self.hook: Any = None           # (state, function) that replaces the average
        self.divisor = group.size()     # divisor of sums over processes
        params = set(map(id, self.params))
        self._earlier = [weakref.ref(r) for r in _REDUCERS if not params.isdisjoint(map(id, r.params))]
        _REDUCERS.add(self)
        handles = [p.register_post_accumulate_grad_hook(self._hook(i)) for i, p in enumerate(self.params)]
        weakref.finalize(self, _remove, handles).atexit = False

    def _hook(self, i):
        here = weakref.ref(self)

        def arrived(_):
            reducer = here()
            if reducer is not None and reducer.active:
                reducer._arrived(i)

        return arrived

    def expect(self, outputs, find_unused: bool):
        """Prepare for the gradients of a finished forward."""
        if self.is_cut_off or (self.active and self.has_started):
            missing = [n for n, arrived in zip(self.names, self.arrived) if not arrived]
            if not missing:
                raise AutogradError("an exception ended the last backward before the processes had finished averaging: make "
                                    "DistributedDataParallel of the module again")
            raise AutogradError(f"the last backward gave no gradient to the parameters {missing}, so the processes could not "
                                "finish averaging. If the loss does not use them, say find_unused_parameters=True, and make "
                                "sure that all of forward's outputs take part in the loss")
        recorder = tls.m.recorder
        if recorder is not None:
            recorder.hosts.leaves_open(_OPEN)
        self._follow_ended()
        self.active, self.detects_unused, self.has_started = True, find_unused, False
        self.arrived = [False] * len(self.params)
        self.used = np.ones(len(self.params), np.int32)
        self.works: list[Any] = []
        if find_unused:
            leaves = reachable_leaves(tensors_in(outputs))
            self.used[:] = [p._node in leaves for p in self.params]

    def _follow_ended(self):
        """Let earlier reducers of these parameters leave the gradients alone, if their group has ended or an exception cut off
        their backward: the exception, or garbage that waits for its collection, may keep one that expects gradients."""
        left = []
        for here in self._earlier:
            reducer = here()
            if reducer is not None and (reducer.group.is_closed or (reducer.active and reducer.has_started)):
                reducer.is_cut_off = not reducer.group.is_closed
                reducer.stop()
            elif reducer is not None:
                left.append(here)
        self._earlier = left

    def stop(self):
        """Leave the next gradients alone."""
        self.active = False

    def _arrived(self, i):
        if self.group.is_closed:
            self.active = False
            raise DistError(f"the group {self.group.group_name!r} was destroyed after a forward of DistributedDataParallel, "
                            "and before its backward; make the module again")
        if not self.has_started:
            self.has_started = True
            self.arrived = [not used for used in self.used]
        self.arrived[i] = True
        while len(self.works) < len(self.buckets) and all(self.arrived[k] for k in self.buckets[len(self.works)].numbers):
            self._launch(self.buckets[len(self.works)])
        if len(self.works) == len(self.buckets):
            self._finish()

    def _launch(self, bucket, flat=None):
        flat = bucket.flat() if flat is None else flat
        if self.hook is not None:
            self._call_hook(bucket, flat)
            return
        average = start_average(self.group, self.divisor, flat)
        self.works.append(lambda: on_device_of(average()[0], flat))

    def _call_hook(self, bucket, flat):
        """Call the user's hook. It starts after the previous one has finished, so communication has one order."""
        if self.works:
            self.works[-1]()
        state, function = self.hook
        with no_grad():
            future = function(state, GradBucket(len(self.works), len(self.buckets), bucket.params, flat))
        if not isinstance(future, Future):
            raise ArgumentError(f"a hook for gradients returns a futures.Future of a tensor, got {type(future).__name__}")

        def result():
            value = future.wait()
            return value[0] if isinstance(value, (list, tuple)) else value

        self.works.append(result)

    def _finish(self):
        used = self.used
        if self.detects_unused:
            used = self._used_anywhere()
        for bucket, result in zip(self.buckets, self.works):
            bucket.put(result(), [used[k] for k in bucket.numbers])
        self.active = False
        if tls.m.recorder is not None:
            tls.m.recorder.hosts.leaves_open(_OPEN, False)

    def follow(self, detects_unused: bool):
        """Take part in the reduction of others, without own gradients."""
        self.works, self.detects_unused, self.used = [], detects_unused, np.zeros(len(self.params), np.int32)
        for bucket in self.buckets:
            self._launch(bucket, bucket.zeros())
        if not detects_unused:
            self.used[:] = 1
        self._finish()

    def _used_anywhere(self):
        group, used = self.group, self.used.copy()

        def exchange():
            found: list = []
            group.run(lambda: found.append(group.channel.all_reduce(used, ReduceOp.MAX, "used parameters")), False)
            return [wrap(found[0])]

        return done_in_order(exchange, [], ("used parameters", used.size))[0].tolist()
