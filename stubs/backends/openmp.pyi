from ..runtime.backends.openmp import *
