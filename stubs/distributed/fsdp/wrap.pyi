from ...runtime.distributed.fsdp.wrap_policies import *
