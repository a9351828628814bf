from ..jit.exporting.program.graph_signature import *
