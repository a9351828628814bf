"""Hooks around the steps of optimizers: those of every optimizer there is, and an optimizer's own."""

from functools import wraps
from typing import Any

from ...ir.errors import DTypeError, kind_of
from ..core.state import tls
from ..core.structure import HookTable
from ..nn.base.hooks import add_hook

_EVERY: dict[str, Any] = {"pre": HookTable(), "post": HookTable()}
_NONE: dict[str, Any] = {"pre": {}, "post": {}}


def register_optimizer_step_pre_hook(hook):
    """Calls hook(optimizer, args, kwargs) before each step of any optimizer; args begin with the optimizer."""
    return add_hook(_EVERY["pre"], hook)


def register_optimizer_step_post_hook(hook):
    """Calls hook(optimizer, args, kwargs) after each step of any optimizer."""
    return add_hook(_EVERY["post"], hook)


def step_hooks(optimizer) -> tuple[list, list]:
    """What runs before a step of an optimizer, and after it."""
    own = vars(optimizer).get("_hooks", _NONE)
    return [*_EVERY["pre"].values(), *own["pre"].values()], [*own["post"].values(), *_EVERY["post"].values()]


def hooked(step):
    """A `step` of an optimizer with the hooks around it. A class gets it for the one that it defines itself, too."""

    before_every, after_every = _EVERY["pre"], _EVERY["post"]

    @wraps(step)
    def run(self, *args, **kwargs):
        recorder = tls.m.recorder
        if recorder is not None:
            recorder.optimizers.step_called(self)
        own = self.__dict__.get("_hooks", _NONE)
        if not (own["pre"] or own["post"] or before_every or after_every):      # nearly always
            return step(self, *args, **kwargs)
        before, after = step_hooks(self)
        args = (self, *args)
        for hook in before:
            changed = hook(self, args, kwargs)
            if changed is not None:
                if type(changed) is not tuple or len(changed) != 2:
                    raise DTypeError("a hook before an optimizer's step gives None or (args, kwargs), args beginning with the "
                                     f"optimizer; got {kind_of(changed)}")
                args, kwargs = changed
        result = step(*args, **kwargs)
        for hook in after:
            hook(self, args, kwargs)
        return result

    return run
