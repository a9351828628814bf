from ..runtime.amp.grad_scaler import *
