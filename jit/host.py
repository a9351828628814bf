"""Host functions: Python that a trace calls at every run instead of looking inside.

A host function without results (logging, printing, keeping a history) runs when a call has finished, once what was read into
Python is known to agree with the recording. One that returns tensors runs where it stands; when a new branch is recorded,
it runs once more.
"""

import functools
import itertools
import sys
import types
from contextlib import nullcontext
from weakref import WeakValueDictionary

import numpy as np

from ..ir.ops.host import living_name
from ..ir.substitute import at_hint, bound_values, has_symbols, replaced
from ..ir.symbolic import pinned
from ..runtime.state import tls
from ..runtime.tensor import Tensor, wrap
from .errors import TraceError
from .frames import watch_again
from .read_numbers import known
from .tree import flatten, unflatten

_numbers = itertools.count()
_EMPTY = types.CellType()
_CALLS: WeakValueDictionary = WeakValueDictionary()     # {(id of a function, spec, errors of numpy): what calls it}


def host(fn):
    """Marks a function that a trace runs as it is, on tensors, at every call."""

    @functools.wraps(fn)
    def call(*args, **kwargs):
        recorder = tls.m.recorder
        if recorder is None:
            return fn(*args, **kwargs)
        return record(recorder, fn, args, kwargs)

    return call


def record(recorder, fn, args, kwargs, is_quiet=False):
    """Runs a host function unrecorded, and writes down that it is to run. One that is quiet changes nothing that the function
    could read."""
    tensors: list[Tensor] = []
    for value in _remembered(fn):
        known(value)
    spec = flatten((args, kwargs), tensors)
    watch = recorder.watch
    try:
        with nullcontext() if watch is None else watch.host_step(recorder, (_name(fn), fn, args, kwargs), sys._getframe(1),
                                                                  is_quiet):
            result = recorder.done.take() if recorder.done else paused(fn, at_hint(spec), [t.detach() for t in tensors])
    except Exception:
        recorder.runs_as_it_is = "" if is_quiet else f"its host function {_name(fn)} raised an error"
        raise
    given: list[Tensor] = []
    result_spec = flatten(result, given)
    if watch is not None:
        watch.host_gave(bool(given), len(recorder.hosts) + (not given))
    if not given:
        if result is not None:
            raise TraceError(f"the host function {_name(fn)} returned {type(result).__name__}; inside of a trace it may return "
                             "tensors (or structures of them) or nothing, since Python would only see the first value")
        recorder.host_effect(Step(fn, spec), tensors)
        return None
    spec = replaced(spec, pinned)           # its results may be others for other numbers
    call = _call_of(fn, spec)
    name = living_name(call.__name__, call)
    results = tuple([(t._a.shape, t.dtype.name) for t in given])
    fresh = [wrap(t._a.copy()) for t in given]
    recorder.host_results(tensors, fresh, function=name, results=results)
    return unflatten(result_spec, iter(fresh))


def _call_of(fn, spec):
    """The function of arrays that calls `fn`, with its name for graphs: the same one for each recording with such arguments."""
    warnings = np.geterr()
    key = id(fn), spec, tuple(warnings.items())
    found = _CALLS.get(key)
    if found is None:
        def call(*arrays):
            given = tls.m.given_by_hosts
            with np.errstate(**warnings):
                result = paused(fn, spec, [wrap(a) for a in arrays])
            if given is not None:
                given.append(result)
            return _arrays_of(result)

        call.__name__ = f"{_name(fn)}_{next(_numbers)}"
        found = _CALLS[key] = call
    return found


def _remembered(fn) -> list:
    """What a function holds on to from where it was made."""
    cells = [c.cell_contents for c in getattr(fn, "__closure__", None) or () if c != _EMPTY]
    return [*cells, *(getattr(fn, "__defaults__", None) or ()), *(getattr(fn, "__kwdefaults__", None) or {}).values()]


def _name(fn):
    return getattr(fn, "__name__", type(fn).__name__)


def _arrays_of(result):
    found: list[Tensor] = []
    flatten(result, found)
    return tuple([t.detach()._a for t in found])


class Step:
    """A host function without results, to be called with tensors put into their places."""

    __slots__ = ("fn", "spec")

    def __init__(self, fn, spec):
        self.fn, self.spec = fn, spec

    def run(self, arrays, symbols=()):
        """Calls the function on the values of this run."""
        spec = bound_values(self.spec, symbols) if has_symbols(self.spec) else self.spec
        paused(self.fn, spec, [wrap(a) for a in arrays])


def paused(fn, spec, tensors):
    """Calls `fn` by itself, with what a spec says of tensors."""
    def call():
        args, kwargs = unflatten(spec, iter(tensors))
        return fn(*args, **kwargs)
    return by_itself(call)


def by_itself(call):
    """Calls a function with nothing recorded, neither a trace nor gradients, and unwatched."""
    m = tls.m
    before, watching = (m.recorder, m.grad), sys.getprofile()
    sys.setprofile(None)
    if m.recorder is not None and m.recorder.casts is not None:
        m.recorder.casts.lift()
    m.recorder, m.grad = None, False
    m.refresh()
    try:
        return call()
    finally:
        m.recorder, m.grad = before
        m.refresh()
        watch_again(watching)
