from ..runtime.nn.base.init import *
