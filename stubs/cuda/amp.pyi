from ..runtime.amp.on_cuda import *
