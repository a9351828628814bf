from ....runtime.data.worker_loop import *
