from ....runtime.quantization.static_modules import *
from . import dynamic as dynamic
