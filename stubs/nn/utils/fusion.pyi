from ...runtime.nn.utils.fusion import *
