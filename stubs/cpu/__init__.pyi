from ..runtime.processor import *
from . import amp as amp
