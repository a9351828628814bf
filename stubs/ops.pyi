from .jit.custom_ops.namespaces import *
