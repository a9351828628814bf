"""Optimizer steps of a recording: what becomes a guard, and what becomes an input."""

import numpy as np

from ...ir import dtype as dt
from ...ir.opdef.aval import Aval
from ...ir.symbols.symbolic import SymFloat, hint
from ...runtime.core.tensor import Tensor, wrap
from ...runtime.optim.optimizer import NUMPY_FLOATS, all_hooks, numeric_options
from ..guards.state_guards import (
    GroupsGuard,
    OptimizerGuard,
    OptionGuard,
    OptionNumber,
    optimizer_hooks_guard,
    option_names_guard,
)
from ..proxies.lazy_scalars import LazyScalar
from ..proxies.numpy_scalars import SymScalar, stands_for_number
from ..proxies.threads import mapped
from .lr_schedulers import ScheduleLog
from .recording import Source

_FLOATS = {float, *NUMPY_FLOATS}        # kinds of options that are read anew


class OptimizerLog:
    """Log of the optimizers that a run creates or steps; options become guards or inputs. `changing` holds keys of options that
    were other numbers at earlier calls (`OptionGuard.place`): these become inputs."""

    def __init__(self, recorder, changing=frozenset()):
        self._recorder, self._changing = recorder, changing
        self.schedules = ScheduleLog(recorder, self)
        self.makes_state = False        # whether new state belongs to an optimizer that the function creates at each call
        self._own: list = []            # optimizers that the function creates
        self._replaced: set = set()     # (id of a state, name) of entries that user code replaces

    def created(self, optimizer):
        """The function creates an optimizer, whose options and state it has to itself."""
        self._own.append(optimizer)
        self.makes_state = True

    def step_called(self, optimizer):
        """`step()` was called on an optimizer, perhaps of a user's class; its hooks run around the step."""
        self.makes_state = self.is_own(optimizer)
        self.runs_hooks(optimizer)

    def runs_hooks(self, optimizer):
        """Guard the hooks of an optimizer, some of which are about to run."""
        self._recorder.guards.append(optimizer_hooks_guard(optimizer))
        hooks = [hook for at_event in all_hooks(optimizer) for hook in at_event]
        self._recorder.meets_hooks(f"a hook of {type(optimizer).__name__}", hooks)

    def updating(self, optimizer):
        self.makes_state = self.is_own(optimizer)
        if not self.makes_state:
            self._recorder.guards += [GroupsGuard(optimizer), OptimizerGuard(optimizer, self._replaced)]

    def clearing(self, optimizer):
        if not self.is_own(optimizer):
            self._recorder.guards.append(GroupsGuard(optimizer))

    def state_replaced(self, state, name):
        """An entry of an optimizer's state is about to be replaced. That is a write like others if user code leads to the
        state, as it does to the states of its own optimizers."""
        contents = self._recorder.contents
        if contents is None or not contents.leads_to(state):
            self._recorder.reads.defers = False
            self._recorder.runs_as_it_is = (f"its optimizer replaces {name!r} in its state at every step, in Python. Trace the "
                                            "function that gives the loss")
            return
        self._replaced.add((id(state), name))

    def is_own(self, optimizer) -> bool:
        return any(own is optimizer for own in self._own)

    def is_written(self, group, key) -> bool:
        return self._recorder.contents is not None and self._recorder.contents.is_written(group, key)

    def options(self, group: dict) -> dict:
        """Return a group of options as the update may read it. The learning rate, and options that were seen to change, are 0-d
        tensors that every call reads anew. All else is guarded."""
        seen = dict(numeric_options(group))
        is_own = any(group is g for own in self._own for g in own.param_groups)
        for key, value in group.items():
            if key == "params" or isinstance(value, Tensor):
                continue
            guard = OptionGuard(group, key, value)
            if has_reads(value):
                seen[key] = mapped(value, _as_double)
            elif stands_for_number(value):
                seen[key] = self._computed(value.number if type(value) is SymScalar else value)
            elif is_own or self.is_written(group, key):
                continue
            elif type(value) in _FLOATS and (key == "lr" or guard.place in self._changing):
                seen[key] = self._scalar(OptionNumber(group, key))
            elif type(value) is tuple and guard.place in self._changing:
                seen[key] = tuple([self._scalar(OptionNumber(group, key, i)) for i in range(len(value))])
            else:
                self._recorder.guards.append(guard)
        return seen

    def shown(self, optimizer) -> list:
        """Return the groups of an optimizer as its text and its state dict show them. Rates are read anew by every call, and so
        are numbers that were seen to change. All else is guarded, the states included."""
        self._guard_all_but_options(optimizer)
        return [{key: self._shown_option(group, key, value) for key, value in group.items()}
                for group in optimizer.param_groups]

    def copying(self, optimizer):
        """Guard the state and the options of an optimizer that is copied."""
        self._guard_all_but_options(optimizer)
        for group in optimizer.param_groups:
            self._recorder.guards += [OptionGuard(group, key, value) for key, value in group.items()
                                      if not self._is_known_option(group, key, value)]

    def _guard_all_but_options(self, optimizer):
        if self.is_own(optimizer):
            return
        guards = self._recorder.guards
        if not any(type(guard) is OptimizerGuard and guard.optimizer is optimizer for guard in guards):    # (of a step before)
            guards.append(OptimizerGuard(optimizer, self._replaced))
        guards += [GroupsGuard(optimizer), *[option_names_guard(group) for group in optimizer.param_groups]]

    def _is_known_option(self, group, key, value) -> bool:
        """Return whether an option is a tensor, or what the run has given it."""
        is_own = any(group is g for own in self._own for g in own.param_groups)
        return (is_own or key == "params" or isinstance(value, Tensor) or self.is_written(group, key) or has_reads(value)
                or stands_for_number(value))

    def _shown_option(self, group, key, value):
        if self._is_known_option(group, key, value):
            return value
        guard = OptionGuard(group, key, value)
        if type(value) is float and (key == "lr" or guard.place in self._changing):
            return LazyScalar(self._recorder, self._scalar(OptionNumber(group, key)), value)
        self._recorder.guards.append(guard)
        return value

    def _computed(self, number) -> Tensor:
        t, r = wrap(np.asarray(hint(number), np.float64)), self._recorder
        r.fresh(t, r.fitted(number if type(number) is SymFloat else number * 1.0, Aval((), dt.float64)))
        return t

    def _scalar(self, give) -> Tensor:
        """Return a Python number that changes from call to call as a 0-d tensor."""
        t = wrap(np.asarray(give(), np.float64))
        self._recorder.inputs.enter(t, Source("scalar", give))
        return t

    def settle(self):
        """Settle the guards at the end of the run."""
        for guard in self._recorder.guards:
            if type(guard) is OptimizerGuard:
                guard.settle()


def has_reads(value) -> bool:
    """Return whether an option is a lazy scalar, or holds some."""
    return any(type(v) is LazyScalar for v in (value if type(value) is tuple else (value,)))


def _as_double(x):
    """Return a lazy scalar as a float64 tensor, and other values unchanged."""
    return x.tensor.to(dt.float64) if type(x) is LazyScalar else x
