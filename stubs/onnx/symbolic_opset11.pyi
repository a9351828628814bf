from ..jit.onnx.symbolic_registry import *
