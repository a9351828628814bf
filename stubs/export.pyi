from .jit.exported.programs import *
