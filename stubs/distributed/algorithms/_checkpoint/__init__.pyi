from ....runtime.distributed.uneven import *
from . import checkpoint_wrapper as checkpoint_wrapper
