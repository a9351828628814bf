from ..runtime.distributed.world import *
