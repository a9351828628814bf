"""`ingot.distributed.algorithms.join`: ranks with different numbers of batches.

A rank without batches takes part in the others' communication until all have ended.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np

from ....ir.errors import ArgumentError
from ...core.device import CPU
from ..engines.reduce_op import ReduceOp

__all__ = ["Join", "JoinHook", "Joinable"]


class JoinHook:
    """Actions of a rank without batches while others continue."""

    def main_hook(self) -> None:
        """Take part in the communication of one step of the others."""

    def post_hook(self, is_last_joiner: bool) -> None:
        """Run once all have ended; the last joiners went through all steps."""


@dataclass
class _Config:
    """Context of joinables. The first one announces steps; `active` is the number of ranks in the last one."""

    enable: bool = False
    throws: bool = False
    first: Any = None
    active: int = 0


_OUTSIDE = _Config()


class Joinable:
    """Base of modules and optimizers that communicate in each step. They define `join_hook`, and call
    `Join.notify_join_context(self)` before they communicate."""

    process_group: Any
    _join_config: Any = _OUTSIDE

    def join_hook(self, **kwargs) -> JoinHook:
        """Return the hook of a rank after its last batch."""
        raise NotImplementedError(f"{type(self).__name__} does not define join_hook()")

    @property
    def join_device(self):
        """Device on which ranks count each other."""
        return CPU

    @property
    def join_process_group(self):
        """Group of the ranks."""
        return self.process_group


def _active(group, going_on: bool) -> int:
    """Return the number of ranks that continue; a collective."""
    found: list = []
    mine = np.array([going_on], np.int64)
    group.run(lambda: found.append(group.channel.all_reduce(mine, ReduceOp.SUM, "ranks that go on")), False)
    return int(found[0][0])


class Join:
    """Context in which ranks may end early. Each step of the joinables is announced. A rank that leaves takes part in the steps
    of others until all have left. Further options go to the joinables' `join_hook`."""

    def __init__(self, joinables, enable=True, throw_on_early_termination=False, **kwargs):
        self._joinables = list(joinables)
        if not self._joinables:
            raise ArgumentError("Join takes at least one joinable")
        groups = {id(j.join_process_group): j.join_process_group for j in self._joinables}
        if len(groups) > 1:
            raise ArgumentError("Join takes joinables of one process group")
        self._group, = groups.values()
        self._enable, self._throws = enable, throw_on_early_termination
        self._hooks = [j.join_hook(**kwargs) for j in self._joinables] if enable else []

    def __enter__(self):
        self._config = _Config(self._enable, self._throws, self._joinables[0])
        for joinable in self._joinables:
            joinable._join_config = self._config

    def __exit__(self, kind, error, trace):
        if not self._enable or kind is not None:
            self._leave()
            return
        is_last = True
        while active := _active(self._group, False):
            if self._throws:
                self._leave()
                raise RuntimeError("this rank has no batches left while others have, and throw_on_early_termination=True")
            self._config.active = active
            for hook in self._hooks:
                hook.main_hook()
            is_last = False
        self._leave()
        for hook in self._hooks:
            hook.post_hook(is_last)

    def _leave(self):
        for joinable in self._joinables:
            joinable._join_config = _OUTSIDE

    @staticmethod
    def notify_join_context(joinable):
        """Announce a step of the context's first joinable. Return the number of ranks with batches of their own, or None
        without an announcement."""
        config = joinable._join_config
        if not config.enable or config.first is not joinable:
            return None
        config.active = _active(joinable.join_process_group, True)
        if config.throws and config.active < joinable.join_process_group.size():
            raise RuntimeError("another rank has no batches left, and throw_on_early_termination=True")
        return config.active
