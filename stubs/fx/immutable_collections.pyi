from ..jit.fx.immutable_collections import *
