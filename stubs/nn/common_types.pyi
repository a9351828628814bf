from ..runtime.nn.base.common_types import *
