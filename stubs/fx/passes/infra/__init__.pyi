from ....jit.fx.passes.pass_manager import *
from . import pass_base as pass_base
from . import pass_manager as pass_manager
