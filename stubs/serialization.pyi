from .runtime.serialization import *
