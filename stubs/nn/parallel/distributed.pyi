from ...runtime.nn.parallel.distributed import *
