from ....runtime.distributed.activation_wrappers import *
