from .runtime.namespaces.torch_version import *
