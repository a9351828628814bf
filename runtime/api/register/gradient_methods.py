"""Methods and functions of autograd on Tensor and the top level: backward, hooks, and the switches of anomaly mode."""

from ...autograd import backward, hooks
from ...autograd.anomaly import is_anomaly_check_nan_enabled, is_anomaly_enabled
from .register import FUNCTIONS

__all__ = ["backward", "hooks"]

FUNCTIONS.update(is_anomaly_enabled=is_anomaly_enabled, is_anomaly_check_nan_enabled=is_anomaly_check_nan_enabled)
