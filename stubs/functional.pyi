from .runtime.functional import *
