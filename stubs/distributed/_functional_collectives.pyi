from ..runtime.distributed.functional_collectives import *
