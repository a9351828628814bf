from ..runtime.amp.cuda_amp import *
