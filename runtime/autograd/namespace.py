"""`ingot.autograd` as users see it."""

from ..profiler import legacy as profiler
from ..state import OPEN_PROFILES
from . import forward_ad, function, functional
from . import hooks as graph
from .anomaly import detect_anomaly, set_detect_anomaly
from .backward import backward, grad
from .function import Function
from .grad_mode import (
    enable_grad,
    inference_mode,
    is_multithreading_enabled,
    no_grad,
    set_grad_enabled,
    set_multithreading_enabled,
)
from .gradcheck import GradcheckError, gradcheck, gradgradcheck
from .variable import Variable


def _profiler_enabled() -> bool:
    """Whether a profile is open."""
    return bool(OPEN_PROFILES)


__all__ = ["Function", "GradcheckError", "Variable", "backward", "detect_anomaly", "enable_grad", "forward_ad", "function",
           "functional", "grad", "gradcheck", "gradgradcheck", "graph", "inference_mode", "is_multithreading_enabled",
           "no_grad", "profiler", "set_detect_anomaly", "set_grad_enabled", "set_multithreading_enabled"]
