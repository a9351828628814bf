"""Collectives inside traced functions.

A trace makes each collective at every call, between kernels and in the order of the program, on tensors of its own. What it
gives is written to the tensors that the program names, as another operator of the trace. A rank may record while others replay:
the messages are the same.
"""

import functools
import inspect
import itertools
from collections.abc import Callable
from concurrent.futures import Future
from typing import Any, NamedTuple

import numpy as np

from ...api.register.register import FUNCTIONS
from ...autograd.grad_mode import no_grad
from ...core.placement import on_device_of
from ...core.tensor import Tensor, wrap
from ...core.writes import write
from ...state.host_results import outcome_of
from ...state.mode import tls
from ..groups.process_group import Work
from ..groups.world import NON_MEMBER, get_rank, get_world_size, the_group


def traceable(reads=(), writes=()):
    """Let traced functions call a collective. It reads and writes the tensors, or lists of tensors, of some parameters."""

    def decorate(collective):
        bind = inspect.signature(collective).bind

        @functools.wraps(collective)
        def call(*args, **kwargs):
            m = tls.m
            if m.recorder is None and m.done_by_hosts is None:
                return collective(*args, **kwargs)
            return _called(collective, bind(*args, **kwargs).arguments, reads, writes)

        return call

    return decorate


class _Place(NamedTuple):
    """A tensor among the arguments of a collective: the number of the value that it holds before, if that is read."""

    before: int | None
    shape: tuple
    dtype: Any
    device: Any

    def tensor(self, given):
        """Return a tensor to write to."""
        if self.before is not None:
            return FUNCTIONS["clone"](given[self.before])
        return FUNCTIONS["empty"](self.shape, dtype=self.dtype, device=self.device)


def _called(collective, arguments: dict, reads, writes):
    group, name = arguments.get("group"), collective.__name__
    if group is NON_MEMBER:
        return None
    size, rank = get_world_size(group), get_rank(group)         # (a trace holds for these)
    is_async = arguments.pop("async_op", False)
    read = [t for p in reads for t in tensors_of(arguments.get(p))]
    places = {p: [_Place(next((i for i, r in enumerate(read) if r is t), None), tuple(t._a.shape), t.dtype, t.device)
                  for t in tensors_of(arguments.get(p))] for p in writes}
    plain = {p: v for p, v in arguments.items() if p not in reads and p not in writes}
    lists = {p: isinstance(arguments.get(p), (list, tuple)) for p in (*reads, *writes) if arguments.get(p) is not None}
    counts = {p: len(tensors_of(arguments.get(p))) for p in reads}

    def exchange(*given):
        values = iter(given)
        own = {p: [next(values) for _ in range(counts[p])] for p in reads}
        own.update({p: [place.tensor(given) for place in places[p]] for p in writes})
        collective(**plain, **{p: own[p] if is_list else own[p][0] for p, is_list in lists.items()})
        return [t for p in writes for t in own[p]] or [FUNCTIONS["zeros"](1)]

    exchange.__name__ = name
    used = [t._a for p in (*reads, *writes) for t in tensors_of(arguments.get(p))]
    exchange.enters_streams = the_group(group).is_on_devices(*used)      # type: ignore[attr-defined]
    found = done_in_order(exchange, read, (name, size, rank, tuple(tuple(t._a.shape) for t in read)))
    written = [t for p in writes for t in tensors_of(arguments.get(p))]
    with no_grad():
        for t, new in zip(written, found):
            write(t, on_device_of(new, t), name)
    return _done(written) if is_async else None


def done_in_order(function, tensors, key) -> list:
    """Return the tensors that a function of tensors gives. In a trace it runs at every call. `key` tells whether the run in
    place of a replay makes the same call."""
    recorder = tls.m.recorder
    if recorder is not None:
        return recorder.hosts.call(function, tensors, key)
    return outcome_of(key, lambda: function(*[t.detach() for t in tensors]))


def in_background(start, tensors, key, enters_streams) -> Callable[[], list]:
    """Begin a collective, and return the function that waits and gives its results. `start(*arrays)` returns its `Work` and a
    function that gives the arrays of the results, once the work is done. A trace begins and ends it at every call."""
    work = _InBackground(start, enters_streams)
    token = done_in_order(work.start, tensors, ("start", *key))[0]
    return lambda: done_in_order(work.finish, [token, *tensors], key)


class _InBackground:
    """Beginning and end of a collective. A recording keeps it, so it holds no tensors."""

    _numbers = itertools.count()
    _under_way: dict = {}           # number -> what `start` gave

    def __init__(self, start, enters_streams):
        self._start_work, self.enters_streams = start, enters_streams

    def start(self, *given) -> list:
        """Begin, and return a number that stands for the results."""
        number = next(self._numbers)
        self._under_way[number] = self._start_work(*[t._a for t in given])
        return [wrap(np.array(number))]         # (without dims, it may stand beside tensors of any device)

    def finish(self, token, *given) -> list:
        """Return the results, once they are there. The tensors that were given are read until then."""
        work, results = self._under_way.pop(token._a.item())
        work.wait()
        return [wrap(a) for a in results()]


def tensors_of(value) -> list:
    """Return the tensors of an argument: one, a list, or none."""
    return [] if value is None else [value] if isinstance(value, Tensor) else list(value)


def _done(tensors) -> Work:
    future: Future = Future()
    future.set_result(tensors)
    return Work(future)
