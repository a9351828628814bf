from .runtime.overrides import *
