"""DistributedSampler: a dataset shared among the processes of a distributed run."""

# Made by `make stubs` from the live package; not edited by hand.

from ingot.utils.data import DistributedSampler as DistributedSampler
