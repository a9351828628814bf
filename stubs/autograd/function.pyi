from ..runtime.autograd.function import *
