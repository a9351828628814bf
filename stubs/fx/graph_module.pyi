from ..jit.fx.graph_module import *
