from ..runtime.amp.cpu_amp import *
