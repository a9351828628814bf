from ...runtime.nn.utils.per_sample_grad import *
