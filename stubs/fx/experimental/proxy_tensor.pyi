from ...jit.fx.make_fx import *
