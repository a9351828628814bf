from ...runtime.quantization.qconfig_mapping import *
