from ..runtime.cuda.api import *
from . import comm as comm
from . import streams as streams
