from ...runtime.nn.parallel.data_parallel import *
