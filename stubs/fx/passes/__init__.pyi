from ...jit.fx.passes import *
