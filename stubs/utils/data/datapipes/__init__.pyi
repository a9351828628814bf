from ....runtime.data.datapipes import *
from . import datapipe as datapipe
