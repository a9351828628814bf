from ..runtime.nn.common_types import *
