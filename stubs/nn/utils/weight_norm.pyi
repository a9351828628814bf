from ...runtime.nn.utils.weight_norm import *
