from ....runtime.distributed.training.comm_hooks import *
