from ...runtime.distributed.checkpoint.files import *
