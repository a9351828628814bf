from ..runtime.autograd.grad_mode import *
