from ..runtime.cuda import *
from . import comm as comm
from . import streams as streams
