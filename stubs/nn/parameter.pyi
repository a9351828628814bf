from ..runtime.nn.parameter import *
