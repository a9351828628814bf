from ..jit.fx import *
from . import _symbolic_trace as _symbolic_trace
from . import experimental as experimental
