from ...runtime.distributed.checkpoint.foreign import *
