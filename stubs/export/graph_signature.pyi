from ..jit.exported.program_signature import *
