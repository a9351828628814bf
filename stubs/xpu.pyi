from .runtime.backends.absent_accelerators import *
