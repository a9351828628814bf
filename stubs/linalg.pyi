from .runtime.linalg.linalg import *
