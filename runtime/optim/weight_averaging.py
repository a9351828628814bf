"""Averages of model parameters: stochastic weight averaging and exponential moving averages."""

import copy
import itertools
import math

from ...ir.errors import ArgumentError
from ...ir.symbols.number_functions import cos
from ..api.register.register import FUNCTIONS
from ..autograd.grad_mode import no_grad
from ..foreach import lists
from ..nn.base.module import Module
from ..nn.layers.norm import _BatchNorm
from ..state.mode import tls
from .lr_scheduler import LRScheduler

__all__ = ["SWALR", "AveragedModel", "get_ema_avg_fn", "get_ema_multi_avg_fn", "get_swa_avg_fn", "get_swa_multi_avg_fn",
           "update_bn"]

PARAM_LIST = list


def _check_decay(decay):
    if not 0.0 <= decay <= 1.0:
        raise ArgumentError(f"Invalid decay value {decay} provided. Please provide a value in [0,1] range.")


def get_ema_avg_fn(decay=0.999):
    """Return an avg_fn for AveragedModel: an exponential moving average."""
    _check_decay(decay)

    def ema_update(ema_param, current_param, num_averaged):
        with no_grad():
            return ema_param * decay + current_param * (1 - decay)

    return ema_update


def get_ema_multi_avg_fn(decay=0.999):
    """Return a multi_avg_fn for AveragedModel: an exponential moving average."""
    _check_decay(decay)

    def ema_update(ema_param_list, current_param_list, num_averaged):
        with no_grad():
            pairs = list(zip(ema_param_list, current_param_list))
            inexact = [(ema, current) for ema, current in pairs if ema.dtype.is_inexact]
            lists.lerp([ema for ema, _ in inexact], [current for _, current in inexact], 1 - decay, "update_parameters")
            for ema, current in pairs:
                if not ema.dtype.is_inexact:
                    ema.copy_(ema * decay + current * (1 - decay))

    return ema_update


def get_swa_avg_fn():
    """Return an avg_fn for AveragedModel: the mean."""

    def swa_update(averaged_param, current_param, num_averaged):
        with no_grad():
            return averaged_param + (current_param - averaged_param) / (num_averaged + 1)

    return swa_update


def get_swa_multi_avg_fn():
    """Return a multi_avg_fn for AveragedModel: the mean."""
    average = get_swa_avg_fn()

    def swa_update(averaged_param_list, current_param_list, num_averaged):
        pairs = list(zip(averaged_param_list, current_param_list))
        with no_grad():
            if num_averaged.is_cpu and tls.m.recorder is None and lists.replace(
                    lists.counts_in, pairs, (int(num_averaged) + 1,), "update_parameters"):
                return
            for averaged, current in pairs:
                averaged.copy_(average(averaged, current, num_averaged))

    return swa_update


class AveragedModel(Module):
    """A copy of a model with averaged parameters; `update_parameters(model)` adds the current ones. The average is the mean,
    avg_fn(averaged, current, number), or multi_avg_fn on lists. Buffers are copied, or averaged with `use_buffers`."""

    def __init__(self, model, device=None, avg_fn=None, multi_avg_fn=None, use_buffers=False):
        super().__init__()
        if avg_fn is not None and multi_avg_fn is not None:
            raise ArgumentError("Only one of avg_fn and multi_avg_fn should be provided")
        self.module = copy.deepcopy(model)
        if device is not None:
            self.module = self.module.to(device)
        self.register_buffer("n_averaged", FUNCTIONS["tensor"](0))
        self.avg_fn, self.multi_avg_fn, self.use_buffers = avg_fn, multi_avg_fn, use_buffers

    def forward(self, *args, **kwargs):
        return self.module(*args, **kwargs)

    def _pairs(self, model):
        def tensors(m):
            return itertools.chain(m.parameters(), m.buffers()) if self.use_buffers else m.parameters()

        mine, theirs = list(tensors(self.module)), list(tensors(model))
        if len(mine) != len(theirs):
            raise ArgumentError(f"update_parameters takes the model that was given first: it has {len(theirs)} tensors, the "
                                f"average has {len(mine)}")
        return mine, [t.detach().to(m.device) for t, m in zip(theirs, mine)]

    def update_parameters(self, model):
        """Add the model's current parameters to the average."""
        mine, theirs = self._pairs(model)
        with no_grad():
            if self.n_averaged == 0:
                for averaged, current in zip(mine, theirs):
                    averaged.copy_(current)
            elif self.avg_fn is not None:
                for averaged, current in zip(mine, theirs):
                    averaged.copy_(self.avg_fn(averaged.detach(), current, self.n_averaged))
            else:
                (self.multi_avg_fn or get_swa_multi_avg_fn())([m.detach() for m in mine], theirs, self.n_averaged)
            if not self.use_buffers:
                for averaged, current in zip(self.module.buffers(), model.buffers()):
                    averaged.copy_(current.detach())
            self.n_averaged.add_(1)


def update_bn(loader, model, device=None):
    """Recompute the running statistics of all batch norms from the inputs of `loader`."""
    norms = {m: m.momentum for m in model.modules() if isinstance(m, _BatchNorm)}
    if not norms:
        return
    was_training = model.training
    model.train()
    for m in norms:
        m.reset_running_stats()
        m.momentum = None
    try:
        with no_grad():
            for batch in loader:
                batch = batch[0] if isinstance(batch, (list, tuple)) else batch
                model(batch if device is None else batch.to(device))
    finally:
        for m, momentum in norms.items():
            m.momentum = momentum
        model.train(was_training)


class SWALR(LRScheduler):
    """A schedule from the current rates to `swa_lr` within anneal_epochs steps, on a cosine or a line."""

    def __init__(self, optimizer, swa_lr, anneal_epochs=10, anneal_strategy="cos", last_epoch=-1):
        if anneal_strategy not in ("cos", "linear"):
            raise ArgumentError(f"anneal_strategy must by one of 'cos' or 'linear', instead got {anneal_strategy}")
        if not isinstance(anneal_epochs, int) or anneal_epochs < 0:
            raise ArgumentError(f"anneal_epochs must be equal or greater than 0, got {anneal_epochs}")
        rates = list(swa_lr) if isinstance(swa_lr, (list, tuple)) else [swa_lr] * len(optimizer.param_groups)
        if len(rates) != len(optimizer.param_groups):
            raise ArgumentError(f"swa_lr must be one rate or one for each of the {len(optimizer.param_groups)} groups")
        for rate, group in zip(rates, optimizer.param_groups):
            group["swa_lr"] = rate
        self.anneal_epochs, self._strategy = anneal_epochs, anneal_strategy
        super().__init__(optimizer, last_epoch)

    def _share(self, t):
        """Return the share of the change at a time from 0 to 1."""
        return (1 - cos(math.pi * t)) / 2 if self._strategy == "cos" else t

    def get_lr(self):
        """Return the current rates of all groups."""
        step = self._step_count - 1
        if self.anneal_epochs == 0:
            step = max(1, step)
        before = max(0.0, min(1.0, (step - 1) / max(1, self.anneal_epochs)))
        now = max(0.0, min(1.0, step / max(1, self.anneal_epochs)))
        gone, share = self._share(before), self._share(now)
        found = []
        for group in self.optimizer.param_groups:
            target, lr = group["swa_lr"], group["lr"]
            start = target if gone == 1 else (lr - gone * target) / (1 - gone)
            found.append(target * share + start * (1 - share))
        return found
