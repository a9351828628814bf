from ...runtime.distributed.collectives.differentiable_collectives import *
