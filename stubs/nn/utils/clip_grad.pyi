from ...runtime.nn.utils.clip_grad import *
