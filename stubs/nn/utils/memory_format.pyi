from ...runtime.nn.utils.conv_memory_format import *
