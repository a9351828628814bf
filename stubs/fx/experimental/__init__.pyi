from ...jit.fx.recorded_run import *
from . import proxy_tensor as proxy_tensor
from . import symbolic_shapes as symbolic_shapes
