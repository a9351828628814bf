from ..runtime.autograd.hooks import *
