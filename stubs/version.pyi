from .runtime.namespaces.version import *
