from .jit.compiler import *
