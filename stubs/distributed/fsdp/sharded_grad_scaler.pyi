from ...runtime.distributed.fsdp.sharded_grad_scaler import *
