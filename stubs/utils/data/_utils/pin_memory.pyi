from ....runtime.data.pinning import *
