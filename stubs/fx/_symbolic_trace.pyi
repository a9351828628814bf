from ..jit.fx.symbolic import *
