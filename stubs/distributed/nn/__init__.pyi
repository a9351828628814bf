from ...runtime.distributed.collectives.differentiable_collectives import *
from . import functional as functional
