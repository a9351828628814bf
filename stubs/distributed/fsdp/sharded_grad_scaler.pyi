from ...runtime.distributed.fsdp.grad_scaler import *
