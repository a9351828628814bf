from ..runtime.distributed.device_mesh import *
