from ...jit.exporting.program.quantize_fx import *
