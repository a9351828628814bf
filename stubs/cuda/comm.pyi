from ..runtime.nn.parallel.comm import *
