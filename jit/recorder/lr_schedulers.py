"""Learning rate schedules in a recorded function: Python steps them at each call.

Nothing may be written before a call ends, and code may read right after a step what it set. So a step whose numbers are read is
tried: it runs, its writes are recorded and undone, and the numbers are results of a host function. At the end of the call the
writes of the trial are applied. A step of which nothing is read runs at the end alone.
"""

import hashlib
from collections import Counter, OrderedDict, defaultdict, deque
from contextlib import nullcontext
from typing import Any

import numpy as np

from ...ir.locks import new_rlock
from ...ir.ops.core.host_call import host_call, living_name
from ...runtime.autograd.grad_mode import no_grad
from ...runtime.core.tensor import Tensor, wrap
from ...runtime.optim.lr_scheduler import LRScheduler
from ..bytecode.reads import VIEWED
from ..bytecode.user_code import is_user_defined
from ..guards.arg_pytree import flatten, unflatten
from ..guards.locations import refill
from ..host.host_call import unrecorded
from ..proxies.lazy_scalars import LazyScalar, read_as_tensor
from ..proxies.numpy_scalars import now, stands_for_number
from ..proxies.threads import mapped

_LOCK = new_rlock()
_CONTAINERS = frozenset((list, dict, set, deque, Counter, OrderedDict, defaultdict))
_MOST = 16          # numbers in a list of a schedule that may be read
_WIDE: dict[type, Any] = {float: np.float64, int: np.int64}


class ScheduleLog:
    """Log of learning rate schedules that a run steps or reads."""

    def __init__(self, recorder, optimizers):
        self._recorder, self._optimizers = recorder, optimizers
        self.trials: list = []          # one `Trial` for each step, in order
        self.scheduled: set = set()     # (id of the owner, key) of what schedules set
        self._stored: dict = {}         # the same: (owner, key, value during the recording, plain value)

    def step(self, optimizer, step, args, kwargs):
        if not self._recorder.permits("schedule step") or self._optimizers.is_own(optimizer):
            step(*args, **kwargs)
            return
        scheduler = step.args[0]
        written = {(i, key): value for i, group in enumerate(optimizer.param_groups) for key, value in group.items()
                   if self._optimizers.is_written(group, key) and not self._is_stored(group, key, value)}
        trial = self._record_trial(scheduler, step, args, kwargs, written)
        self._recorder.hosts.steps.append((trial, trial.values))
        if trial.has_more_than_numbers:
            trial.results()

    def read(self, scheduler):
        if self._recorder.permits("schedule read") and not (
                self._optimizers.is_own(scheduler.optimizer) or any(scheduler in t.schedulers for t in self.trials)):
            self._record_trial(scheduler, None, (), {}, {})

    def _is_stored(self, owner, key, value) -> bool:
        found = self._stored.get((id(owner), key))
        return found is not None and found[2] is value

    def _record_trial(self, scheduler, step, args, kwargs, written):
        tensors: list = []
        spec = flatten(mapped((args, kwargs, written), lambda x: read_as_tensor(self._recorder, x)), tensors)
        trial = Trial(self._recorder, scheduler, step, spec, tensors, self.trials)
        contents = self._recorder.contents
        with nullcontext() if contents is None else contents.left_to_host(besides=trial.groups):
            symbols = self._make_plain(trial)
            try:
                trial.record([t.detach() for t in tensors])
            except Exception:
                self._recorder.only_once("a schedule of learning rates raised an error")
                raise
        self.trials.append(trial)
        for owner, key, value in symbols:
            if type(now(value)) is type(owner.get(key)) and now(value) == owner[key]:
                owner[key] = value
        for owner, key, value in trial.proxies():
            self.scheduled.add((id(owner), key))
            self._stored[id(owner), key] = owner, key, value, (owner if type(owner) is dict else vars(owner))[key]
            _put(owner, key, value)
        return trial

    def _make_plain(self, trial) -> list:
        """Replace the proxies of a recording by plain numbers; return those in groups, as (group, key, proxy)."""
        found = []
        for scheduler in trial.schedulers:
            for name, value in vars(scheduler).items():
                if self._is_stored(scheduler, name, value):
                    vars(scheduler)[name] = self._stored[id(scheduler), name][3]
                elif (id(scheduler), name) in VIEWED:
                    setattr(scheduler, name, mapped(value, now) if type(value) in (list, tuple) else value)
                elif mapped(value, now) is not value:
                    vars(scheduler)[name] = mapped(value, now)
        for group in trial.groups:
            for key, value in group.items():
                if mapped(value, now) is not value:
                    found.append((group, key, value))
                    group[key] = mapped(value, now)
        return [(group, key, value) for group, key, value in found if stands_for_number(value)]

    def explains(self, target) -> bool:
        """Return whether a value that a function has written is one that its schedules have."""
        return self._is_stored(target.owner, target.key, target.value())

    def settle(self):
        """Leave plain numbers behind."""
        for owner, key, value, plain in self._stored.values():
            current = (owner if type(owner) is dict else vars(owner)).get(key)
            if current is value or (id(owner), key) in VIEWED or mapped(current, now) is not current:
                _put(owner, key, plain)
        self._stored = {}


def _put(owner, key, value):
    if type(owner) is dict:
        owner[key] = value
    elif (id(owner), key) in VIEWED:
        setattr(owner, key, value)
    else:
        vars(owner)[key] = value


def schedulers_of(scheduler) -> list:
    """Return a schedule and the ones that it consists of."""
    inner = [s for s in getattr(scheduler, "_schedulers", ()) if isinstance(s, LRScheduler)]
    return [scheduler, *[s for i in inner for s in schedulers_of(i)]]


class Snapshot:
    """Snapshot of dictionaries and the containers in them."""

    def __init__(self, owners):
        self.owners = [(owner, dict(owner)) for owner in owners]
        held = {id(v): v for _, items in self.owners for key, v in items.items() if type(v) in _CONTAINERS and key != "params"}
        self._containers = [(c, c.copy()) for c in held.values()]

    def restore(self):
        for container, content in (*self.owners, *self._containers):
            refill(container, content)

    def is_like(self, other) -> bool:
        """Return whether another snapshot has the same content."""
        return (all(map(_have_same_items, [items for _, items in self.owners], [items for _, items in other.owners]))
                and all(c is d and _have_same_items(x, y) for (c, x), (d, y) in zip(self._containers, other._containers))
                and len(self._containers) == len(other._containers))


def _have_same_items(a, b) -> bool:
    """Return whether two containers of one kind hold the same objects, or equal numbers and texts."""
    if type(a) is set:
        return a == b
    if isinstance(a, dict):
        return list(a) == list(b) and all(map(_is_same, a.values(), b.values()))
    return len(a) == len(b) and all(map(_is_same, a, b))


def _is_same(a, b) -> bool:
    return a is b or (type(a) is type(b) and type(a) in (int, float, bool, str, tuple) and (a == b or (a != a and b != b)))


class Trial:
    """A step of a schedule in a recorded call, or a read of it where `step` is None.

    schedulers   the schedule, and the ones that it consists of
    groups       of its optimizer
    values       graph values of the tensors and numbers that it takes
    """

    def __init__(self, recorder, scheduler, step, spec, tensors, earlier):
        self._step, self._spec = step, spec
        self._index = len(earlier)
        self._earlier = earlier[-1] if earlier else None
        self.schedulers, self.groups = schedulers_of(scheduler), scheduler.optimizer.param_groups
        self.values = [recorder.value_of(t) for t in tensors]
        self._recorder, self._results = recorder, None
        self._numbers: list = []             # (number of the owner, key, index or None, kind) of numbers that may be read
        self._known: list = []               # for each group the keys of these
        self._flags: list = []              # (number of the schedule, key, value): flags of user classes
        self._tensors: list = []             # (number of the group, key) of tensor options
        self._recorded_numbers: list = []                # the numbers when the call was recorded
        self._recorded_options: list = []             # the tensors then
        self._owners: Any = None
        self._has_objects = False
        self._result: Any = None             # of the last trial: (snapshot before, bytes of its arguments, snapshot after)

    @property
    def has_more_than_numbers(self) -> bool:
        """Whether it writes options that are tensors, or has attributes that are no numbers and may differ at other calls."""
        return self._step is not None and bool(self._tensors or self._flags)

    @property
    def owners(self) -> list:
        """The dictionaries that it may change; searched again if attributes are objects of user classes."""
        if self._owners is None or self._has_objects:
            self._owners = self._find_owners()
            self._has_objects = len(self._owners) > len(self.schedulers) + len(self.groups)
        return self._owners

    def _find_owners(self) -> list:
        found = [*[vars(s) for s in self.schedulers], *self.groups]
        for s in self.schedulers:
            inner = [v for held in vars(s).values() for v in (held if type(held) in (list, tuple) else (held,))]
            found += [vars(v) for v in inner if is_user_defined(type(v)) and type(getattr(v, "__dict__", None)) is dict
                      and not isinstance(v, (Tensor, LRScheduler, type)) and not callable(getattr(v, "parameters", None))
                      and v is not s.optimizer]
        return list({id(o): o for o in found}.values())

    @property
    def _name(self) -> str:
        """A name for graphs, the same for each recording that reads the same of it."""
        read = repr((self._numbers, self._flags, self._tensors, self._spec))
        return f"schedule_{id(self.schedulers[0]):x}_{self._index}_{hashlib.sha1(read.encode()).hexdigest()}"

    def _all_owners(self) -> list:
        if self._earlier is None:
            return self.owners
        earlier = self._earlier._all_owners()
        return list({id(o): o for o in (*earlier, *self.owners)}.values())

    def record(self, tensors):
        """Step in the recorded call, and remember what may be read of the step."""
        self._tensors = [(i, key) for i, group in enumerate(self.groups) for key, v in group.items() if isinstance(v, Tensor)]
        self._recorded_options, before_step = self._stepped(tensors)
        self._numbers = [(i, key, *at) for i, owner in enumerate(map(vars, self.schedulers)) for key, v in owner.items()
                         for at in _numbers_in(v)]
        first = len(self.schedulers)
        if self._step is not None:
            self._numbers += [(first + i, key, *at) for i, group in enumerate(self.groups) for key, v in group.items()
                              for at in _numbers_in(v)
                              if key == "lr" or not _is_same(v, before_step[i].get(key))]
            self._flags = [(i, key, v) for i, s in enumerate(self.schedulers) if is_user_defined(type(s))
                            for key, v in vars(s).items() if v is None or type(v) in (bool, str)]
        self._known = [{key for i, key, *_ in self._numbers if i == first + n} for n in range(len(self.groups))]
        self._recorded_numbers = [_value_at(self._owner(i), key, at) for i, key, at, _ in self._numbers]

    def _owner(self, i) -> dict:
        n = len(self.schedulers)
        return vars(self.schedulers[i]) if i < n else self.groups[i - n]

    def _stepped(self, tensors):
        """Step on copies of tensor options; return (the copies, the groups before the step)."""
        return unrecorded(lambda: self._steps(tensors))

    def _steps(self, tensors) -> tuple:
        args, kwargs, written = unflatten(self._spec, iter(tensors))
        for (i, key), value in written.items():
            self.groups[i][key] = value
        before_step = [dict(group) for group in self.groups]
        own = {(i, key): self.groups[i][key] for i, key in self._tensors}
        copies = {place: wrap(t._a.copy()) for place, t in own.items()}
        for (i, key), t in copies.items():
            self.groups[i][key] = t
        try:
            if self._step is not None:
                self._step(*args, **kwargs)
        finally:
            found = [self.groups[i][key] for i, key in self._tensors]
            instead = {id(copies[place]): own[place] for place in own}
            for owner in self.owners if own else ():
                for key, v in owner.items():
                    if type(v) is list and key != "params" and any(id(x) in instead for x in v):
                        v[:] = [instead.get(id(x), x) for x in v]
                    elif id(v) in instead:
                        owner[key] = instead[id(v)]
        return found, before_step

    def proxies(self):
        """Yield (owner, key, lazy scalars for the numbers of each call)."""
        parts_of: dict = {}
        for n, ((i, key, at, _), value) in enumerate(zip(self._numbers, self._recorded_numbers)):
            number = LazyScalar(self._recorder, lambda n=n: self.results()[n], value)
            parts_of.setdefault((i, key), []).append((at, number))
        for (i, key), numbers in parts_of.items():
            owner = self.groups[i - len(self.schedulers)] if i >= len(self.schedulers) else self.schedulers[i]
            held = self._owner(i)[key]
            if numbers[0][0] is not None:
                parts = list(held)
                for at, number in numbers:
                    parts[at] = number
                yield owner, key, type(held)(parts)
            else:
                yield owner, key, numbers[0][1]

    def results(self) -> list:
        """Return the tensors that hold the numbers: results of a host call, appended to the graph at the first read."""
        if self._results is None:
            r = self._recorder
            token = [] if self._earlier is None else [r.value_of(self._earlier.results()[-1])]
            options = [self.groups[i][key] for i, key in self._tensors]
            arrays = [*[np.array(v, _WIDE[kind]) for v, (*_, kind) in zip(self._recorded_numbers, self._numbers)],
                      *[t._a for t in self._recorded_options], np.array(True)]
            self._results = [wrap(a.copy()) for a in arrays]
            results = tuple([(t._a.shape, t.dtype.name) for t in self._results])
            name = living_name(self._name, self._numbers_now(bool(token)))
            found = r.builder.append(host_call, [*token, *self.values] or [None], {"function": name, "results": results})
            for t, v in zip(self._results, found):
                r.fresh(t, v)
            r.cut(self._results[-1], "bool", True)
            for t, new in zip(options, self._results[len(self._recorded_numbers):]):
                with no_grad():
                    t.copy_(new)
        return self._results

    def _numbers_now(self, has_token):
        def call(*arrays):
            with _LOCK:
                return self._run_trial(arrays[1:] if has_token else [a for a in arrays if a is not None])
        return call

    def _run_trial(self, arrays) -> tuple:
        """Return the numbers at this call, and whether all else is as it was when recorded."""
        origin = Snapshot(self._all_owners())
        try:
            if self._earlier is not None and self._earlier._result is not None:
                self._earlier._result[2].restore()
            start = origin if self._earlier is None else Snapshot(self.owners)
            options, before_step = self._stepped([wrap(a) for a in arrays])
            found = [_value_at(self._owner(i), key, at) for i, key, at, _ in self._numbers]
            fits = self._fits(found, before_step) and all(isinstance(t, Tensor) for t in options)
            self._result = start, [a.tobytes() for a in arrays], Snapshot(self._all_owners())
        finally:
            origin.restore()
        numbers = [np.array(v if fits else 0, _WIDE[kind]) for v, (*_, kind) in zip(found, self._numbers)]
        return *numbers, *[t._a for t in options], np.array(fits)

    def _fits(self, numbers, before_step) -> bool:
        if not all(isinstance(v, kind) for v, (*_, kind) in zip(numbers, self._numbers)):
            return False
        stayed = all(v is before.get(key) or key in known or _is_same(v, before.get(key))
                     for group, before, known in zip(self.groups, before_step, self._known) for key, v in group.items())
        return stayed and all(_is_same(self._owner(i).get(key), v) for i, key, v in self._flags)

    def run(self, arrays, symbols=()):
        """Apply the step at the end of a call, as a host step."""
        if self._step is None:
            return
        with _LOCK:
            result, self._result = self._result, None
            if result is not None and result[1] == [a.tobytes() for a in arrays] and result[0].is_like(Snapshot(self.owners)):
                result[2].restore()
            else:
                self._stepped([wrap(a) for a in arrays])


def _numbers_in(value):
    """Yield (index or None, kind) of the numbers that a value is or holds."""
    is_list = type(value) in (list, tuple) and len(value) <= _MOST
    for i, v in enumerate(value) if is_list else [(None, value)]:
        if isinstance(v, (float, int)) and type(v) is not bool:
            yield i, float if isinstance(v, float) else int


def _value_at(owner, key, at):
    held = owner.get(key)
    if at is None:
        return held
    return held[at] if type(held) in (list, tuple) and at < len(held) else None
