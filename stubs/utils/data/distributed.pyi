from ...runtime.data.distributed_sampler import *
