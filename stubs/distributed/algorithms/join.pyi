from ...runtime.distributed.uneven import *
