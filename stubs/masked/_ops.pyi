from ..runtime.masked import *
