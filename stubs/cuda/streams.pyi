from ..runtime.cuda.streams import *
