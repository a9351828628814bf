from .runtime.no_accelerator import *
