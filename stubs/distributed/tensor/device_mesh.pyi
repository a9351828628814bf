from ...runtime.distributed.tensor import *
