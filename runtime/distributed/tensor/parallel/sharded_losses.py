"""Losses of logits with sharded classes."""

from contextlib import contextmanager

__all__ = ["loss_parallel"]


@contextmanager
def loss_parallel():
    """Context manager for `cross_entropy` of logits (DTensors) with sharded classes, and its backward. It changes nothing: the
    loss always reduces row maxima, sums and target values over the processes, and sends no logits."""
    yield
