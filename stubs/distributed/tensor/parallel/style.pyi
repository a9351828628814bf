from ....runtime.distributed.tensor.parallel.styles import *
