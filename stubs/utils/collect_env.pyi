from ..environment import *
