from ..runtime.backends.absent_libraries import *
