from .runtime.types import *
