from .runtime.sparse import *
