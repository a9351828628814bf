from ..runtime.backends.cpu import *
