from ..jit.exporting.program.exported_program import *
from . import dynamic_shapes as dynamic_shapes
from . import graph_signature as graph_signature
