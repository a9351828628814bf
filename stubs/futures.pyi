from .runtime.futures import *
