"""The eager runtime: tensors, the dispatch that runs operators on them, and all that users call.

Rooms, from the bottom to the top:

    state, core, pytree, backends, profiler, autograd, memo, cpu, cuda, api/register, interop, foreach, amp, api/views,
    api/math, api/nn, api/random, api/tensor_classes, signal, func, api/sparse, linalg, quasirandom, distributions,
    masked, nested, stored_weights, array_api, distributed/stores, distributed/engines, distributed/groups,
    distributed/launchers,
    nn/base, nn/functional, nn/layers, nn/utils, optim, multiprocessing, data, quantization, serialization,
    distributed/collectives, distributed/training, nn/parallel, nn/modules, distributed/tensor,
    distributed/tensor/parallel, distributed/fsdp, distributed/checkpoint, toolbox, namespaces, cuda/api.

A room imports itself and the rooms before it.
"""

from ..ir.lazy import lazy as _lazy
from .core.backend import enter as _enter
from .state import collector as collector  # (loaded now: it adds a callback)

_enter("cpu", _lazy(__package__, ".cpu.backend"))
_enter("cuda", _lazy(__package__, ".cuda.backend"))
