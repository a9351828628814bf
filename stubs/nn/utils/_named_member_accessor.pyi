from ...runtime.nn.utils.swapping import *
