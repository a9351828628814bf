from ..runtime.distributed.collectives.device_mesh import *
