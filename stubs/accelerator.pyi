from .runtime.accelerator import *
