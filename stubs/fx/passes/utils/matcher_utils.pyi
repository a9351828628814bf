from ....jit.fx.matching import *
