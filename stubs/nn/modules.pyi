from ..runtime.nn.modules import *
