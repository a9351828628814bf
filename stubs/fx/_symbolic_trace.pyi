from ..jit.fx.private_tracer_names import *
