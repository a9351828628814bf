from .runtime.api.register.annotation_types import *
