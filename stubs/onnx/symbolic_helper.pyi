from ..jit.onnx.foreign_rules import *
