from .runtime.random import *
