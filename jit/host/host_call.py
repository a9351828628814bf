"""Host functions: Python that a trace calls at every run instead of tracing it.

A host function without results (logging, printing, a history) runs at the end of a call, after the values that Python read
agree with the recording. One that returns tensors runs in place. If the replay then cannot go on, the run in its place takes
the results, so that no host function is called twice. It receives copies of containers and arrays, with the tensors and numbers
of the call in them. Changes of these copies would be lost.
"""

import functools
import itertools
import sys
import types
from functools import partial

import numpy as np

from ...ir.blocks import block
from ...ir.ops.core.host_call import living_name
from ...ir.process_state import float_errors
from ...ir.symbols.substitute import at_hint, bound_values, has_symbols, replaced
from ...ir.symbols.symbolic import pinned
from ...ir.weak_table import WeakTable
from ...runtime.core.tensor import Tensor, wrap
from ...runtime.state.host_results import Outcome, outcome_of
from ...runtime.state.mode import other_mode, tls
from ..errors.errors import TraceError
from ..guards.arg_pytree import fields_of, flatten, is_structure, unflatten
from ..guards.frames import current_profiler, is_user, restore_profiler, unprofiled
from ..guards.held_content import content_of, put_back
from ..proxies.lazy_scalars import forced
from ..proxies.new_objects import BUFFERS

_MOST = 10_000      # objects that are searched
_WHOLE = frozenset((np.ndarray, set, *BUFFERS))        # containers without parts that could be changed


def containers_in(values, most=_MOST) -> list:
    """Return the containers and arrays among values, and in these, that a function could change."""
    found: dict = {}
    stack = [*values]
    while stack and len(found) < most:
        x = stack.pop()
        if id(x) in found or not (isinstance(x, (list, dict, tuple)) or type(x) in _WHOLE or is_structure(x)):
            continue
        found[id(x)] = x
        if type(x) not in _WHOLE:
            stack += x.values() if isinstance(x, dict) else x if isinstance(x, (list, tuple)) else [
                getattr(x, name, None) for name in fields_of(x)]
    return [x for x in found.values() if not isinstance(x, tuple)]


def are_held(containers, frame, outside) -> bool:
    """Return whether variables of running code, up to the code `outside`, hold some containers."""
    wanted = {*map(id, containers)}
    while wanted and frame is not None and frame.f_code is not outside:
        if is_user(frame) and any(id(c) in wanted for c in containers_in(frame.f_locals.values())):
            return True
        frame = frame.f_back
    return False


class HostArguments:
    """Arguments of a host function, compared with those after its call."""

    def __init__(self, args, kwargs):
        self.args, self.kwargs = args, kwargs
        self._tensors: list = []
        self._spec = flatten((args, kwargs), self._tensors)

    def has_changed(self) -> bool:
        found: list = []
        spec = flatten((self.args, self.kwargs), found)
        return spec != self._spec or any(a is not b for a, b in zip(found, self._tensors))


def write_back(original, copy, tensors: dict):
    """Copy changes in copied arguments back, and return the originals; `tensors` are these by the ids of those in the copy."""
    if type(original) is not type(copy):
        return tensors.get(id(copy), copy)
    if type(original) is list:
        more = [tensors.get(id(b), b) for b in copy[len(original):]]
        original[:] = [*[write_back(a, b, tensors) for a, b in zip(original, copy)], *more]
    elif isinstance(original, dict):
        items = {k: write_back(original[k], v, tensors) if k in original else tensors.get(id(v), v) for k, v in copy.items()}
        original.clear()
        original.update(items)
    elif type(original) is np.ndarray:
        original[...] = copy
    elif type(original) in _WHOLE:
        put_back(original, content_of(copy))
    elif isinstance(original, tuple):
        for a, b in zip(original, copy):
            write_back(a, b, tensors)
    elif is_structure(original):
        for name in fields_of(copy):
            object.__setattr__(original, name, write_back(getattr(original, name, None), getattr(copy, name), tensors))
    else:
        return tensors.get(id(copy), copy)
    return original


_numbers = itertools.count()
_EMPTY = types.CellType()
_CALLS = WeakTable()     # {(id of a function, spec, errors of numpy): its caller}


def host(fn):
    """Mark a function that a trace runs as it is, on tensors, at every call."""

    @functools.wraps(fn)
    def call(*args, **kwargs):
        m = tls.m
        if m.recorder is not None:
            return record(m.recorder, fn, args, kwargs)
        if m.done_by_hosts is not None:
            return outcome_of(id(fn), lambda: fn(*args, **kwargs))
        return fn(*args, **kwargs)

    return call


def record(recorder, fn, args, kwargs, is_quiet=False, key=None):
    """Run a host function unrecorded, and record the call. A quiet one changes nothing that the traced function could read.
    `key` tells whether another function makes the same call, by default the function itself."""
    key = id(fn) if key is None else key
    tensors: list[Tensor] = []
    for value in _closed_over(fn):
        forced(value)
    spec = flatten((args, kwargs), tensors)
    log, frame = recorder.tracker.hosts, sys._getframe(1)
    is_mutable = unprofiled(log.may_be_changed, (*args, *kwargs.values()), frame)
    try:
        with log.step(recorder, (_name(fn), fn, args, kwargs), tensors, frame, is_quiet):
            result = recorder.hosts.done.take() if recorder.hosts.done else outcome_of(key, lambda: _first_run(
                recorder, fn, args, kwargs, spec, tensors, is_mutable))
    except Exception:
        recorder.runs_as_it_is = "" if is_quiet else f"its host function {_name(fn)} raised an error; catch it in there"
        raise
    given: list[Tensor] = []
    result_spec = flatten(result, given)
    step = HostStep(fn, spec, is_mutable)
    log.returned(bool(given), len(recorder.hosts.steps) + (not given))
    if not given:
        if result is not None:
            raise TraceError(f"the host function {_name(fn)} returned {type(result).__name__}; inside of a trace it may return "
                             "tensors (or structures of them) or nothing, since Python would only see the first value")
        recorder.hosts.effect(step, tensors)
        return None
    spec = replaced(spec, pinned)           # its results may be others for other numbers
    call = _call_of(fn, spec, is_mutable, key)
    call.makes_results = is_quiet       # ingot's own
    call.enters_streams = is_quiet and getattr(getattr(fn, "__self__", fn), "enters_streams", False)
    name = living_name(call.__name__, call)
    results = tuple([(t._a.shape, t.dtype.name) for t in given])
    known, fresh = [t._a for t in tensors], []
    for t in given:         # (those of ingot's own functions are new memory as a rule)
        known.append(t._a if is_quiet and _is_apart(t._a, known) else t._a.copy())
        fresh.append(wrap(known[-1]))
    recorder.hosts.results(tensors, fresh, function=name, results=results)
    return unflatten(result_spec, iter(fresh))


def repeat(recorder, text, function, args, kwargs):
    """Record that each call calls a function with some operands. The recorded call does so by itself."""
    is_recorded = False

    def act():
        if is_recorded:
            function(*args, **kwargs)

    act.__name__ = text
    record(recorder, act, (), {}, is_quiet=True)
    is_recorded = True


def _is_apart(a, others) -> bool:
    """Return whether an array shares no memory with others."""
    return not any(a is b or (type(a) is type(b) is np.ndarray and np.may_share_memory(a, b)) for b in others)


def _first_run(recorder, fn, args, kwargs, spec, tensors, is_mutable):
    """Call a host function in the recorded call, and write its changes of containers back."""
    if not is_mutable:
        return HostStep(fn, at_hint(spec), False).call([t.detach() for t in tensors], at_hint(spec))
    bare = [t.detach() for t in tensors]

    def call():
        given = HostArguments(*unflatten(at_hint(spec), iter(bare)))
        result = fn(*given.args, **given.kwargs)
        if given.has_changed():
            recorder.runs_as_it_is = (f"its host function {_name(fn)} changes a list, a dictionary or an object that it is "
                                      "given; let it return what is new, as a tensor")
            write_back((args, kwargs), (given.args, given.kwargs), {id(b): t for b, t in zip(bare, tensors)})
        return result

    return unrecorded(call)


def _call_of(fn, spec, is_mutable, key):
    """Return the function of arrays that calls `fn`; recordings with equal arguments share it and its name in graphs."""
    warnings = np.geterr()
    place = id(fn), spec, tuple(warnings.items())
    found = _CALLS.get(place)
    if found is None:
        def call(*arrays):
            given = tls.m.results_of_hosts
            try:
                with float_errors(**warnings):
                    result = outcome_of(key, lambda: HostStep(fn, spec, is_mutable).call([wrap(a) for a in arrays], spec))
            except Exception as error:
                if given is not None:       # an interrupt as well: the run in place of this one raises it here
                    given.append(Outcome(key, None, error))
                raise
            if given is not None:
                given.append(Outcome(key, result))
            return _arrays_of(result)

        call.__name__ = f"{_name(fn)}_{next(_numbers)}"
        found = _CALLS[place] = call
    return found


def _closed_over(fn) -> list:
    cells = [c.cell_contents for c in getattr(fn, "__closure__", None) or () if c != _EMPTY]
    return [*cells, *(getattr(fn, "__defaults__", None) or ()), *(getattr(fn, "__kwdefaults__", None) or {}).values()]


def _name(fn):
    return getattr(fn, "__name__", type(fn).__name__)


def _arrays_of(result):
    found: list[Tensor] = []
    flatten(result, found)
    return tuple([t.detach()._a for t in found])


class HostStep:
    """Call of a host function without results, with the tensors of a run."""

    __slots__ = ("fn", "is_mutable", "lasting", "spec")

    def __init__(self, fn, spec, is_mutable):
        self.fn, self.spec, self.is_mutable = fn, spec, is_mutable
        self.lasting: tuple = ()       # numbers of the tensors that others use, too

    def run(self, arrays, symbols=()):
        spec = bound_values(self.spec, symbols) if has_symbols(self.spec) else self.spec
        tensors = [wrap(a) for a in arrays]
        self.call(tensors, spec)
        if any(tensors[i]._shared is not None and tensors[i]._shared.version for i in self.lasting):
            self._refuse("has written to a tensor that it was given; give it a clone()")

    def call(self, tensors, spec):
        result, has_changed = unrecorded(lambda: self._called(*unflatten(spec, iter(tensors))))
        if has_changed:
            self._refuse("has changed a container, an array or an object that it was given; let it look that up by itself, or "
                         "return what is new as tensors")
        return result

    def _called(self, args, kwargs) -> tuple:
        given = HostArguments(args, kwargs) if self.is_mutable else None
        result = self.fn(*args, **kwargs)
        return result, given is not None and given.has_changed()

    def _refuse(self, what: str):
        raise TraceError(f"the host function {_name(self.fn)} {what} (it did not do so when the call was recorded); "
                         "let it do the same at every call")


def unrecorded(call):
    """Call a function with nothing recorded, neither a trace nor gradients, and no profile events."""
    with _without_profiler(), other_mode(recorder=None, grad=False):
        return call()


@block
def _without_profiler():
    return partial(sys.setprofile, None), partial(restore_profiler, current_profiler())
