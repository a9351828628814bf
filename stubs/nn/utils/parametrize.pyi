from ...runtime.nn.utils.parametrize import *
