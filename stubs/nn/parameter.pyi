from ..runtime.nn.base.parameter import *
