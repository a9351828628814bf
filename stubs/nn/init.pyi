from ..runtime.nn.init import *
