from ..runtime.cuda.random import *
