from .runtime.array_api import *
