from ..runtime.quantization import *
from . import fake_quantize as fake_quantize
from . import qconfig as qconfig
