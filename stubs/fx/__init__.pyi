from ..jit.fx import *
from . import experimental as experimental
