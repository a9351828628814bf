"""One module on all GPUs of this process: split the batch, call replicas, join the results."""

# Made by `make stubs` from the live package; not edited by hand.

from ingot.nn import DataParallel as DataParallel
from ingot.nn.parallel import data_parallel as data_parallel
