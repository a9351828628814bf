"""Learning rate schedules."""

import functools
import math
import types
from bisect import bisect_left, bisect_right
from collections import Counter

from ...ir.draw.tables import described
from ...ir.errors import ArgumentError, DTypeError
from ...ir.suggestions import unknown_choice
from ...ir.symbols.number_functions import cos, log
from ..core.tensor import Tensor
from ..state.messages import warn
from ..state.mode import tls
from ..state.saved_states import saved_state, saved_value
from .optimizer import Optimizer

__all__ = ["ChainedScheduler", "ConstantLR", "CosineAnnealingLR", "CosineAnnealingWarmRestarts", "CyclicLR", "ExponentialLR",
           "LRScheduler", "LambdaLR", "LinearLR", "MultiStepLR", "MultiplicativeLR", "OneCycleLR", "PolynomialLR",
           "ReduceLROnPlateau", "SequentialLR", "StepLR"]


def deferred_when_traced(step):
    """Decorate a step of a schedule, which is pure Python, to run after every call of a traced function."""

    @functools.wraps(step)
    def run(self, *args, **kwargs):
        recorder = tls.m.recorder
        if recorder is None:
            return step(self, *args, **kwargs)
        return recorder.optimizers.schedules.step(self.optimizer, functools.partial(step, self), args, kwargs)

    return run


def set_rate(group, lr):
    """Set the rate of a group; a tensor rate keeps its identity."""
    if isinstance(group["lr"], Tensor):
        group["lr"].fill_(float(lr))
    else:
        group["lr"] = float(lr) if isinstance(lr, Tensor) else lr


def independent_rate(lr):
    """Return a rate independent of the optimizer's."""
    return lr.clone() if isinstance(lr, Tensor) else lr


class MissingRateError(ArgumentError, KeyError):
    """A parameter group has no initial rate."""

    __str__ = Exception.__str__


class LRScheduler:
    """Base of schedules. Subclasses define get_lr(), the rates of all groups at `last_epoch`, and optionally
    `_get_closed_form_lr()`."""

    _is_initial = False                       # whether the first step runs
    _get_lr_called_within_step = False        # whether step() calls get_lr()

    def __init_subclass__(cls, **kwargs):
        super().__init_subclass__(**kwargs)
        if "step" in cls.__dict__:
            cls.step = deferred_when_traced(cls.__dict__["step"])

    def __init__(self, optimizer, last_epoch=-1):
        if not isinstance(optimizer, Optimizer):
            raise DTypeError(f"{type(self).__name__} takes an Optimizer as optimizer, got {type(optimizer).__name__}")
        self.optimizer = optimizer
        for group in optimizer.param_groups:
            if last_epoch == -1:
                group.setdefault("initial_lr", independent_rate(group["lr"]))
            elif "initial_lr" not in group:
                raise MissingRateError("a scheduler that goes on from last_epoch needs 'initial_lr' in every parameter group")
        self.base_lrs = [independent_rate(group["initial_lr"]) for group in optimizer.param_groups]
        self.last_epoch = last_epoch
        self._track_steps()
        self._initial_step()

    def _track_steps(self):
        """Record whether the optimizer has stepped, to warn about wrong order."""
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
        """Return everything but the optimizer."""
        self._is_read()
        return {k: v for k, v in self.__dict__.items() if k not in ("optimizer", "_stepped")}

    def load_state_dict(self, state_dict):
        """Load another scheduler's state."""
        self.__dict__.update(saved_state(self, state_dict))

    def get_last_lr(self):
        """Return the rates that were set last; tensor rates are independent_rate."""
        self._is_read()
        return [independent_rate(lr) for lr in self._last_lr]

    def __repr__(self):
        self._is_read()
        plain = {k: v for k, v in vars(self).items() if not k.startswith("_") and type(v) in (bool, int, float, str, list)}
        return described(self, **plain)

    def _is_read(self):
        """Tell the recorder that a traced function reads the schedule's state."""
        if tls.m.recorder is not None:
            tls.m.recorder.optimizers.schedules.read(self)

    def get_lr(self):
        """Return the current rates of all groups; subclasses define it."""
        raise NotImplementedError(f"{type(self).__name__} does not define get_lr()")

    @deferred_when_traced
    def step(self, epoch=None):
        """Go to the next (or the given) epoch and set the rates."""
        if self._step_count == 1 and not self._stepped[0]:
            warn("lr_scheduler.step() was called before optimizer.step(); the first rate of the schedule is skipped")
        self._step_count += 1
        self._update_lr(epoch)

    def _update_lr(self, epoch=None):
        """Go to the next (or the given) epoch and set the rates, without counting a step."""
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
        return [lr * factor for lr in self._current()]


def per_group(value, optimizer, what):
    """Return a list with one entry for each group."""
    n = len(optimizer.param_groups)
    if not isinstance(value, (list, tuple)):
        return [value] * n
    if len(value) != n:
        raise ArgumentError(f"{what} has {len(value)} entries, the optimizer has {n} parameter groups")
    return list(value)


class LambdaLR(LRScheduler):
    """The initial rate times a function of the epoch.

    Parameters
    ----------
    optimizer : Optimizer
        The optimizer whose rates are set.
    lr_lambda : function of an int, or a list of them
        Factor of the initial rate at an epoch, for all groups or for each.
    last_epoch : int
        Number of the last epoch of a run that goes on; -1 for a new one.

    Examples
    --------
    >>> opt = optim.SGD([nn.Parameter(ingot.ones(1))], lr=1.0)
    >>> schedule = optim.lr_scheduler.LambdaLR(opt, lambda epoch: 0.5 ** epoch)
    >>> rates = []
    >>> for epoch in range(3):
    ...     rates += schedule.get_last_lr()
    ...     opt.step()
    ...     schedule.step()
    >>> [round(rate, 4) for rate in rates]
    [1.0, 0.5, 0.25]
    """

    def __init__(self, optimizer, lr_lambda, last_epoch=-1):
        self.lr_lambdas = per_group(lr_lambda, optimizer, "lr_lambda")
        super().__init__(optimizer, last_epoch)

    def state_dict(self):
        """Return the state without functions; callable objects keep their state."""
        state = {k: v for k, v in super().state_dict().items() if k != "lr_lambdas"}
        states = [None if isinstance(f, types.FunctionType) else dict(f.__dict__) for f in self.lr_lambdas]
        return state | {"lr_lambdas": states}

    def load_state_dict(self, state_dict):
        """Load another scheduler's state; functions stay."""
        state = saved_state(self, state_dict, "lr_lambdas")
        states = saved_value(self, state, "lr_lambdas", list, tuple)
        del state["lr_lambdas"]
        for f, saved in zip(self.lr_lambdas, states):
            if saved is not None:
                f.__dict__.update(saved)
        super().load_state_dict(state)

    def get_lr(self):
        return [base * f(self.last_epoch) for f, base in zip(self.lr_lambdas, self.base_lrs)]


class MultiplicativeLR(LambdaLR):
    """The rate times a function of the epoch, every epoch."""

    def get_lr(self):
        if self._is_initial:
            return self._current()
        return [lr * f(self.last_epoch) for f, lr in zip(self.lr_lambdas, self._current())]


class StepLR(LRScheduler):
    """The rate times gamma every step_size epochs.

    Parameters
    ----------
    optimizer : Optimizer
        The optimizer whose rates are set.
    step_size : int
        Number of epochs between changes.
    gamma : float
        Factor of a change.
    last_epoch : int
        Number of the last epoch of a run that goes on; -1 for a new one.

    Examples
    --------
    >>> opt = optim.SGD([nn.Parameter(ingot.ones(1))], lr=1.0)
    >>> schedule = optim.lr_scheduler.StepLR(opt, step_size=2)
    >>> rates = []
    >>> for epoch in range(4):
    ...     rates += schedule.get_last_lr()
    ...     opt.step()
    ...     schedule.step()
    >>> [round(rate, 4) for rate in rates]
    [1.0, 1.0, 0.1, 0.1]
    """

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
    """The rate times gamma at each milestone.

    Parameters
    ----------
    optimizer : Optimizer
        The optimizer whose rates are set.
    milestones : list of int
        Epochs of changes, in ascending order.
    gamma : float
        Factor of a change.
    last_epoch : int
        Number of the last epoch of a run that goes on; -1 for a new one.

    Examples
    --------
    >>> opt = optim.SGD([nn.Parameter(ingot.ones(1))], lr=1.0)
    >>> schedule = optim.lr_scheduler.MultiStepLR(opt, [1, 3])
    >>> rates = []
    >>> for epoch in range(4):
    ...     rates += schedule.get_last_lr()
    ...     opt.step()
    ...     schedule.step()
    >>> [round(rate, 4) for rate in rates]
    [1.0, 0.1, 0.1, 0.01]
    """

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
    """The rate times a factor that changes linearly from start_factor to end_factor.

    Parameters
    ----------
    optimizer : Optimizer
        The optimizer whose rates are set.
    start_factor, end_factor : float
        Factors of the initial rate at the first and the last of these epochs.
    total_iters : int
        Number of epochs over which the factor changes.
    last_epoch : int
        Number of the last epoch of a run that goes on; -1 for a new one.

    Examples
    --------
    >>> opt = optim.SGD([nn.Parameter(ingot.ones(1))], lr=1.0)
    >>> schedule = optim.lr_scheduler.LinearLR(opt, start_factor=0.5, total_iters=2)
    >>> rates = []
    >>> for epoch in range(3):
    ...     rates += schedule.get_last_lr()
    ...     opt.step()
    ...     schedule.step()
    >>> [round(rate, 4) for rate in rates]
    [0.5, 0.75, 1.0]
    """

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
    """The rate times gamma each epoch.

    Parameters
    ----------
    optimizer : Optimizer
        The optimizer whose rates are set.
    gamma : float
        Factor of each epoch.
    last_epoch : int
        Number of the last epoch of a run that goes on; -1 for a new one.

    Examples
    --------
    >>> opt = optim.SGD([nn.Parameter(ingot.ones(1))], lr=1.0)
    >>> schedule = optim.lr_scheduler.ExponentialLR(opt, gamma=0.5)
    >>> rates = []
    >>> for epoch in range(3):
    ...     rates += schedule.get_last_lr()
    ...     opt.step()
    ...     schedule.step()
    >>> [round(rate, 4) for rate in rates]
    [1.0, 0.5, 0.25]
    """

    def __init__(self, optimizer, gamma, last_epoch=-1):
        self.gamma = gamma
        super().__init__(optimizer, last_epoch)

    def get_lr(self):
        return self._current() if self._is_initial else self._scaled(self.gamma)

    def _get_closed_form_lr(self):
        return [base * self.gamma ** self.last_epoch for base in self.base_lrs]


class PolynomialLR(LRScheduler):
    """The rate times (1 - epoch / total_iters) ** power.

    Parameters
    ----------
    optimizer : Optimizer
        The optimizer whose rates are set.
    total_iters : int
        Number of epochs until the rate is zero.
    power : float
        Power of the polynomial.
    last_epoch : int
        Number of the last epoch of a run that goes on; -1 for a new one.

    Examples
    --------
    >>> opt = optim.SGD([nn.Parameter(ingot.ones(1))], lr=1.0)
    >>> schedule = optim.lr_scheduler.PolynomialLR(opt, total_iters=2)
    >>> rates = []
    >>> for epoch in range(3):
    ...     rates += schedule.get_last_lr()
    ...     opt.step()
    ...     schedule.step()
    >>> [round(rate, 4) for rate in rates]
    [1.0, 0.5, 0.0]
    """

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
    """Return a value from high (share 0) to low (share 1) on half a cosine."""
    return low + (high - low) * (1 + cos(math.pi * share)) / 2


class CosineAnnealingLR(LRScheduler):
    """Half cosines of T_max epochs from the initial rate down to eta_min and back.

    Parameters
    ----------
    optimizer : Optimizer
        The optimizer whose rates are set.
    T_max : int
        Number of epochs from the initial rate to the least one.
    eta_min : float
        The least rate.
    last_epoch : int
        Number of the last epoch of a run that goes on; -1 for a new one.

    Examples
    --------
    >>> opt = optim.SGD([nn.Parameter(ingot.ones(1))], lr=1.0)
    >>> schedule = optim.lr_scheduler.CosineAnnealingLR(opt, T_max=2)
    >>> rates = []
    >>> for epoch in range(3):
    ...     rates += schedule.get_last_lr()
    ...     opt.step()
    ...     schedule.step()
    >>> [round(rate, 4) for rate in rates]
    [1.0, 0.5, 0.0]
    """

    def __init__(self, optimizer, T_max, eta_min=0.0, last_epoch=-1):
        self.T_max, self.eta_min = T_max, eta_min
        super().__init__(optimizer, last_epoch)

    def get_lr(self):
        if self._is_initial:
            return self._current()
        if self._step_count == 1 and self.last_epoch > 0:
            return self._get_closed_form_lr()
        if (self.last_epoch - 1 - self.T_max) % (2 * self.T_max) == 0:
            turn = (1 - cos(math.pi / self.T_max)) / 2
            return [lr + (base - self.eta_min) * turn for base, lr in zip(self.base_lrs, self._current())]
        now, before = (1 + cos(math.pi * e / self.T_max) for e in (self.last_epoch, self.last_epoch - 1))
        ratio = now / before
        return [ratio * (lr - self.eta_min) + self.eta_min for lr in self._current()]

    def _get_closed_form_lr(self):
        return [cosine_between(self.eta_min, base, self.last_epoch / self.T_max) for base in self.base_lrs]


class ReduceLROnPlateau(LRScheduler):
    """A lower rate after a metric has not improved for some epochs.

    Parameters
    ----------
    optimizer : Optimizer
        The optimizer whose rates are set.
    mode : {"min", "max"}
        Whether a smaller or a larger metric is better.
    factor : float
        Factor of a change.
    patience : int
        Number of epochs without improvement that are borne.
    threshold, threshold_mode : float, {"rel", "abs"}
        Least improvement, as a share of the best metric or as a number.
    cooldown : int
        Number of epochs behind a change in which none is counted.
    min_lr : float or list
        The least rate, for all groups or for each.
    eps : float
        Smaller changes of the rate are not made.

    Examples
    --------
    >>> opt = optim.SGD([nn.Parameter(ingot.ones(1))], lr=1.0)
    >>> schedule = optim.lr_scheduler.ReduceLROnPlateau(opt, patience=1)
    >>> for loss in (1.0, 1.0, 1.0):
    ...     schedule.step(loss)
    >>> schedule.get_last_lr()
    [0.1]
    """

    def __init__(self, optimizer, mode="min", factor=0.1, patience=10, threshold=1e-4, threshold_mode="rel", cooldown=0,
                 min_lr=0, eps=1e-8):
        if factor >= 1.0:
            raise ArgumentError(f"factor must be below 1, got {factor}")
        if mode not in ("min", "max") or threshold_mode not in ("rel", "abs"):
            raise ArgumentError(f"mode is 'min' or 'max' and threshold_mode 'rel' or 'abs', got {mode!r}, {threshold_mode!r}")
        if not isinstance(optimizer, Optimizer):
            raise DTypeError(f"{type(self).__name__} takes an Optimizer as optimizer, got {type(optimizer).__name__}")
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
        """Return whether a metric is an improvement."""
        sign = -1 if self.mode == "min" else 1
        if self.threshold_mode == "abs":
            return sign * a > sign * best + self.threshold
        return sign * a > sign * best * (1 + sign * self.threshold)

    @property
    def in_cooldown(self):
        """Return whether the rate was lowered less than `cooldown` epochs ago."""
        return self.cooldown_counter > 0

    def step(self, metrics, epoch=None):
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


def check_schedulers(name, optimizer, schedulers) -> list:
    """Return the schedulers, if they can be combined."""
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
    for s in schedulers:
        if hasattr(s, "_schedulers"):
            _undo_first_steps(s._schedulers)
        else:
            s.last_epoch -= 1


class SequentialLR(LRScheduler):
    """Several schedulers in sequence, from milestone to milestone.

    Parameters
    ----------
    optimizer : Optimizer
        The optimizer whose rates are set.
    schedulers : list of LRScheduler
        Schedules, in order.
    milestones : list of int
        Epochs at which the next one begins; one fewer than schedules.
    last_epoch : int
        Number of the last epoch of a run that goes on; -1 for a new one.

    Examples
    --------
    >>> opt = optim.SGD([nn.Parameter(ingot.ones(1))], lr=1.0)
    >>> warm = optim.lr_scheduler.ConstantLR(opt, factor=0.5, total_iters=2)
    >>> decay = optim.lr_scheduler.ExponentialLR(opt, gamma=0.5)
    >>> schedule = optim.lr_scheduler.SequentialLR(opt, [warm, decay], milestones=[2])
    >>> rates = []
    >>> for epoch in range(4):
    ...     rates += schedule.get_last_lr()
    ...     opt.step()
    ...     schedule.step()
    >>> rates
    [0.5, 0.5, 1.0, 0.5]
    """

    def __init__(self, optimizer, schedulers, milestones, last_epoch=-1):
        schedulers = check_schedulers("SequentialLR", optimizer, schedulers)
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
        """Step the active scheduler."""
        self.last_epoch += 1
        turn = bisect_right(self._milestones, self.last_epoch)
        scheduler = self._schedulers[turn]
        if turn > 0 and self._milestones[turn - 1] == self.last_epoch:
            scheduler._update_lr(0)
        else:
            scheduler.step()
        self._last_lr = scheduler._last_lr

    def state_dict(self):
        self._is_read()
        state = {k: v for k, v in self.__dict__.items() if k not in ("optimizer", "_schedulers")}
        return state | {"_schedulers": [s.state_dict() for s in self._schedulers]}

    def load_state_dict(self, state_dict):
        """Load another scheduler's state."""
        state = saved_state(self, state_dict, "_schedulers")
        states = saved_value(self, state, "_schedulers", list, tuple)
        del state["_schedulers"]
        for scheduler, saved in zip(self._schedulers, states):
            scheduler.load_state_dict(saved)
        self.__dict__.update(state)


class ChainedScheduler(LRScheduler):
    """Several schedulers at once, each applied to the result of the one before."""

    def __init__(self, schedulers, optimizer=None):
        schedulers = check_schedulers("ChainedScheduler", optimizer, schedulers)
        optimizer = schedulers[0].optimizer
        self.optimizer, self._schedulers = optimizer, schedulers
        self._last_lr = self._current()

    def step(self):
        for scheduler in self._schedulers:
            scheduler.step()
        self._last_lr = self._current()

    state_dict = SequentialLR.state_dict
    load_state_dict = SequentialLR.load_state_dict


class CosineAnnealingWarmRestarts(LRScheduler):
    """Half cosines of T_0 epochs, each T_mult times as long as the one before.

    Parameters
    ----------
    optimizer : Optimizer
        The optimizer whose rates are set.
    T_0 : int
        Number of epochs of the first half cosine.
    T_mult : int
        Factor of this number from one to the next.
    eta_min : float
        The least rate.
    last_epoch : int
        Number of the last epoch of a run that goes on; -1 for a new one.

    Examples
    --------
    >>> opt = optim.SGD([nn.Parameter(ingot.ones(1))], lr=1.0)
    >>> schedule = optim.lr_scheduler.CosineAnnealingWarmRestarts(opt, T_0=2)
    >>> rates = []
    >>> for epoch in range(4):
    ...     rates += schedule.get_last_lr()
    ...     opt.step()
    ...     schedule.step()
    >>> [round(rate, 4) for rate in rates]
    [1.0, 0.5, 1.0, 0.5]
    """

    def __init__(self, optimizer, T_0, T_mult=1, eta_min=0.0, last_epoch=-1):
        if T_0 <= 0 or not isinstance(T_0, int) or T_mult < 1 or not isinstance(T_mult, int):
            raise ArgumentError(f"T_0 and T_mult must be integers of at least 1, got {T_0} and {T_mult}")
        self.T_0, self.T_i, self.T_mult, self.eta_min, self.T_cur = T_0, T_0, T_mult, eta_min, last_epoch
        super().__init__(optimizer, last_epoch)

    def get_lr(self):
        return [cosine_between(self.eta_min, base, self.T_cur / self.T_i) for base in self.base_lrs]

    def step(self, epoch=None):
        """Go to the next epoch, or to a given one, also fractional."""
        if epoch is None and self.last_epoch < 0:
            epoch = 0
        if epoch is None:
            epoch = self.last_epoch + 1
            self.T_cur += 1
            if self.T_cur >= self.T_i:
                self.T_cur %= self.T_i
                self.T_i *= self.T_mult
        elif epoch < 0:
            raise ArgumentError(f"epoch must be at least 0, got {epoch}")
        else:
            self._jump(epoch)
        self._step_count += 1
        self.last_epoch = math.floor(epoch)
        self._set(self.get_lr())

    def _jump(self, epoch):
        if epoch < self.T_0:
            self.T_i, self.T_cur = self.T_0, epoch
        elif self.T_mult == 1:
            self.T_i, self.T_cur = self.T_0, epoch % self.T_0
        else:
            n = int(log(epoch / self.T_0 * (self.T_mult - 1) + 1, self.T_mult))
            self.T_cur = epoch - self.T_0 * (self.T_mult ** n - 1) / (self.T_mult - 1)
            self.T_i = self.T_0 * self.T_mult ** n


def _momentum_name(optimizer):
    """Return the option that acts as momentum: "momentum", or the first of "betas"."""
    for name in ("momentum", "betas"):
        if name in optimizer.defaults:
            return name
    raise ArgumentError("cycle_momentum needs an optimizer with momentum or betas; pass cycle_momentum=False")


def _set_momentum(group, name, value):
    group[name] = (value, *group["betas"][1:]) if name == "betas" else value


class CyclicLR(LRScheduler):
    """Linear cycles between base_lr and max_lr, with optionally shrinking amplitude."""

    def __init__(self, optimizer, base_lr, max_lr, step_size_up=2000, step_size_down=None, mode="triangular", gamma=1.0,
                 scale_fn=None, scale_mode="cycle", cycle_momentum=True, base_momentum=0.8, max_momentum=0.9, last_epoch=-1):
        if mode not in ("triangular", "triangular2", "exp_range") and scale_fn is None:
            raise unknown_choice("mode", mode, ("triangular", "triangular2", "exp_range"))
        self.max_lrs = per_group(max_lr, optimizer, "max_lr")
        self.mode, self.gamma, self.scale_fn, self.scale_mode = mode, gamma, scale_fn, scale_mode
        self.total_size = float(step_size_up) + float(step_size_up if step_size_down is None else step_size_down)
        self.step_ratio = float(step_size_up) / self.total_size
        self.cycle_momentum = cycle_momentum
        lows = per_group(base_lr, optimizer, "base_lr")
        for group, lr in zip(optimizer.param_groups, lows):
            if last_epoch == -1:
                set_rate(group, lr)
        if cycle_momentum:
            self._name = _momentum_name(optimizer)
            self.base_momentums = per_group(base_momentum, optimizer, "base_momentum")
            self.max_momentums = per_group(max_momentum, optimizer, "max_momentum")
            for group, low, high in zip(optimizer.param_groups, self.base_momentums, self.max_momentums):
                _set_momentum(group, self._name, high)
                group["base_momentum"], group["max_momentum"] = low, high
        super().__init__(optimizer, last_epoch)
        self.base_lrs = lows

    def _scale(self, cycle):
        if self.scale_fn is not None:
            return self.scale_fn(cycle if self.scale_mode == "cycle" else self.last_epoch)
        if self.mode == "exp_range":
            return self.gamma ** self.last_epoch
        return 1.0 if self.mode == "triangular" else 1 / 2.0 ** (cycle - 1)

    def get_lr(self):
        cycle = math.floor(1 + self.last_epoch / self.total_size)
        x = 1.0 + self.last_epoch / self.total_size - cycle
        share = x / self.step_ratio if x <= self.step_ratio else (x - 1) / (self.step_ratio - 1)
        height = share * self._scale(cycle)
        if self.cycle_momentum:
            for group, low, high in zip(self.optimizer.param_groups, self.base_momentums, self.max_momentums):
                _set_momentum(group, self._name, high - (high - low) * height)
        return [low + (high - low) * height for low, high in zip(self.base_lrs, self.max_lrs)]

    def state_dict(self):
        """Return the state without a scale function."""
        return {k: v for k, v in super().state_dict().items() if k != "scale_fn"}


class OneCycleLR(LRScheduler):
    """One cycle over all steps: up to max_lr, then far below the initial rate.

    Parameters
    ----------
    optimizer : Optimizer
        The optimizer whose rates are set.
    max_lr : float or list
        The largest rate, for all groups or for each.
    total_steps, epochs, steps_per_epoch : int, optional
        Number of steps of the cycle, or epochs and steps in each.
    pct_start : float
        Share of steps in which the rate goes up.
    anneal_strategy : {"cos", "linear"}
        Form of the curve.
    cycle_momentum, base_momentum, max_momentum : bool, float, float
        Whether momentum moves in the other direction, and between which values.
    div_factor, final_div_factor : float
        The cycle starts at max_lr / div_factor, and ends at that over `final_div_factor`.
    three_phase : bool
        Whether the rate first comes down as it went up, and then to its end.
    last_epoch : int
        Number of the last epoch of a run that goes on; -1 for a new one.

    Examples
    --------
    >>> opt = optim.SGD([nn.Parameter(ingot.ones(1))], lr=1.0, momentum=0.9)
    >>> schedule = optim.lr_scheduler.OneCycleLR(opt, max_lr=1.0, total_steps=10)
    >>> round(schedule.get_last_lr()[0], 4)
    0.04
    """

    def __init__(self, optimizer, max_lr, total_steps=None, epochs=None, steps_per_epoch=None, pct_start=0.3,
                 anneal_strategy="cos", cycle_momentum=True, base_momentum=0.85, max_momentum=0.95, div_factor=25.0,
                 final_div_factor=1e4, three_phase=False, last_epoch=-1):
        if total_steps is None and (epochs is None or steps_per_epoch is None):
            raise ArgumentError("OneCycleLR needs total_steps, or epochs and steps_per_epoch")
        if not 0 <= pct_start <= 1 or anneal_strategy not in ("cos", "linear"):
            raise ArgumentError(f"pct_start must be within 0 and 1 and anneal_strategy 'cos' or 'linear', got {pct_start} and "
                                f"{anneal_strategy!r}")
        self.total_steps = epochs * steps_per_epoch if total_steps is None else total_steps
        if not isinstance(self.total_steps, int) or self.total_steps <= 0:
            raise ArgumentError(f"total_steps must be a positive integer, got {self.total_steps}")
        self._strategy = anneal_strategy
        self._phases = self._plan(pct_start, three_phase)
        self.cycle_momentum = cycle_momentum
        self._prepare(optimizer, max_lr, div_factor, final_div_factor, base_momentum, max_momentum, last_epoch)
        super().__init__(optimizer, last_epoch)

    def _plan(self, pct_start, three_phase):
        """Return (last step, rate from, rate to, momentum from, momentum to) of each phase, as option names."""
        up, end = float(pct_start * self.total_steps) - 1, self.total_steps - 1
        rise = (up, "initial_lr", "max_lr", "max_momentum", "base_momentum")
        if not three_phase:
            return [rise, (end, "max_lr", "min_lr", "base_momentum", "max_momentum")]
        return [rise, (2 * pct_start * self.total_steps - 2, "max_lr", "initial_lr", "base_momentum", "max_momentum"),
                (end, "initial_lr", "min_lr", "max_momentum", "max_momentum")]

    def _prepare(self, optimizer, max_lr, div_factor, final_div_factor, base_momentum, max_momentum, last_epoch):
        if self.cycle_momentum:
            self._name = _momentum_name(optimizer)
            lows = per_group(base_momentum, optimizer, "base_momentum")
            highs = per_group(max_momentum, optimizer, "max_momentum")
        if last_epoch != -1:
            return
        for i, (group, high) in enumerate(zip(optimizer.param_groups, per_group(max_lr, optimizer, "max_lr"))):
            group["initial_lr"], group["max_lr"] = high / div_factor, high
            group["min_lr"] = group["initial_lr"] / final_div_factor
            if self.cycle_momentum:
                _set_momentum(group, self._name, highs[i])
                group["max_momentum"], group["base_momentum"] = highs[i], lows[i]

    def _between(self, start, end, share):
        if self._strategy == "cos":
            return end + (start - end) / 2.0 * (cos(math.pi * share) + 1)
        return (end - start) * share + start

    def get_lr(self):
        step = self.last_epoch
        if step > self.total_steps:
            raise ArgumentError(f"OneCycleLR was made for {self.total_steps} steps and is asked for step {step}")
        ends = [last for last, *_ in self._phases]
        phase = min(bisect_left(ends, step), len(ends) - 1)
        start = ends[phase - 1] if phase else 0.0
        share = (step - start) / (ends[phase] - start)
        _, lr_from, lr_to, momentum_from, momentum_to = self._phases[phase]
        if self.cycle_momentum:
            for group in self.optimizer.param_groups:
                _set_momentum(group, self._name, self._between(group[momentum_from], group[momentum_to], share))
        return [self._between(group[lr_from], group[lr_to], share) for group in self.optimizer.param_groups]
