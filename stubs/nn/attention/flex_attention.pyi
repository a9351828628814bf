from ...runtime.nn.flex_attention import *
