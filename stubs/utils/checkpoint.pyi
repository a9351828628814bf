from ..runtime.autograd.checkpoint import *
