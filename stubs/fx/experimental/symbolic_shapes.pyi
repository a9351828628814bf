from ...jit.fx.symbolic_shapes import *
