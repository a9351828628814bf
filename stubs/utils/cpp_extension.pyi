from ..runtime.toolbox.cpp_extension import *
