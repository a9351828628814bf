"""`ingot.distributed.algorithms.model_averaging`: periodic averages of parameters instead of gradients at every step."""

# Made by `make stubs` from the live package; not edited by hand.

from ingot.distributed.algorithms.model_averaging import ModelAverager as ModelAverager
from ingot.distributed.algorithms.model_averaging import PeriodicModelAverager as PeriodicModelAverager
from ingot.distributed.algorithms.model_averaging import PostLocalSGDState as PostLocalSGDState
from ingot.distributed.algorithms.model_averaging import post_localSGD_hook as post_localSGD_hook
from ingot.distributed.optim import PostLocalSGDOptimizer as PostLocalSGDOptimizer
