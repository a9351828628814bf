from ..runtime.autograd.gradcheck import *
