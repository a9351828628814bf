from ..jit.onnx import *
from . import symbolic_helper as symbolic_helper
from . import symbolic_opset11 as symbolic_opset11
from . import symbolic_opset12 as symbolic_opset12
from . import symbolic_opset9 as symbolic_opset9
