"""Schedules that follow a measure, and schedules made of others."""

import math
from bisect import bisect_right

from ...ir.errors import ArgumentError, DTypeError
from .optimizer import Optimizer
from .schedules import LRScheduler, per_group, set_rate


class ReduceLROnPlateau(LRScheduler):
    """Lowers the rate when a measure has not improved for some epochs."""

    def __init__(self, optimizer, mode="min", factor=0.1, patience=10, threshold=1e-4, threshold_mode="rel", cooldown=0,
                 min_lr=0, eps=1e-8):
        if factor >= 1.0:
            raise ArgumentError(f"factor must be below 1, got {factor}")
        if mode not in ("min", "max") or threshold_mode not in ("rel", "abs"):
            raise ArgumentError(f"mode is 'min' or 'max' and threshold_mode 'rel' or 'abs', got {mode!r}, {threshold_mode!r}")
        if not isinstance(optimizer, Optimizer):
            raise DTypeError(f"a scheduler takes an Optimizer, got {type(optimizer).__name__}")
        self.optimizer, self.mode, self.factor, self.patience = optimizer, mode, factor, patience
        self.threshold, self.threshold_mode, self.cooldown, self.eps = threshold, threshold_mode, cooldown, eps
        self.min_lrs = per_group(min_lr, optimizer, "min_lr")
        self.last_epoch = 0
        self._last_lr = self._current()
        self._reset()

    def _reset(self):
        self.best = math.inf if self.mode == "min" else -math.inf
        self.cooldown_counter = self.num_bad_epochs = 0

    def is_better(self, a, best):
        """Whether a measure is an improvement."""
        sign = -1 if self.mode == "min" else 1
        if self.threshold_mode == "abs":
            return sign * a > sign * best + self.threshold
        return sign * a > sign * best * (1 + sign * self.threshold)

    @property
    def in_cooldown(self):
        """Whether the rate was lowered a short time ago."""
        return self.cooldown_counter > 0

    def step(self, metrics, epoch=None):
        """Takes the measure of one epoch."""
        current = float(metrics)
        self.last_epoch = self.last_epoch + 1 if epoch is None else epoch
        if self.is_better(current, self.best):
            self.best, self.num_bad_epochs = current, 0
        else:
            self.num_bad_epochs += 1
        if self.in_cooldown:
            self.cooldown_counter -= 1
            self.num_bad_epochs = 0
        if self.num_bad_epochs > self.patience:
            lowered = [max(lr * self.factor, least) for lr, least in zip(self._current(), self.min_lrs)]
            self._set([new if lr - new > self.eps else lr for lr, new in zip(self._current(), lowered)])
            self.cooldown_counter, self.num_bad_epochs = self.cooldown, 0
        self._last_lr = self._current()


def checked_parts(name, optimizer, schedulers) -> list:
    """The schedulers of which one is made, if they can be stepped together."""
    schedulers = list(schedulers)
    if not schedulers:
        raise ArgumentError(f"{name} needs at least one scheduler")
    for s in schedulers:
        if not hasattr(s, "optimizer"):
            raise DTypeError(f"{name} is made of schedulers, got {type(s).__name__}")
        if isinstance(s, ReduceLROnPlateau):
            raise ArgumentError(f"{name} cannot take a ReduceLROnPlateau, whose steps need a measure; step it by itself")
        if s.optimizer is not (schedulers[0].optimizer if optimizer is None else optimizer):
            raise ArgumentError(f"all schedulers of {name} must be for one optimizer")
    return schedulers


def _undo_first_steps(schedulers):
    """Puts schedulers back to the epoch before their first one."""
    for s in schedulers:
        if hasattr(s, "_schedulers"):
            _undo_first_steps(s._schedulers)
        else:
            s.last_epoch -= 1


class SequentialLR(LRScheduler):
    """Several schedulers, one after the other, from milestone to milestone."""

    def __init__(self, optimizer, schedulers, milestones, last_epoch=-1):
        schedulers = checked_parts("SequentialLR", optimizer, schedulers)
        if len(milestones) != len(schedulers) - 1:
            raise ArgumentError(f"SequentialLR takes one milestone less than schedulers, got {len(milestones)} and "
                                f"{len(schedulers)}")
        self.optimizer, self._schedulers, self._milestones = optimizer, schedulers, list(milestones)
        self.last_epoch = last_epoch + 1
        for group in optimizer.param_groups:
            set_rate(group, group["initial_lr"])
        _undo_first_steps(schedulers)
        first = schedulers[bisect_right(self._milestones, 0)]
        first._initial_step()
        self._last_lr = first._last_lr

    def step(self):
        """Steps the scheduler whose turn it is."""
        self.last_epoch += 1
        turn = bisect_right(self._milestones, self.last_epoch)
        scheduler = self._schedulers[turn]
        if turn > 0 and self._milestones[turn - 1] == self.last_epoch:
            scheduler._update_lr(0)
        else:
            scheduler.step()
        self._last_lr = scheduler._last_lr

    def state_dict(self):
        """The state of all schedulers."""
        self._is_read()
        state = {k: v for k, v in self.__dict__.items() if k not in ("optimizer", "_schedulers")}
        return state | {"_schedulers": [s.state_dict() for s in self._schedulers]}

    def load_state_dict(self, state_dict):
        """Takes over another one's state."""
        state = dict(state_dict)
        for scheduler, saved in zip(self._schedulers, state.pop("_schedulers")):
            scheduler.load_state_dict(saved)
        self.__dict__.update(state)


class ChainedScheduler(LRScheduler):
    """Several schedulers at once: each changes what the one before has set."""

    def __init__(self, schedulers, optimizer=None):
        schedulers = checked_parts("ChainedScheduler", optimizer, schedulers)
        optimizer = schedulers[0].optimizer
        self.optimizer, self._schedulers = optimizer, schedulers
        self._last_lr = self._current()

    def step(self):
        """Steps all."""
        for scheduler in self._schedulers:
            scheduler.step()
        self._last_lr = self._current()

    state_dict = SequentialLR.state_dict
    load_state_dict = SequentialLR.load_state_dict
