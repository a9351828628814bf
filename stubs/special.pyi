from .runtime.special import *
