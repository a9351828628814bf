"""DistributedSampler: a dataset shared among the processes of a distributed run."""

import math
import os

from ...ir.errors import ArgumentError
from ...ir.lazy import lazy
from ..api.register.register import FUNCTIONS
from ..core.random import Generator
from .sampler import Sampler

__all__ = ["DistributedSampler"]

world = lazy(__package__, "..distributed.groups.world")


class DistributedSampler(Sampler):
    """Sampler of every `num_replicas`-th index of one common order, from `rank` on. Call `set_epoch` so that each epoch has its
    own order. `num_replicas` and `rank` default to the process group's, or the launcher's WORLD_SIZE and RANK.

    Parameters
    ----------
    dataset : Dataset
        The samples, of which only the number is asked.
    num_replicas, rank : int, optional
        Number of ranks, and this one's.
    shuffle : bool
        Whether the common order is random.
    seed : int
        Seed of the order, the same on all ranks.
    drop_last : bool
        Whether samples at the end are left out so that all ranks have equally many, instead of some coming twice.

    Examples
    --------
    >>> sampler = utils.data.DistributedSampler(range(5), num_replicas=2, rank=0, shuffle=False)
    >>> list(sampler)
    [0, 2, 4]
    """

    def __init__(self, dataset, num_replicas=None, rank=None, shuffle=True, seed=0, drop_last=False):
        self.num_replicas = _from_environment("num_replicas", num_replicas, "WORLD_SIZE")
        self.rank = _from_environment("rank", rank, "RANK")
        if not 0 <= self.rank < self.num_replicas:
            raise ArgumentError(f"Invalid rank {self.rank}, rank should be in the interval [0, {self.num_replicas - 1}]")
        self.dataset, self.shuffle, self.seed, self.drop_last, self.epoch = dataset, shuffle, seed, drop_last, 0
        n = len(dataset)
        if drop_last and n % self.num_replicas:
            self.num_samples = math.ceil((n - self.num_replicas) / self.num_replicas)
        else:
            self.num_samples = math.ceil(n / self.num_replicas)
        self.total_size = self.num_samples * self.num_replicas

    def _order(self) -> list:
        n = len(self.dataset)
        if not self.shuffle:
            return list(range(n))
        return FUNCTIONS["randperm"](n, generator=Generator().manual_seed(self.seed + self.epoch)).tolist()

    def __iter__(self):
        order = self._order()
        if self.drop_last:
            order = order[:self.total_size]
        elif order:
            order = (order * math.ceil(self.total_size / len(order)))[:self.total_size]
        return iter(order[self.rank:self.total_size:self.num_replicas])

    def __len__(self):
        return self.num_samples

    def set_epoch(self, epoch: int):
        """Set the epoch of the order."""
        self.epoch = epoch


def _from_environment(name, value, variable) -> int:
    if value is not None:
        return value
    if world.is_initialized():
        return world.get_world_size() if variable == "WORLD_SIZE" else world.get_rank()
    if variable in os.environ:
        return int(os.environ[variable])
    raise ArgumentError(f"DistributedSampler needs {name}=, a process group, or the environment variable "
                        f"{variable} that a launcher sets")
