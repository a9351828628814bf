from ..runtime.autograd.forward_ad import *
