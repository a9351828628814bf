from ..runtime.amp import *
