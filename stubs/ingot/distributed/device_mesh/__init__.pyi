"""`ingot.distributed.device_mesh`: the ranks of a run as an array, with a group for every row along every dimension."""

# Made by `make stubs` from the live package; not edited by hand.

from ingot.distributed import DeviceMesh as DeviceMesh
from ingot.distributed import init_device_mesh as init_device_mesh
