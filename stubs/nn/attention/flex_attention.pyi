from ...runtime.nn.layers.flex_attention import *
