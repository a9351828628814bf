from .runtime.core.random import *
