from ....runtime.data.datapipes import *
