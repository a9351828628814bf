from ...jit.fx.recorded_run import *
from . import proxy_tensor as proxy_tensor
