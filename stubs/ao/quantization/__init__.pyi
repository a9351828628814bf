from ...runtime.quantization import *
from . import fake_quantize as fake_quantize
from . import observer as observer
from . import qconfig as qconfig
from . import qconfig_mapping as qconfig_mapping
from . import quantize_fx as quantize_fx
