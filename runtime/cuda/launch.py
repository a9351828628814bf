"""Machine code on a device: loading it, and launching it with parameters packed into one block of memory."""

import ctypes
import struct
import threading
from ctypes import addressof, byref, c_int, c_uint, c_void_p

from ...ir.errors import DeviceError
from . import compile as compiler
from . import context as contexts
from . import late
from .compile import Binary
from .late import waiting
from .noting import thread as noting
from .pools import Memory, beside_captures, with_room

FREE_SHARED = 49152                  # bytes of shared memory that every kernel may have without asking
MOST_SHARED_ATTRIBUTE = 8
_CLUSTER, _CLUSTER_POLICY, _SPREAD = 4, 5, 1
_REGISTERS = 4                        # of CUfunction_attribute


class Attribute(ctypes.Structure):
    """CUlaunchAttribute."""

    _fields_ = [("id", c_int), ("pad", c_int), ("value", c_uint * 16)]


class Config(ctypes.Structure):
    """CUlaunchConfig."""

    _fields_ = [("grid", c_uint * 3), ("block", c_uint * 3), ("shared", c_uint), ("stream", c_void_p),
                ("attributes", ctypes.POINTER(Attribute)), ("count", c_uint)]


def grid_of(config: int) -> tuple:
    """The grid that a launch at an address asks for."""
    return tuple(Config.from_address(config).grid)


class Function:
    """A kernel, loaded on one device. Called with a grid, a stream and its parameters, it is launched there."""

    def __init__(self, device: int, binary: Binary):
        self.binary, self.context = binary, contexts.context(device)
        driver = self.driver = self.context.driver
        if binary.shared > self.context.shared_memory:
            raise DeviceError(f"kernel {binary.name} asks for {binary.shared} bytes of shared memory, and a block of "
                              f"cuda:{device} may have {self.context.shared_memory}")
        with beside_captures(driver):       # (code goes to a device no sooner than its functions are asked for)
            self.module = with_room(device, lambda: driver.handle("cuModuleLoadData", binary.code))
            self.handle = with_room(device, lambda: driver.handle("cuModuleGetFunction", self.module, binary.name.encode()))
        if binary.shared > FREE_SHARED:
            driver.cuFuncSetAttribute(self.handle, MOST_SHARED_ATTRIBUTE, binary.shared)
        self._pack = struct.Struct(binary.layout)
        self._lock = threading.Lock()
        self._prepare()

    def _prepare(self):
        """Lays out what the driver reads at a launch; only parameters, grid and stream change from call to call."""
        self._memory = ctypes.create_string_buffer(self._pack.size + 128)
        start = -addressof(self._memory) % 128
        self._block = memoryview(self._memory)[start:start + self._pack.size].cast("B")
        first = addressof(self._memory) + start
        self._pointers = (c_void_p * len(self.binary.offsets))(*[first + o for o in self.binary.offsets])
        config = self._config = Config()
        self._attributes = (Attribute * 2)()
        config.block[0], config.block[1], config.block[2] = self.binary.threads, 1, 1
        config.shared = self.binary.shared
        config.attributes = ctypes.cast(self._attributes, ctypes.POINTER(Attribute))
        if self.binary.clusters > 1:
            cluster, policy = self._attributes
            cluster.id, policy.id, policy.value[0], config.count = _CLUSTER, _CLUSTER_POLICY, _SPREAD, 2
            cluster.value[0], cluster.value[1], cluster.value[2] = self.binary.clusters, 1, 1
        self._grid = config.grid
        self._launch = self.driver.raw["cuLaunchKernelEx"]
        self._addresses = addressof(config), self.handle, addressof(self._pointers)

    def __call__(self, grid, stream: int, *args):
        """Puts the kernel into a stream of its device; `args` are addresses and numbers, in order."""
        if noting.notes is not None:
            noting.notes.asked += 1
        if waiting and late.instead(self.driver, self, (grid, stream, *args)):
            return
        scratch = self._scratch(grid, stream) if self.binary.scratch else None
        with self._lock:
            self._pack.pack_into(self._block, 0, *args, 0 if scratch is None else scratch.pointer, 0)
            x, y, z = grid
            g = self._grid
            g[0], g[1], g[2] = x * self.binary.clusters, y, z
            self._config.stream = stream
            code = self._launch(*self._addresses, None)
        if code:
            raise self.driver.error(f"the launch of {self.binary.name}", code)

    def _scratch(self, grid, stream):
        """Memory that the kernel asked for itself; it may be reused as soon as the kernel is in its stream, and no sooner."""
        x, y, z = grid
        return Memory(self.context.index, x * y * z * self.binary.clusters * self.binary.scratch, stream)

    def registers(self) -> int:
        """Registers per thread, as the driver says."""
        value = c_int()
        self.driver.cuFuncGetAttribute(byref(value), _REGISTERS, self.handle)
        return value.value


class Coming:
    """A kernel that is being compiled; called as a `Function` is. Its launches wait in line for it (`late.py`)."""

    def __init__(self, device: int, future):
        self.device, self.future = device, future
        self.loaded: Function | None = None

    def __call__(self, grid, stream, *args):
        if self.loaded is None and (self.future.done() or not late.may()):
            notes, noting.notes = noting.notes, None        # what is asked to load it is asked once
            try:
                self.loaded = function(self.device, self.future.result())
            finally:
                noting.notes = notes
        if self.loaded is not None:
            self.loaded(grid, stream, *args)
            return
        if noting.notes is not None:
            noting.notes.asked += 1
        late.put(contexts.context(self.device).driver, self._launch, (grid, stream, args))

    def _launch(self, grid, stream, args):
        binary = self.future.result()
        if binary.scratch:              # (what lies there now may be what something in line reads)
            raise DeviceError(f"kernel {binary.name} asks for memory of its own, which is not known before it is compiled")
        contexts.rebind()
        function(self.device, binary)(grid, stream, *args)


def coming(device: int, variant) -> Function | Coming:
    """The loaded form of a variant if it was compiled, else one that comes later. Kernels that ask for memory of their own, for
    bulk copies, are compiled now."""
    binary = compiler.compiled(variant) if variant.source.copies_in_bulk else compiler.asked(variant)
    return function(device, binary) if isinstance(binary, compiler.Binary) else Coming(device, binary)


_functions: dict[tuple, Function] = {}


def function(device: int, binary: Binary) -> Function:
    """The loaded form of a binary on a device."""
    key = device, id(binary)
    found = _functions.get(key)
    if found is None:
        found = _functions[key] = Function(device, binary)
    return found


def forget():
    """Forgets all loaded code, for a driver that was replaced."""
    _functions.clear()
