from .jit.operators import *
