from ...runtime.data import *
