from ...runtime.distributed.checkpoint.unsupported_formats import *
