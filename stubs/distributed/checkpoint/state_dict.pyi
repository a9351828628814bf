from ...runtime.distributed.checkpoint.state_dict import *
