"""Triton's driver on ingot: users' Triton kernels run on ingot's devices, streams and memory.

Triton asks a *driver* for the current device and stream, and to load and launch code. Its own driver takes both from PyTorch
(newer ones use the default stream without it) and compiles a launcher in C. This driver needs neither; `serve` installs it. The
interface has been the same since Triton 3.6.
"""

import importlib
import struct
from ctypes import addressof, byref, c_uint64, c_void_p
from typing import Any

from ....ir.errors import DeviceError, DTypeError
from ....ir.locks import new_lock
from ...core.device import as_device
from ...core.device_array import DeviceArray
from ...core.tensor import Tensor
from ..driver import context as contexts
from ..driver import streams
from ..memory.pools import Memory
from .compile import PARAMETER_CODES, parts_of_drivers
from .launch import Config, attributes_of, cluster_attributes, load

TRITON: Any = parts_of_drivers()

_MAX_THREADS, _LOCAL_BYTES, _REGISTERS = 0, 3, 4            # of CUfunction_attribute
_COOPERATIVE, _SERIALIZED = 2, 6                            # of CUlaunchAttributeID
_POINTER_ON_DEVICE = 3                                      # of CUpointer_attribute
_CODES = PARAMETER_CODES | {"fp16": "e", "f32": "f"}
_CACHE_BYTES = 256 << 20        # bytes written before each measurement, to clear caches


class Code:
    """Triton's driver utils: load machine code, and query devices."""

    def load_binary(self, name, code, shared, device):
        """Return (module, function, registers, spilled words, most threads of a block); the module stays loaded."""
        context = contexts.context(device)
        cuda = context.driver
        module, function = load(context, code, name, shared)
        registers, local, threads = (cuda.number("cuFuncGetAttribute", attribute, function)
                                     for attribute in (_REGISTERS, _LOCAL_BYTES, _MAX_THREADS))
        return module, function, registers, local // 4, threads

    def unload_module(self, module):
        """Do nothing: a kernel may still wait in a stream."""

    def get_device_properties(self, device) -> dict:
        context = contexts.context(device)
        properties = context.properties()
        return {"max_shared_mem": context.shared_memory, "max_num_regs": properties["regs_per_multiprocessor"],
                "multiprocessor_count": context.processors, "warpSize": properties["warp_size"],
                "sm_clock_rate": properties["clock_rate"], "mem_clock_rate": properties["memory_clock_rate"],
                "mem_bus_width": properties["memory_bus_width"]}

    def get_device_capability(self, device) -> tuple[int, int]:
        return contexts.context(device).capability


def _leaves(kinds, values) -> list:
    """Return (kind, value) of all machine-code parameters of the function's: tuples are flattened, constants dropped."""
    found = []
    for kind, value in zip(kinds, values):
        if isinstance(kind, tuple):
            found += _leaves(kind, value)
        elif kind != "constexpr":
            found.append((kind, value))
    return found


def flat(kinds) -> list:
    """Return the kinds of all machine-code parameters."""
    return [leaf for kind in kinds for leaf in (flat(kind) if isinstance(kind, tuple) else [kind]) if leaf != "constexpr"]


class Launcher:
    """Launcher of one compiled kernel."""

    def __init__(self, src, metadata):
        self.name, self.kinds = metadata.name, tuple(src.signature.values())
        leaves = flat(self.kinds)
        if any(kind.startswith("tensordesc") for kind in leaves):
            raise DeviceError(f"kernel {self.name} takes tensor descriptors from the host, which ingot does not make; make "
                              "them in the kernel, by tl.make_tensor_descriptor")
        self.clusters = getattr(metadata, "num_ctas", 1)
        self.scratch = [getattr(metadata, f"{use}_scratch_size", 0) or 0 for use in ("global", "profile")]
        self.threads, self.shared = 32 * metadata.num_warps, metadata.shared
        self.cooperative = bool(getattr(metadata, "launch_cooperative_grid", False))
        self.overlapping = bool(getattr(metadata, "launch_pdl", False))
        self._pack = struct.Struct("=" + "".join(_slot(kind) for kind in (*leaves, "*scratch", "*scratch")))
        self._lock = new_lock()
        self._prepare()

    def _prepare(self):
        """Prepare the driver's structures: an 8-byte slot for each parameter, and the launch attributes."""
        count = self._pack.size // 8
        self._slots = (c_uint64 * count)()
        self._pointers = (c_void_p * count)(*[addressof(self._slots) + 8 * i for i in range(count)])
        config = self._config = Config()
        config.block[0], config.block[1], config.block[2] = self.threads, 1, 1
        config.shared = self.shared
        values: list[tuple[int, tuple]] = [(_COOPERATIVE, (1,))] * self.cooperative + [(_SERIALIZED, (1,))] * self.overlapping
        self._attributes = attributes_of(config, values + cluster_attributes(self.clusters))

    def __call__(self, x, y, z, stream, function, packed, launch_metadata, enter_hook, exit_hook, *args):
        if x * y * z <= 0:
            return
        if enter_hook is not None:
            enter_hook(launch_metadata)
        context = contexts.context()
        scratch = [Memory(context.index, x * y * z * self.clusters * size, stream) if size else None for size in self.scratch]
        values = [_value(self.name, context, kind, value) for kind, value in _leaves(self.kinds, args)]
        with self._lock:
            grid, config = self._config.grid, self._config
            grid[0], grid[1], grid[2], config.stream = x * self.clusters, y, z, stream
            self._pack.pack_into(self._slots, 0, *values, *[memory.pointer if memory else 0 for memory in scratch])
            context.driver.cuLaunchKernelEx(addressof(config), function, addressof(self._pointers), None)
        if exit_hook is not None:
            exit_hook(launch_metadata)


def _slot(kind: str) -> str:
    code = "Q" if kind[0] == "*" else "H" if kind == "bf16" else _CODES.get(kind)
    if code is None:
        raise DTypeError(f"a kernel has a parameter of the kind {kind}, which ingot does not pass")
    return f"{code}{8 - struct.calcsize('=' + code)}x"


def _value(name, context, kind, value) -> Any:
    if kind[0] == "*":
        return _address(name, context, value)
    if kind == "bf16":
        return struct.unpack("<I", struct.pack("<f", value))[0] >> 16
    return int(value) if kind == "i1" or kind == "u1" else value


def _address(name, context, value) -> int:
    if value is None or isinstance(value, int):
        return value or 0
    pointer = value.data_ptr()
    if pointer and not _is_on_device(context, value, pointer):
        raise DeviceError(f"kernel {name} was given a tensor in the memory of the host; move it by .cuda() first")
    return pointer


def _is_on_device(context, value, pointer) -> bool:
    if isinstance(value, Tensor):
        return value._a.__class__ is DeviceArray
    return context.driver.raw["cuPointerGetAttribute"](byref(c_uint64()), _POINTER_ON_DEVICE, pointer) == 0


class IngotDriver(TRITON.Driver):
    """Triton's driver on ingot."""

    def __init__(self):
        self.utils, self.launcher_cls = Code(), Launcher
        self.get_current_device, self.set_current_device = contexts.current, contexts.set_current
        self.get_device_capability = self.utils.get_device_capability

    @staticmethod
    def is_active() -> bool:
        return contexts.count() > 0

    def get_current_stream(self, device) -> int:
        return streams.current(contexts.current() if device is None else device).handle

    def get_current_target(self):
        return TRITON.Target("cuda", contexts.context().arch, 32)

    def map_python_to_cpp_type(self, ty: str) -> str:
        """Refuse: ingot uses no C compiler."""
        raise DeviceError(f"ingot launches kernels without C++, so {ty} has no type there")

    def get_active_torch_device(self):
        return as_device(f"cuda:{contexts.current()}")

    def get_device_interface(self):
        """Return the module with streams and events."""
        return importlib.import_module("..api", __package__)

    def get_benchmarker(self):
        """Return Triton's timing function for autotuning."""
        return TRITON.measure

    def get_empty_cache_for_benchmark(self) -> Memory:
        """Return memory larger than a device's caches."""
        return Memory(contexts.current(), _CACHE_BYTES)

    def clear_cache(self, cache):
        cuda = contexts.context(cache.device).driver
        cuda.cuMemsetD8Async(cache.pointer, 0, cache.nbytes, streams.current(cache.device).handle)

    def assemble_tensormap_to_arg(self, tensormaps_info, args):
        return args


def serve():
    """Install this driver in Triton."""
    if not isinstance(TRITON.in_use._active, IngotDriver):
        TRITON.in_use.set_active(IngotDriver())
