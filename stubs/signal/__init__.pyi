from ..runtime.signal import *
