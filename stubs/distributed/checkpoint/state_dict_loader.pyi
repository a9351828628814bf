from ...runtime.distributed.checkpoint.loading import *
