from ...runtime.distributed.checkpoint.single_file import *
