from .runtime.linalg import *
