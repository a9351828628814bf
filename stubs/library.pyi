from .jit.custom_ops import *
