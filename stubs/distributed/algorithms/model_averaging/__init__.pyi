from ....runtime.distributed.training.local_sgd import *
from . import averagers as averagers
