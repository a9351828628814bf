from ..runtime.signal.windows import *
