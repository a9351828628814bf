from ..runtime.distributed.collectives.functional_collectives import *
