from ..jit.exported.program_dims import *
