from ..jit.fx.graph import *
