from ..runtime.distributed.run import *
