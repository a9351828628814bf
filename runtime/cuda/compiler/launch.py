"""Machine code on a device: loading it, and launching it with parameters packed into one block of memory."""

import ctypes
import struct
import threading
from ctypes import addressof, byref, c_int, c_uint, c_void_p

from ....ir.errors import DeviceError
from ..driver import context as contexts
from ..driver import launch_queue
from ..driver.driver_state import thread as noting
from ..driver.launch_queue import waiting
from ..memory.pools import Memory, beside_captures, with_room
from . import compile as compiler
from .compile import Binary

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
    """Return the grid that a launch at an address asks for."""
    return tuple(Config.from_address(config).grid)


class Request:
    """What the driver reads when a kernel is launched, in memory of its own.

    block, words    the parameters, as bytes and as words of 8
    addresses       what cuLaunchKernelEx is called with
    stream          where it runs
    """

    __slots__ = ("_attributes", "_clusters", "_memory", "_pointers", "addresses", "block", "config", "stream", "words")

    def __init__(self, function: "Function"):
        binary = function.binary
        size = struct.calcsize(binary.layout)
        self._memory = ctypes.create_string_buffer(size + 128)
        start = -addressof(self._memory) % 128
        whole = memoryview(self._memory)[start:]
        self.block, self.words = whole[:size].cast("B"), whole[:size & -8].cast("B").cast("Q")
        first = addressof(self._memory) + start
        self._pointers = (c_void_p * len(binary.offsets))(*[first + o for o in binary.offsets])
        config = self.config = Config()
        self._attributes = (Attribute * 2)()
        config.block[0], config.block[1], config.block[2] = binary.threads, 1, 1
        config.shared = binary.shared
        config.attributes = ctypes.cast(self._attributes, ctypes.POINTER(Attribute))
        if binary.clusters > 1:
            cluster, policy = self._attributes
            cluster.id, policy.id, policy.value[0], config.count = _CLUSTER, _CLUSTER_POLICY, _SPREAD, 2
            cluster.value[0], cluster.value[1], cluster.value[2] = binary.clusters, 1, 1
        self._clusters, self.stream = binary.clusters, 0
        self.addresses = addressof(config), function.handle, addressof(self._pointers), None

    def run_in(self, grid, stream):
        """Tell how many programs run, and where."""
        x, y, z = grid
        config = self.config
        config.grid[0], config.grid[1], config.grid[2] = x * self._clusters, y, z
        self.move_to(stream)

    def move_to(self, stream):
        """Tell where it runs."""
        self.config.stream = self.stream = stream


class Repeated:
    """A launch that is asked for again and again, on other addresses. The first time it is as any other: most that are made for
    sizes which are new each time come once.

    moving   (parameter, number of a place, bytes from there) of each address that differs from call to call
    """

    __slots__ = ("_args", "_free", "_grid", "_launch", "_moving", "_words", "function")

    def __init__(self, function: "Function", grid, args, moving):
        self.function, self._grid, self._args, self._moving = function, grid, args, moving
        self._words: list | None = None     # (word of the parameters, number of a place, bytes from there)
        self._free: list = []               # requests that no thread is about to use
        self._launch = function.driver.raw["cuLaunchKernelEx"]

    def __call__(self, stream, at):
        """Launch on the places `at`."""
        if waiting or self._words is None:
            self._as_any_other(stream, at)
            return
        try:
            request = self._free.pop()
        except IndexError:
            request = self._new(stream)
        words = request.words
        for word, number, more in self._words:
            words[word] = at[number] + more
        if request.stream != stream:
            request.move_to(stream)
        code = self._launch(*request.addresses)
        self._free.append(request)
        if code:
            raise self.function.error(code)

    def _new(self, stream):
        request = Request(self.function)
        self.function.fill(request, self._args)
        request.run_in(self._grid, stream)
        return request

    def _as_any_other(self, stream, at):
        """Return the same, behind what waits for kernels, or for the first time."""
        offsets = self.function.binary.offsets
        self._words = [(offsets[n] // 8, number, more) for n, number, more in self._moving]
        self.function(self._grid, stream, *moved(self._args, self._moving, at))


def moved(args, moving, at) -> list:
    """Return the arguments of a launch on other places; see `Repeated`."""
    found = list(args)
    for n, number, more in moving:
        found[n] = at[number] + more
    return found


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
        self._request = Request(self)
        self._launch = driver.raw["cuLaunchKernelEx"]

    def __call__(self, grid, stream: int, *args):
        """Put the kernel into a stream of its device; `args` are addresses and numbers, in order."""
        if noting.notes is not None:
            noting.notes.asked += 1
        if waiting and launch_queue.instead(self.driver, self, (grid, stream, *args)):
            return
        scratch = self._scratch(grid, stream) if self.binary.scratch else None
        request = self._request
        with self._lock:
            self.fill(request, args, 0 if scratch is None else scratch.pointer)
            request.run_in(grid, stream)
            code = self._launch(*request.addresses)
        if code:
            raise self.error(code)

    def fill(self, request: "Request", args, scratch=0):
        """Write the parameters."""
        self._pack.pack_into(request.block, 0, *args, scratch, 0)

    def error(self, code):
        """What a launch raises for which the driver gave a number."""
        return self.driver.error(f"the launch of {self.binary.name}", code)

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
    """A kernel that is being compiled; called as a `Function` is. Its launches wait in line for it (`launch_queue.py`)."""

    def __init__(self, device: int, future):
        self.device, self.future = device, future
        self.loaded: Function | None = None

    def __call__(self, grid, stream, *args):
        if self.loaded is None and (self.future.done() or not launch_queue.may()):
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
        launch_queue.put(contexts.context(self.device).driver, self._launch, (grid, stream, args))

    def _launch(self, grid, stream, args):
        binary = self.future.result()
        if binary.scratch:              # (what lies there now may be what something in line reads)
            raise DeviceError(f"kernel {binary.name} asks for memory of its own, which is not known before it is compiled")
        contexts.rebind()
        function(self.device, binary)(grid, stream, *args)


def coming(device: int, variant) -> Function | Coming:
    """Return the loaded form of a variant if it was compiled, else one that comes later. Kernels that ask for memory of their
    own, for bulk copies, are compiled now."""
    binary = compiler.compiled(variant) if variant.source.copies_in_bulk else compiler.asked(variant)
    return function(device, binary) if isinstance(binary, compiler.Binary) else Coming(device, binary)


_functions: dict[tuple, Function] = {}


def function(device: int, binary: Binary) -> Function:
    """Return the loaded form of a binary on a device."""
    key = device, id(binary)
    found = _functions.get(key)
    if found is None:
        found = _functions[key] = Function(device, binary)
    return found


def forget():
    """Forget all loaded code, for a driver that was replaced."""
    _functions.clear()
