from ...runtime.nn.utils.parametrizations import *
