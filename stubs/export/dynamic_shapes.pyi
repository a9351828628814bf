from ..jit.exporting.program.dynamic_shapes import *
