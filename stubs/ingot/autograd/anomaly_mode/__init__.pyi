"""Anomaly mode: operations record the user's line, and backward stops at the first nan."""

# Made by `make stubs` from the live package; not edited by hand.

from ingot import is_anomaly_check_nan_enabled as is_anomaly_check_nan_enabled
from ingot import is_anomaly_enabled as is_anomaly_enabled
from ingot.autograd import detect_anomaly as detect_anomaly
from ingot.autograd import set_detect_anomaly as set_detect_anomaly
