"""`ingot.distributed.algorithms.join`: ranks that have different numbers of batches are not waited for. Programs may ask
whether something could be joined."""

from .errors import refused

__all__ = ["Join", "JoinHook", "Joinable"]

_INSTEAD = ("each rank takes part in every collective; give all ranks the same number of batches (utils.data."
            "DistributedSampler does), or agree on the smallest one with distributed.all_reduce before the loop")


class Join:
    """A context in which ranks may end early. Refused, with what to use instead."""

    __init__ = refused("algorithms.Join", _INSTEAD)


class Joinable:
    """What no module and no optimizer is an instance of."""


class JoinHook:
    """What a rank that has ended would do while others go on."""

    def main_hook(self) -> None:
        """In each step of the others."""

    def post_hook(self, is_last_joiner: bool) -> None:
        """Once all have ended."""
