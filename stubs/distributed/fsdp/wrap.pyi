from ...runtime.distributed.fsdp.wrap import *
