from ...jit.fx.recorded_run import *
