from .runtime.namespaces.functional_names import *
