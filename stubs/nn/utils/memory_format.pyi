from ...runtime.nn.utils.memory_format import *
