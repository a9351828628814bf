from .jit.tracing.compiler import *
