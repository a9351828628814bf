from ..runtime.autograd.functional import *
