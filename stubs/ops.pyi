from .jit.operators.ops import *
