from ..runtime.distributed import *
