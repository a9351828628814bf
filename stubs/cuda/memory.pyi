from ..runtime.cuda.api.memory import *
