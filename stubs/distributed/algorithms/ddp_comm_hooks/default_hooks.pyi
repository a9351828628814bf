from ....runtime.distributed.comm_hooks import *
