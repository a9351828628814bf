from .runtime.nested import *
