from ...runtime.nn.utils.prune import *
