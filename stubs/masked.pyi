from .runtime.masked import *
