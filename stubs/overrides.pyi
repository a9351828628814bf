from .runtime.api.register.overrides import *
