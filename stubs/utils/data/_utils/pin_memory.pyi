from ....runtime.data.pin_memory import *
