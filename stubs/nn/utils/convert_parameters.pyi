from ...runtime.nn.utils.convert_parameters import *
