"""Data parallel training in several processes."""

# Made by `make stubs` from the live package; not edited by hand.

from ingot.nn.parallel import DistributedDataParallel as DistributedDataParallel
