"""log-sum-exp of two numbers, for CTC losses on all backends (`ir/ops/nn/ctc.py`)."""

from math import inf

from .fast_activations import exp_below
from .scalars import Builder, Val, apply


def log_sum(s: Builder, *logs: Val) -> Val:
    """The log of the sum of what numbers are the logs of; of nothing but -infinity it is that."""
    most, kind = logs[0], logs[0].dtype
    for x in logs[1:]:
        most = s.maximum(most, x)
    base = s.select(most.eq(-inf), s.const(kind, 0.0), most)
    total, *others = [exp_below(s, x - base) for x in logs]
    for x in others:
        total = total + x
    return s.select(most.eq(inf), most, apply(s, "log", total) + base)
