from .runtime.torch_version import *
