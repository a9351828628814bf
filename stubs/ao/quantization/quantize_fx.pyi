from ...jit.quantize_fx import *
