from ...runtime.masked import *
