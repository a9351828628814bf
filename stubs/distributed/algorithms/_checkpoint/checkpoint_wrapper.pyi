from ....runtime.distributed.fsdp.activation_wrappers import *
