from ...runtime.quantization.static import *
from . import dynamic as dynamic
