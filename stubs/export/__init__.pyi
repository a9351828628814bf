from ..jit.exported.programs import *
from . import dynamic_shapes as dynamic_shapes
from . import graph_signature as graph_signature
