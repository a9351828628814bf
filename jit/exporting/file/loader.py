"""`load`: open an `.ingot` file on the CPU or on a GPU."""

from ....ir.error_texts.call_errors import explained
from ....ir.lazy import lazy
from ....runtime.core.device import CPU, Device
from . import archive
from .model import DEVICE_MODELS, Model, open_model

DEVICE_MODELS["cuda"] = lazy(__package__, ".cuda_model")


@explained
def load(path, objects: bool = True, device=None, *, map_location=None) -> Model:
    """Load the model of an `.ingot` file that `export` wrote: a callable that takes tensors or NumPy arrays.

    The weights stay in the file, which is mapped into memory. `objects=False` does not trust the machine code in the file:
    kernels are compiled from the graph then, which needs llvmlite (on a GPU: triton). Nothing else in a file is ever executed.
    `device="cuda"` puts the weights on a GPU and runs there: tensors there give tensors there, NumPy arrays give NumPy arrays.
    `map_location` is the same.
    """
    if isinstance(objects, (str, Device)):          # the place, as PyTorch's programs give it
        map_location, objects = objects, True
    device = map_location if device is None else device
    return open_model(archive.Reader(archive.path_of(path)), objects, Device(device) if device is not None else CPU)
