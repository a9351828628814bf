from ..jit.fx.proxy import *
