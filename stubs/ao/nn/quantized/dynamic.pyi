from ....runtime.quantization.dynamic import *
