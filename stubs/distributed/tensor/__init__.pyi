from ...runtime.distributed.tensor import *
from . import experimental as experimental
