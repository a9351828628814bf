from .runtime.fft import *
