from ....jit.fx.passes.pass_manager import *
