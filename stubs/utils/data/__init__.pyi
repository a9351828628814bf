from ...runtime.data import *
from . import _utils as _utils
from . import datapipes as datapipes
