from ..runtime.distributed.engines.world import *
