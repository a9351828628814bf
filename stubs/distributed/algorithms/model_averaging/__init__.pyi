from ....runtime.distributed.local_sgd import *
from . import averagers as averagers
