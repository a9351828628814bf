from ....runtime.quantization.dynamic_modules import *
