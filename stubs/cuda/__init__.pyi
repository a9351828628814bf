from ..runtime.cuda import *
from . import streams as streams
