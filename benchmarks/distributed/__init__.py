"""Collectives and training steps of several ranks on this machine, by each engine, beside torch's gloo and Intel's IMB."""

from .workloads import WORKLOADS as WORKLOADS

MEAN_BAR = None
