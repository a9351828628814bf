"""The base class of research programs."""

from ..training import Task


class Step(Task):
    """A training step of a network that need not be a function of arrays: its flops are not counted."""

    def flops(self):
        """Not known."""
        return 0.0
