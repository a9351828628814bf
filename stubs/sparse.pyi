from .runtime.namespaces.sparse import *
