from ...jit.fx.make_fx import *
from . import proxy_tensor as proxy_tensor
from . import symbolic_shapes as symbolic_shapes
