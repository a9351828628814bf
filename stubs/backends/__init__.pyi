from ..runtime.backends import *
