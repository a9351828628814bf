from ...runtime.nn.layers.causal_bias import *
