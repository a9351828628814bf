from ...runtime.masked import *
from . import core as core
from . import creation as creation
from . import reductions as reductions
