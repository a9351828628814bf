"""Learning rates in cycles, with momentum going the other way."""

import math
from bisect import bisect_left

from ...ir.errors import ArgumentError
from .schedules import LRScheduler, cosine_between, per_group, set_rate


class CosineAnnealingWarmRestarts(LRScheduler):
    """Half cosines of T_0 epochs, each T_mult times as long as the one before."""

    def __init__(self, optimizer, T_0, T_mult=1, eta_min=0.0, last_epoch=-1):
        if T_0 <= 0 or not isinstance(T_0, int) or T_mult < 1 or not isinstance(T_mult, int):
            raise ArgumentError(f"T_0 and T_mult must be integers of at least 1, got {T_0} and {T_mult}")
        self.T_0, self.T_i, self.T_mult, self.eta_min, self.T_cur = T_0, T_0, T_mult, eta_min, last_epoch
        super().__init__(optimizer, last_epoch)

    def get_lr(self):
        return [cosine_between(self.eta_min, base, self.T_cur / self.T_i) for base in self.base_lrs]

    def step(self, epoch=None):
        """Goes to the next epoch, or to any (also fractional) one."""
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
            n = int(math.log(epoch / self.T_0 * (self.T_mult - 1) + 1, self.T_mult))
            self.T_cur = epoch - self.T_0 * (self.T_mult ** n - 1) / (self.T_mult - 1)
            self.T_i = self.T_0 * self.T_mult ** n


def _momentum_name(optimizer):
    """The option that acts as momentum: "momentum", or the first of "betas"."""
    for name in ("momentum", "betas"):
        if name in optimizer.defaults:
            return name
    raise ArgumentError("cycle_momentum needs an optimizer with momentum or betas; pass cycle_momentum=False")


def _set_momentum(group, name, value):
    group[name] = (value, *group["betas"][1:]) if name == "betas" else value


class CyclicLR(LRScheduler):
    """Up and down in a line between base_lr and max_lr, with amplitudes that may shrink."""

    def __init__(self, optimizer, base_lr, max_lr, step_size_up=2000, step_size_down=None, mode="triangular", gamma=1.0,
                 scale_fn=None, scale_mode="cycle", cycle_momentum=True, base_momentum=0.8, max_momentum=0.9, last_epoch=-1):
        if mode not in ("triangular", "triangular2", "exp_range") and scale_fn is None:
            raise ArgumentError(f"mode must be 'triangular', 'triangular2' or 'exp_range', got {mode!r}")
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
        """A scale function is left out."""
        return {k: v for k, v in super().state_dict().items() if k != "scale_fn"}


class OneCycleLR(LRScheduler):
    """One cycle over all steps: up to max_lr, then down far below the first rate."""

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
        """(last step, rate from, rate to, momentum from, momentum to) of each phase, by names in the group."""
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
            return end + (start - end) / 2.0 * (math.cos(math.pi * share) + 1)
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
