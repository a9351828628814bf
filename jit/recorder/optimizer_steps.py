"""Optimizers that step while a recorder listens."""

from typing import Any

import numpy as np

from ...ir import dtype as dt
from ...ir.opdef.aval import Aval
from ...ir.symbols.symbolic import SymFloat, hint
from ...runtime.core.tensor import Tensor, wrap
from ...runtime.optim.group_options import NUMPY_FLOATS, with_numbers
from ...runtime.optim.step_hooks import step_hooks
from ..guards.state_guards import GroupsGuard, OptimizerGuard, OptionGuard, OptionNumber, StepHooksGuard
from ..proxies.lazy_scalars import ReadNumber
from ..proxies.numpy_scalars import SymScalar, stands_for_number
from ..proxies.thread_overlay import mapped
from .recording import Source

_FLOATS = {float, *NUMPY_FLOATS}        # kinds of options that are read anew


class OptimizerSteps:
    """The part of a recorder that hears of them."""

    makes_state = False         # whether what a state gets belongs to an optimizer that the function makes at each call

    def makes_optimizer(self: Any, optimizer):
        """The function makes an optimizer: it has its options and its state for itself."""
        self.own_optimizers.append(optimizer)
        self.makes_state = True

    def optimizer(self: Any, optimizer):
        """An optimizer is about to step."""
        self.makes_state = self._is_own(optimizer)
        if self.makes_state:
            return
        self.guards += [GroupsGuard(optimizer), OptimizerGuard(optimizer, self.replaced)]

    def steps_between(self: Any, optimizer):
        """An optimizer, perhaps of a class of the user's, is about to step between its hooks."""
        self.makes_state = self._is_own(optimizer)
        self.guards.append(StepHooksGuard(optimizer))
        before, after = step_hooks(optimizer)
        self.meets_hooks(f"a hook of {type(optimizer).__name__}", [*before, *after])

    def _is_own(self: Any, optimizer) -> bool:
        return any(own is optimizer for own in self.own_optimizers)

    def clears(self: Any, optimizer):
        """The gradients of an optimizer's parameters are about to go."""
        if not self._is_own(optimizer):
            self.guards.append(GroupsGuard(optimizer))

    def state_replaced(self: Any, state, name):
        """An entry of an optimizer's state is about to become another one: a write like others if the user's code leads to it,
        which is how its own optimizers keep theirs."""
        if self.contents is None or not self.contents.leads_to(state):
            self.defers = False
            self.runs_as_it_is = (f"its optimizer replaces {name!r} in its state at every step, in Python. Trace the function "
                                  "that gives the loss")
            return
        self.replaced.add((id(state), name))

    def settle_optimizers(self: Any):
        """The run has ended."""
        for guard in self.guards:
            if type(guard) is OptimizerGuard:
                guard.settle()

    def _is_written(self: Any, group, key) -> bool:
        return self.contents is not None and self.contents.is_written(group, key)

    def options(self: Any, group: dict) -> dict:
        """An optimizer's group as its update may read it: the learning rate, and what was seen to change, as 0-d tensors
        that are read anew at every call; everything else guarded."""
        seen = dict(with_numbers(group))
        is_own = any(group is g for own in self.own_optimizers for g in own.param_groups)
        for key, value in group.items():
            if key == "params" or isinstance(value, Tensor):
                continue
            guard = OptionGuard(group, key, value)
            if has_reads(value):
                seen[key] = mapped(value, _as_double)
            elif stands_for_number(value):
                seen[key] = self._computed(value.number if type(value) is SymScalar else value)
            elif is_own or self._is_written(group, key):
                continue
            elif type(value) in _FLOATS and (key == "lr" or guard.place in self.changing):
                seen[key] = self._scalar(OptionNumber(group, key))
            elif type(value) is tuple and guard.place in self.changing:
                seen[key] = tuple([self._scalar(OptionNumber(group, key, i)) for i in range(len(value))])
            else:
                self.guards.append(guard)
        return seen

    def _computed(self: Any, number) -> Tensor:
        """A symbolic number as a 0-d tensor."""
        t = wrap(np.asarray(hint(number), np.float64))
        self.fresh(t, self.fitted(number if type(number) is SymFloat else number * 1.0, Aval((), dt.float64)))
        return t

    def _scalar(self: Any, give) -> Tensor:
        """A Python number that changes from call to call, as a 0-d tensor."""
        t = wrap(np.asarray(give(), np.float64))
        self.enter(t, Source("scalar", give), f"scalar{len(self.sources)}")
        return t


def has_reads(value) -> bool:
    """Whether an option is a number that was read, or holds some."""
    return any(type(v) is ReadNumber for v in (value if type(value) is tuple else (value,)))


def _as_double(x):
    """A number that was read as a tensor of double precision; others as they are."""
    return x.tensor.to(dt.float64) if type(x) is ReadNumber else x
