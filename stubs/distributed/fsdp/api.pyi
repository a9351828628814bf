from ...runtime.distributed.fsdp.settings import *
