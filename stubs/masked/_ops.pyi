from ..runtime.masked.reductions import *
