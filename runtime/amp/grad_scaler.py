"""GradScaler: scales losses so that float16 gradients do not vanish, and gradients back before the step."""

import weakref
from enum import Enum
from numbers import Number

from ...ir import dtype as dt
from ...ir.draw.tables import described
from ...ir.errors import ArgumentError, AutogradError, DTypeError
from ..api.register.register import FUNCTIONS
from ..autograd.grad_mode import no_grad
from ..core.device import available
from ..core.placement import on_device_of
from ..core.tensor import Tensor
from ..foreach import lists
from ..state.messages import warn
from ..state.mode import hands_on_number, tls
from ..state.saved_states import saved_state, saved_value

__all__ = ["GradScaler", "OptState"]


class OptState(Enum):
    """Stage of an optimizer's gradients since the last update()."""

    READY = 0
    UNSCALED = 1
    STEPPED = 2


class _Progress:
    """State of one optimizer: its stage, and whether a gradient is not finite."""

    def __init__(self):
        self.stage = OptState.READY
        self.found_inf = None


def _some_wrong(gradients):
    """Return whether any element of any gradient is not finite: a bool tensor without dims, on the device of the first."""
    alike: dict = {}
    for g in gradients:
        alike.setdefault((g.dtype, g.device), []).append(g)
    found = None
    for some in alike.values():
        good = lists.all_finite(some)
        for ok in [g.isfinite().all() for g in some] if good is None else [good]:
            bad = ok.logical_not()
            found = bad if found is None else found.logical_or(on_device_of(bad, found))
    return found


class GradScaler:
    """Scaler of losses by a factor that shrinks when gradients overflow and grows while they do not.

    Use: scaler.scale(loss).backward(); scaler.step(optimizer); scaler.update(). A step whose gradients are not finite is
    skipped. Call `scaler.unscale_(optimizer)` before clipping or reading gradients.

    Parameters
    ----------
    device : str
        Kind of device of the losses.
    init_scale : float
        First factor.
    growth_factor, backoff_factor : float
        Changes of the factor after steps without overflow, and after an overflow.
    growth_interval : int
        Number of steps in a row without overflow after which the factor grows.
    enabled : bool
        Whether anything is scaled; if not, `step` is the optimizer's.

    Examples
    --------
    >>> w = nn.Parameter(ingot.ones(1))
    >>> opt, scaler = optim.SGD([w], lr=0.5), amp.GradScaler("cpu", init_scale=4.0)
    >>> scaler.scale(w.sum()).backward()
    >>> scaler.step(opt)
    >>> scaler.update()
    >>> w.item()
    0.5
    """

    def __init__(self, device="cuda", init_scale=2.0 ** 16, growth_factor=2.0, backoff_factor=0.5, growth_interval=2000,
                 enabled=True):
        if enabled and not available(str(device).partition(":")[0]):
            warn(f"GradScaler: there is no {device} device here, so it does nothing")
            enabled = False
        if growth_factor <= 1:
            raise ArgumentError(f"growth_factor must be above 1, got {growth_factor}")
        if not 0 < backoff_factor < 1:
            raise ArgumentError(f"backoff_factor must be between 0 and 1, got {backoff_factor}")
        self._device, self._enabled, self._init_scale = str(device), enabled, init_scale
        self._growth_factor, self._backoff_factor, self._growth_interval = growth_factor, backoff_factor, growth_interval
        self._scale = FUNCTIONS["tensor"](float(init_scale), dtype=dt.float32)
        self._growth_tracker = FUNCTIONS["tensor"](0, dtype=dt.int32)
        self._progress = weakref.WeakKeyDictionary()

    def __repr__(self):
        return described(self, scale=self.get_scale(), enabled=self._enabled, growth_interval=self._growth_interval)

    def is_enabled(self) -> bool:
        """Return whether scaling is enabled."""
        return self._enabled

    def scale(self, outputs):
        """Multiply a loss, or losses in lists and tuples, by the scale."""
        if not self._enabled:
            return outputs
        if isinstance(outputs, Tensor):
            return outputs * self._scale
        if isinstance(outputs, (list, tuple)):
            return type(outputs)(self.scale(o) for o in outputs)
        raise DTypeError(f"scale takes a tensor or an iterable of tensors, got {type(outputs).__name__}")

    def _state_of(self, optimizer) -> _Progress:
        return self._progress.setdefault(optimizer, _Progress())

    def unscale_(self, optimizer):
        """Divide the optimizer's gradients by the scale, in place."""
        if not self._enabled:
            return
        state = self._state_of(optimizer)
        if state.stage is OptState.UNSCALED:
            raise AutogradError("unscale_() has already been called on this optimizer since the last update().")
        if state.stage is OptState.STEPPED:
            raise AutogradError("unscale_() is being called after step().")
        state.found_inf = self._unscale(optimizer)
        state.stage = OptState.UNSCALED

    def _unscale(self, optimizer):
        """Unscale; return a 0-d bool tensor: whether a gradient is not finite; None without gradients."""
        gradients = []
        for p in [p for group in optimizer.param_groups for p in group["params"]]:
            g = p.grad
            if g is None:
                continue
            if g.dtype is dt.float16:
                raise ArgumentError("Attempting to unscale FP16 gradients: keep parameters in float32 and let autocast "
                                    "run what can be run in float16")
            if g.is_sparse:
                g = p.grad = g.coalesce()
                g = g.values()
            gradients.append(g)
        if not gradients:
            return None
        with no_grad():
            found = _some_wrong(gradients)
            lists.scale(gradients, 1.0 / self._scale.to(dt.float64), "unscale_")
        return found

    def step(self, optimizer, *args, **kwargs):
        """Call optimizer.step(), unless a gradient is not finite. Unscale first if that was not done."""
        if not self._enabled:
            return optimizer.step(*args, **kwargs)
        if "closure" in kwargs:
            raise AutogradError("Closure use is not currently supported if GradScaler is enabled.")
        state = self._state_of(optimizer)
        if state.stage is OptState.STEPPED:
            raise AutogradError("step() has already been called since the last update().")
        if state.stage is OptState.READY:
            self.unscale_(optimizer)
        if state.found_inf is None:
            raise AutogradError("No inf checks were recorded for this optimizer: none of its parameters has a gradient.")
        state.stage = OptState.STEPPED
        if tls.m.recorder is None:
            state.found_inf = state.found_inf.cpu()         # `update` reads it again, without waiting for a device
        return None if bool(state.found_inf) else optimizer.step(*args, **kwargs)

    def update(self, new_scale=None):
        """Adjust the scale for the next iteration, or set it."""
        if not self._enabled:
            return
        with no_grad():
            if new_scale is not None:
                self._set_scale(new_scale)
            else:
                self._adjust()
        self._progress.clear()

    def _set_scale(self, new_scale):
        if isinstance(new_scale, Tensor) and (new_scale.numel() != 1 or new_scale.requires_grad):
            raise ArgumentError("new_scale must be a number or a tensor of one element that does not require grad")
        if isinstance(new_scale, Tensor):
            new_scale = new_scale.reshape(())
        self._scale.copy_(new_scale) if isinstance(new_scale, Tensor) else self._scale.fill_(float(new_scale))

    def _adjust(self):
        """Shrink the scale after an overflow, grow it after `growth_interval` steps without one, unless it would be infinite.
        Factors are float64, and products are rounded once, as in PyTorch."""
        found = [s.found_inf for s in self._progress.values() if s.found_inf is not None]
        if not found:
            raise AutogradError("No inf checks were recorded prior to update.")
        bad = found[0]
        for other in found[1:]:
            bad = bad.logical_or(on_device_of(other, bad))
        where = FUNCTIONS["where"]
        steps = where(bad, 0, self._growth_tracker + 1).to(dt.int32)
        full = steps == self._growth_interval
        exact = self._scale.to(dt.float64)
        grown = (exact * self._growth_factor).to(dt.float32)
        grown = where(grown.isfinite(), grown, self._scale)
        shrunk = (exact * self._backoff_factor).to(dt.float32)
        self._scale.copy_(where(bad, shrunk, where(full, grown, self._scale)))
        self._growth_tracker.copy_(where(full, 0, steps))

    @hands_on_number
    def get_scale(self) -> float:
        """Return the scale; 1 when disabled."""
        return self._scale.item() if self._enabled else 1.0

    def get_growth_factor(self) -> float:
        """Return the factor by which the scale grows."""
        return self._growth_factor

    def set_growth_factor(self, new_factor: float):
        """Set the factor by which the scale grows."""
        self._growth_factor = new_factor

    def get_backoff_factor(self) -> float:
        """Return the factor of the scale after an overflow."""
        return self._backoff_factor

    def set_backoff_factor(self, new_factor: float):
        """Set the factor of the scale after an overflow."""
        self._backoff_factor = new_factor

    def get_growth_interval(self) -> int:
        """Return the number of steps without overflow after which the scale grows."""
        return self._growth_interval

    def set_growth_interval(self, new_interval: int):
        """Set the number of steps without overflow after which the scale grows."""
        self._growth_interval = new_interval

    def state_dict(self) -> dict:
        """Return the state to resume from; empty when disabled."""
        if not self._enabled:
            return {}
        return {"scale": self.get_scale(), "growth_factor": self._growth_factor, "backoff_factor": self._backoff_factor,
                "growth_interval": self._growth_interval, "_growth_tracker": int(self._growth_tracker.item())}

    def load_state_dict(self, state_dict: dict):
        """Resume from a state_dict()."""
        if not self._enabled:
            return
        if isinstance(state_dict, dict) and not state_dict:
            raise AutogradError("The source state dict is empty, possibly because it was saved from a disabled instance of "
                                "GradScaler.")
        state = saved_state(self, state_dict, "scale", "growth_factor", "backoff_factor", "growth_interval", "_growth_tracker")
        scale, steps = [saved_value(self, state, key, Number, Tensor) for key in ("scale", "_growth_tracker")]
        self._growth_factor, self._backoff_factor = state["growth_factor"], state["backoff_factor"]
        self._growth_interval = state["growth_interval"]
        self._scale.fill_(float(scale))
        self._growth_tracker.fill_(int(steps))

    def __getstate__(self):
        return {**self.__dict__, "_progress": None}

    def __setstate__(self, state):
        self.__dict__.update(state)
        self._progress = weakref.WeakKeyDictionary()
