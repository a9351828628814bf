from ....jit.fx.matching import *
from . import matcher_utils as matcher_utils
