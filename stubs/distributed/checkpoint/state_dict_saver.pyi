from ...runtime.distributed.checkpoint.saving import *
