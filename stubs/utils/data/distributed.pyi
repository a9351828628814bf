from ...runtime.data.distributed import *
