from ..runtime.amp.autocast_mode import *
