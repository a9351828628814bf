"""`ingot.distributed.optim`: optimizers for several ranks."""

# Made by `make stubs` from the live package; not edited by hand.

from ingot.distributed.optim import PostLocalSGDOptimizer as PostLocalSGDOptimizer
from ingot.distributed.optim import ZeroRedundancyOptimizer as ZeroRedundancyOptimizer
