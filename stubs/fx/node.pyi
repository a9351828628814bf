from ..jit.fx.node import *
