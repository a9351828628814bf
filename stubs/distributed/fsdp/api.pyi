from ...runtime.distributed.fsdp import *
