from ..jit.fx.interpreter import *
