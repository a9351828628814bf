from .runtime.namespaces.func import *
