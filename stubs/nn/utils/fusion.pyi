from ...runtime.nn.utils.batch_norm_fusion import *
