from ..runtime.nn.functional import *
