from ...runtime.distributed.checkpoint.one_file import *
