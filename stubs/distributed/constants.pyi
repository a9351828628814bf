from ..runtime.distributed.groups.world import *
