from ...runtime.nn.causal_bias import *
