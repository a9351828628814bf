from .runtime.linalg.fft import *
