from ..runtime.dispatch_mode import *
