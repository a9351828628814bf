from ..runtime.backends.mkl import *
