from ...runtime.nn.parallel.distributed_data_parallel import *
