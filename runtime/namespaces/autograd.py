"""`ingot.autograd`: the public names of `runtime/autograd`."""

from ..autograd import forward_ad, function, functional
from ..autograd import hooks as graph
from ..autograd.anomaly import detect_anomaly, set_detect_anomaly
from ..autograd.backward import backward, grad
from ..autograd.function import Function, Variable
from ..autograd.grad_mode import (
    enable_grad,
    inference_mode,
    is_multithreading_enabled,
    no_grad,
    set_grad_enabled,
    set_multithreading_enabled,
)
from ..autograd.gradcheck import GradcheckError, gradcheck, gradgradcheck
from ..profiler import legacy_names as profiler

__all__ = ["Function", "GradcheckError", "Variable", "backward", "detect_anomaly", "enable_grad", "forward_ad", "function",
           "functional", "grad", "gradcheck", "gradgradcheck", "graph", "inference_mode", "is_multithreading_enabled",
           "no_grad", "profiler", "set_detect_anomaly", "set_grad_enabled", "set_multithreading_enabled"]
