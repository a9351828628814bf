from .runtime.func import *
