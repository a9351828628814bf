from ..runtime.quantization.ao import *
from . import nn as nn
from . import quantization as quantization
