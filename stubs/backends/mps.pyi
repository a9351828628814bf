from ..runtime.backends.mps import *
