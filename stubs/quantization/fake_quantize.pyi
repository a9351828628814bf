from ..runtime.quantization.fake_quantize import *
