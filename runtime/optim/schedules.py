"""Learning rates that change with time."""

import functools
import math
import types
import warnings
from bisect import bisect_right
from collections import Counter

from ...ir.errors import ArgumentError, DTypeError
from ..core.state import tls
from ..core.tensor import Tensor
from .optimizer import Optimizer


def after_the_call(step):
    """Makes a step of a schedule, which only Python does, one that traced functions do at every call."""

    @functools.wraps(step)
    def run(self, *args, **kwargs):
        recorder = tls.m.recorder
        if recorder is None:
            return step(self, *args, **kwargs)
        return recorder.optimizers.schedules.step(self.optimizer, functools.partial(step, self), args, kwargs)

    return run


def set_rate(group, lr):
    """Sets the rate of a group; one that is a tensor stays the same tensor."""
    if isinstance(group["lr"], Tensor):
        group["lr"].fill_(float(lr))
    else:
        group["lr"] = float(lr) if isinstance(lr, Tensor) else lr


def copied(lr):
    """A rate that does not follow the one that an optimizer has."""
    return lr.clone() if isinstance(lr, Tensor) else lr


class MissingRateError(ArgumentError, KeyError):
    """A group of an optimizer that does not say with which rate it began."""

    __str__ = Exception.__str__


class LRScheduler:
    """Base of schedulers: subclasses define get_lr(), the rates of all groups at `last_epoch`, and `_get_closed_form_lr()`, if
    they can say them without those of the epoch before."""

    _is_initial = False                       # whether the first step is under way
    _get_lr_called_within_step = False        # whether a step asks for the rates, or somebody else does

    def __init_subclass__(cls, **kwargs):
        super().__init_subclass__(**kwargs)
        if "step" in cls.__dict__:
            cls.step = after_the_call(cls.__dict__["step"])

    def __init__(self, optimizer, last_epoch=-1):
        if not isinstance(optimizer, Optimizer):
            raise DTypeError(f"a scheduler takes an Optimizer, got {type(optimizer).__name__}")
        self.optimizer = optimizer
        for group in optimizer.param_groups:
            if last_epoch == -1:
                group.setdefault("initial_lr", copied(group["lr"]))
            elif "initial_lr" not in group:
                raise MissingRateError("a scheduler that goes on from last_epoch needs 'initial_lr' in every parameter group")
        self.base_lrs = [copied(group["initial_lr"]) for group in optimizer.param_groups]
        self.last_epoch = last_epoch
        self._watch_steps()
        self._initial_step()

    def _watch_steps(self):
        """Notes whether the optimizer has stepped, to warn of a scheduler that runs ahead."""
        self._stepped = [False]
        seen = self._stepped
        self.optimizer.register_step_post_hook(lambda *_: seen.__setitem__(0, True))

    def _initial_step(self):
        self._step_count = 0
        self._is_initial = True
        try:
            self.step()
        finally:
            self._is_initial = False

    def state_dict(self):
        """Everything but the optimizer."""
        self._is_read()
        return {k: v for k, v in self.__dict__.items() if k not in ("optimizer", "_stepped")}

    def load_state_dict(self, state_dict):
        """Takes over another scheduler's state."""
        self.__dict__.update(state_dict)

    def get_last_lr(self):
        """The rates that were set last; those that are tensors are copies."""
        self._is_read()
        return [copied(lr) for lr in self._last_lr]

    def _is_read(self):
        """A traced function reads what the schedule holds."""
        if tls.m.recorder is not None:
            tls.m.recorder.optimizers.schedules.read(self)

    def get_lr(self):
        """The rates of all groups now; every scheduler defines it."""
        raise NotImplementedError(f"{type(self).__name__} does not define get_lr()")

    @after_the_call
    def step(self, epoch=None):
        """Goes to the next (or the given) epoch and sets the rates."""
        if self._step_count == 1 and not self._stepped[0]:
            warnings.warn("lr_scheduler.step() was called before optimizer.step(); the first rate of the schedule is skipped",
                          stacklevel=2)
        self._step_count += 1
        self._update_lr(epoch)

    def _update_lr(self, epoch=None):
        """Goes to the next (or the given) epoch and sets the rates, as a step that is not counted."""
        self._get_lr_called_within_step = True
        try:
            self.last_epoch = self.last_epoch + 1 if epoch is None else epoch
            closed = None if epoch is None else getattr(self, "_get_closed_form_lr", None)
            values = self.get_lr() if closed is None else closed()
        finally:
            self._get_lr_called_within_step = False
        self._set(values)

    def _set(self, values):
        groups, values = self.optimizer.param_groups, list(values)
        if len(values) != len(groups):
            raise ArgumentError(f"{type(self).__name__} gives {len(values)} rates for {len(groups)} parameter groups")
        for group, lr in zip(groups, values):
            set_rate(group, lr)
        self._last_lr = [group["lr"] for group in groups]

    def _current(self):
        return [group["lr"] for group in self.optimizer.param_groups]

    def _scaled(self, factor):
        """The present rates times a factor."""
        return [lr * factor for lr in self._current()]


def per_group(value, optimizer, what):
    """A list with one entry for each group."""
    n = len(optimizer.param_groups)
    if not isinstance(value, (list, tuple)):
        return [value] * n
    if len(value) != n:
        raise ArgumentError(f"{what} has {len(value)} entries, the optimizer has {n} parameter groups")
    return list(value)


class LambdaLR(LRScheduler):
    """The initial rate times a function of the epoch."""

    def __init__(self, optimizer, lr_lambda, last_epoch=-1):
        self.lr_lambdas = per_group(lr_lambda, optimizer, "lr_lambda")
        super().__init__(optimizer, last_epoch)

    def state_dict(self):
        """Functions are left out; the state of callable objects is kept."""
        state = {k: v for k, v in super().state_dict().items() if k != "lr_lambdas"}
        kept = [None if isinstance(f, types.FunctionType) else dict(f.__dict__) for f in self.lr_lambdas]
        return state | {"lr_lambdas": kept}

    def load_state_dict(self, state_dict):
        """Takes over another scheduler's state; functions stay this one's own."""
        state = dict(state_dict)
        for f, saved in zip(self.lr_lambdas, state.pop("lr_lambdas")):
            if saved is not None:
                f.__dict__.update(saved)
        super().load_state_dict(state)

    def get_lr(self):
        return [base * f(self.last_epoch) for f, base in zip(self.lr_lambdas, self.base_lrs)]


class MultiplicativeLR(LambdaLR):
    """The rate times a function of the epoch, each epoch."""

    def get_lr(self):
        if self._is_initial:
            return self._current()
        return [lr * f(self.last_epoch) for f, lr in zip(self.lr_lambdas, self._current())]


class StepLR(LRScheduler):
    """The rate times gamma every step_size epochs."""

    def __init__(self, optimizer, step_size, gamma=0.1, last_epoch=-1):
        self.step_size, self.gamma = step_size, gamma
        super().__init__(optimizer, last_epoch)

    def get_lr(self):
        if self.last_epoch == 0 or self.last_epoch % self.step_size:
            return self._current()
        return self._scaled(self.gamma)

    def _get_closed_form_lr(self):
        return [base * self.gamma ** (self.last_epoch // self.step_size) for base in self.base_lrs]


class MultiStepLR(LRScheduler):
    """The rate times gamma at each milestone."""

    def __init__(self, optimizer, milestones, gamma=0.1, last_epoch=-1):
        self.milestones, self.gamma = Counter(milestones), gamma
        super().__init__(optimizer, last_epoch)

    def get_lr(self):
        return self._scaled(self.gamma ** self.milestones[self.last_epoch]) if self.last_epoch in self.milestones \
            else self._current()

    def _get_closed_form_lr(self):
        passed = bisect_right(sorted(self.milestones.elements()), self.last_epoch)
        return [base * self.gamma ** passed for base in self.base_lrs]


class ConstantLR(LRScheduler):
    """The rate times a factor for the first epochs."""

    def __init__(self, optimizer, factor=1.0 / 3, total_iters=5, last_epoch=-1):
        if not 0 <= factor <= 1:
            raise ArgumentError(f"factor must be within 0 and 1, got {factor}")
        self.factor, self.total_iters = factor, total_iters
        super().__init__(optimizer, last_epoch)

    def get_lr(self):
        if self.last_epoch == 0:
            return self._scaled(self.factor)
        return self._scaled(1.0 / self.factor) if self.last_epoch == self.total_iters else self._current()

    def _get_closed_form_lr(self):
        return [base * (self.factor + (self.last_epoch >= self.total_iters) * (1 - self.factor)) for base in self.base_lrs]


class LinearLR(LRScheduler):
    """The rate times a factor that goes from start_factor to end_factor in a line."""

    def __init__(self, optimizer, start_factor=1.0 / 3, end_factor=1.0, total_iters=5, last_epoch=-1):
        if not 0 < start_factor <= 1 or not 0 <= end_factor <= 1:
            raise ArgumentError(f"start_factor and end_factor must be within 0 and 1, got {start_factor} and {end_factor}")
        self.start_factor, self.end_factor, self.total_iters = start_factor, end_factor, total_iters
        super().__init__(optimizer, last_epoch)

    def get_lr(self):
        if self.last_epoch == 0:
            return self._scaled(self.start_factor)
        if self._is_initial or self.last_epoch > self.total_iters:
            return self._current()
        span = self.end_factor - self.start_factor
        return self._scaled(1.0 + span / (self.total_iters * self.start_factor + (self.last_epoch - 1) * span))

    def _get_closed_form_lr(self):
        share = min(self.total_iters, self.last_epoch) / self.total_iters
        return [base * (self.start_factor + (self.end_factor - self.start_factor) * share) for base in self.base_lrs]


class ExponentialLR(LRScheduler):
    """The rate times gamma each epoch."""

    def __init__(self, optimizer, gamma, last_epoch=-1):
        self.gamma = gamma
        super().__init__(optimizer, last_epoch)

    def get_lr(self):
        return self._current() if self._is_initial else self._scaled(self.gamma)

    def _get_closed_form_lr(self):
        return [base * self.gamma ** self.last_epoch for base in self.base_lrs]


class PolynomialLR(LRScheduler):
    """The rate times (1 - epoch / total_iters) ** power."""

    def __init__(self, optimizer, total_iters=5, power=1.0, last_epoch=-1):
        self.total_iters, self.power = total_iters, power
        super().__init__(optimizer, last_epoch)

    def get_lr(self):
        if self._is_initial or self.last_epoch > self.total_iters:
            return self._current()
        left = (1.0 - self.last_epoch / self.total_iters) / (1.0 - (self.last_epoch - 1) / self.total_iters)
        return self._scaled(left ** self.power)

    def _get_closed_form_lr(self):
        left = 1.0 - min(self.total_iters, self.last_epoch) / self.total_iters
        return [base * left ** self.power for base in self.base_lrs]


def cosine_between(low, high, share):
    """From high (share 0) to low (share 1) along half a cosine."""
    return low + (high - low) * (1 + math.cos(math.pi * share)) / 2


class CosineAnnealingLR(LRScheduler):
    """From the initial rate down to eta_min along half a cosine of T_max epochs, and up again."""

    def __init__(self, optimizer, T_max, eta_min=0.0, last_epoch=-1):
        self.T_max, self.eta_min = T_max, eta_min
        super().__init__(optimizer, last_epoch)

    def get_lr(self):
        if self._is_initial:
            return self._current()
        if self._step_count == 1 and self.last_epoch > 0:
            return self._get_closed_form_lr()
        if (self.last_epoch - 1 - self.T_max) % (2 * self.T_max) == 0:
            turn = (1 - math.cos(math.pi / self.T_max)) / 2
            return [lr + (base - self.eta_min) * turn for base, lr in zip(self.base_lrs, self._current())]
        now, before = (1 + math.cos(math.pi * e / self.T_max) for e in (self.last_epoch, self.last_epoch - 1))
        ratio = now / before
        return [ratio * (lr - self.eta_min) + self.eta_min for lr in self._current()]

    def _get_closed_form_lr(self):
        return [cosine_between(self.eta_min, base, self.last_epoch / self.T_max) for base in self.base_lrs]
