from ..runtime.masked import *
from . import maskedtensor as maskedtensor
