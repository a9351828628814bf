from .runtime.linalg.special import *
