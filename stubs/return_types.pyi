from .runtime.api.register.return_types import *
