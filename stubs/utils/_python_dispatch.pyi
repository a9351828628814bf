from ..runtime.namespaces.torch_dispatch_mode import *
