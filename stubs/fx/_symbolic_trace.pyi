from ..jit.fx.own_loops import *
