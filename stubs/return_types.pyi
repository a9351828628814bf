from .runtime.api.returns import *
