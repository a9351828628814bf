from ...runtime.nn.layers.attention import *
from . import bias as bias
from . import flex_attention as flex_attention
