from ..runtime.nn.grad import *
