from ...runtime.distributed.training.uneven_inputs import *
