from .runtime.backends.accelerator import *
