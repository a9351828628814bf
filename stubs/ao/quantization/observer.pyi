from ...runtime.quantization.observers import *
