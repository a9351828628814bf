from ..runtime.backends.cuda import *
