from ....runtime.distributed.training.uneven_inputs import *
from . import checkpoint_wrapper as checkpoint_wrapper
