from ..runtime.amp.on_cpu import *
