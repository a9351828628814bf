from ...runtime.nn.utils.stateless import *
