from ..jit.exported.program_swap import *
