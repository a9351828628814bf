from .runtime.version import *
