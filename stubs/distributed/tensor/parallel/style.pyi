from ....runtime.distributed.tensor.parallel.parallel_styles import *
