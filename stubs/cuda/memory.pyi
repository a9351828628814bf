from ..runtime.cuda.memory import *
