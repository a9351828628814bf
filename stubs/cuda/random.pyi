from ..runtime.cuda.api.random import *
