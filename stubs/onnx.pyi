from .jit.onnx import *
