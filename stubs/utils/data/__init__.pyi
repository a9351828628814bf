from ...runtime.data import *
from . import datapipes as datapipes
