"""Machine code on a device: load it, and launch it with parameters packed into one block of memory."""

import ctypes
import struct
from ctypes import addressof, byref, c_int, c_uint, c_void_p
from functools import partial

from ....ir.errors import DeviceError
from ....ir.locks import new_lock
from ..driver import context as contexts
from ..driver import launch_queue
from ..driver.driver_state import DriverCache, thread
from ..driver.held_calls import ReadyCall
from ..driver.launch_queue import waiting
from ..memory.pools import Memory, mode_exchange, with_room
from . import compile as compiler
from .compile import Binary

FREE_SHARED = 49152                  # bytes of shared memory that every kernel may have without asking
MOST_SHARED_ATTRIBUTE = 8
_CLUSTER, _CLUSTER_POLICY, _SPREAD = 4, 5, 1
_REGISTERS = 4                        # bytes of shared memory that every kernel may use without an attribute


class Attribute(ctypes.Structure):
    """CUlaunchAttribute."""

    _fields_ = [("id", c_int), ("pad", c_int), ("value", c_uint * 16)]


class Config(ctypes.Structure):
    """CUlaunchConfig."""

    _fields_ = [("grid", c_uint * 3), ("block", c_uint * 3), ("shared", c_uint), ("stream", c_void_p),
                ("attributes", ctypes.POINTER(Attribute)), ("count", c_uint)]


def grid_of(config: int) -> tuple:
    """Return the grid of the launch configuration at an address."""
    return tuple(Config.from_address(config).grid)


def attributes_of(config: Config, values: list):
    """Set a launch's attributes, (number, words) of each; return their array, which the caller holds."""
    attributes = (Attribute * max(1, len(values)))()
    for attribute, (number, words) in zip(attributes, values):
        attribute.id, attribute.value[:len(words)] = number, words
    config.attributes, config.count = ctypes.cast(attributes, ctypes.POINTER(Attribute)), len(values)
    return attributes


def load(context, code: bytes, name: str, shared: int) -> tuple:
    """Return (module, function) of machine code that takes so many bytes of shared memory; the module stays loaded."""
    driver, device = context.driver, context.index
    exchange = mode_exchange(driver)
    try:
        exchange()          # (drivers may load code as late as its functions are requested)
        module = with_room(device, lambda: driver.handle("cuModuleLoadData", code))
        handle = with_room(device, lambda: driver.handle("cuModuleGetFunction", module, name.encode()))
    finally:
        exchange()
    if shared > FREE_SHARED:
        driver.cuFuncSetAttribute(handle, MOST_SHARED_ATTRIBUTE, shared)
    return module, handle


def cluster_attributes(clusters: int) -> list:
    """Return the launch attributes of a number of clusters."""
    return [(_CLUSTER, (clusters, 1, 1)), (_CLUSTER_POLICY, (_SPREAD,))] if clusters > 1 else []


class LaunchRequest:
    """Launch parameters in the form that the driver reads.

    block, words    the parameters, as bytes and as words of 8
    addresses       arguments of cuLaunchKernelEx
    stream          stream of the launch
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
        config.block[0], config.block[1], config.block[2] = binary.threads, 1, 1
        config.shared = binary.shared
        self._attributes = attributes_of(config, cluster_attributes(binary.clusters))
        self._clusters, self.stream = binary.clusters, 0
        self.addresses = addressof(config), function.handle, addressof(self._pointers), None

    def run_in(self, grid, stream):
        x, y, z = grid
        config = self.config
        config.grid[0], config.grid[1], config.grid[2] = x * self._clusters, y, z
        self.move_to(stream)

    def move_to(self, stream):
        self.config.stream = self.stream = stream


class RepeatedLaunch:
    """A launch that is repeated on other addresses.

    The first call launches as usual, because most launches made for new sizes run once.

    moving   (parameter, number of a slot, bytes from its start) of each address that differs between calls
    """

    __slots__ = ("_args", "_free", "_grid", "_launch", "_moving", "_words", "function")

    def __init__(self, function: "Function", grid, args, moving):
        self.function, self._grid, self._args, self._moving = function, grid, args, moving
        self._words: list | None = None     # (word of the parameters, number of a slot, bytes from its start)
        self._free: list = []               # requests that no thread is about to use
        self._launch = function.driver.raw["cuLaunchKernelEx"]

    def __call__(self, stream, at):
        """Launch on the addresses `at` of slots."""
        if waiting or self._words is None:
            self._launch_directly(stream, at)
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
        request = LaunchRequest(self.function)
        self.function.fill(request, self._args)
        request.run_in(self._grid, stream)
        return request

    def _launch_directly(self, stream, at):
        """Launch as usual: behind calls that wait for kernels, or for the first time."""
        offsets = self.function.binary.offsets
        self._words = [(offsets[n] // 8, number, more) for n, number, more in self._moving]
        self.function(self._grid, stream, *bound_arguments(self._args, self._moving, at))


def bound_arguments(args, moving, at) -> list:
    """Return the arguments of a launch on other addresses; see `RepeatedLaunch`."""
    found = list(args)
    for n, number, more in moving:
        found[n] = at[number] + more
    return found


class Function:
    """A kernel loaded on one device, called with a grid, a stream and its parameters."""

    def __init__(self, device: int, binary: Binary):
        self.binary, self.context = binary, contexts.context(device)
        driver = self.driver = self.context.driver
        if binary.shared > self.context.shared_memory:
            raise DeviceError(f"kernel {binary.name} asks for {binary.shared} bytes of shared memory, and a block of "
                              f"cuda:{device} may have {self.context.shared_memory}")
        self.module, self.handle = load(self.context, binary.code, binary.name, binary.shared)
        self._pack = struct.Struct(binary.layout)
        self._lock = new_lock()
        self._request = LaunchRequest(self)
        self._free: list = []               # requests of launches that were held back
        self._launch = driver.raw["cuLaunchKernelEx"]

    def __call__(self, grid, stream: int, *args):
        """Put the kernel into a stream of its device; `args` are addresses and numbers, in order."""
        recorder = thread.recorder
        if recorder is not None:
            recorder.calls += 1
            if recorder.holds_back:
                recorder.hold(self.driver, self, (grid, stream, *args), partial(self._ready, grid, stream, args))
                return
        if waiting and launch_queue.defer(self.driver, self, (grid, stream, *args)):
            return
        scratch = self._scratch(grid, stream) if self.binary.scratch else None
        request = self._request
        with self._lock:
            self.fill(request, args, 0 if scratch is None else scratch.pointer)
            request.run_in(grid, stream)
            code = self._launch(*request.addresses)
        if code:
            raise self.error(code)

    def _ready(self, grid, stream, args) -> ReadyCall:
        """Return a launch that is ready to be made, with a request of its own."""
        scratch = self._scratch(grid, stream) if self.binary.scratch else None
        try:
            request = self._free.pop()
        except IndexError:
            request = LaunchRequest(self)
        self.fill(request, args, 0 if scratch is None else scratch.pointer)
        request.run_in(grid, stream)
        return ReadyCall((self._launch, *request.addresses), self.error, partial(self._release, request, scratch))

    def _release(self, request, scratch):
        self._free.append(request)

    def fill(self, request: "LaunchRequest", args, scratch=0):
        self._pack.pack_into(request.block, 0, *args, scratch, 0)

    def error(self, code):
        return self.driver.error(f"the launch of {self.binary.name}", code)

    def _scratch(self, grid, stream):
        """Return memory that the kernel requires itself; it may be reused as soon as the kernel is in its stream."""
        x, y, z = grid
        return Memory(self.context.index, x * y * z * self.binary.clusters * self.binary.scratch, stream)

    def registers(self) -> int:
        """Return the registers per thread that the driver reports."""
        value = c_int()
        self.driver.cuFuncGetAttribute(byref(value), _REGISTERS, self.handle)
        return value.value


class PendingFunction:
    """A kernel that is being compiled, called like a `Function`; its launches wait in the queue (`launch_queue.py`)."""

    def __init__(self, device: int, future):
        self.device, self.future = device, future
        self.loaded: Function | None = None

    def __call__(self, grid, stream, *args):
        if self.loaded is None and (self.future.done() or not launch_queue.may_defer()):
            recorder = thread.recorder
            try:
                thread.recorder = None          # (a kernel is loaded once)
                self.loaded = function(self.device, self.future.result())
            finally:
                thread.recorder = recorder
        if self.loaded is not None:
            self.loaded(grid, stream, *args)
            return
        recorder = thread.recorder
        if recorder is not None:
            recorder.calls += 1
            if recorder.holds_back:
                recorder.hold(contexts.context(self.device).driver, self._launch, (grid, stream, args))
                return
        launch_queue.enqueue(contexts.context(self.device).driver, self._launch, (grid, stream, args))

    def _launch(self, grid, stream, args):
        binary = self.future.result()
        if binary.scratch:              # (a queued call may read that memory)
            raise DeviceError(f"kernel {binary.name} asks for memory of its own, which is not known before it is compiled")
        contexts.rebind()
        function(self.device, binary)(grid, stream, *args)


def pending_function(device: int, variant) -> Function | PendingFunction:
    """Return the loaded kernel of a variant, or a pending one. Kernels with own memory, for bulk copies, are compiled now."""
    binary = compiler.compiled(variant) if variant.source.copies_in_bulk else compiler.compile_async(variant)
    return function(device, binary) if isinstance(binary, compiler.Binary) else PendingFunction(device, binary)


_functions = DriverCache()


def function(device: int, binary: Binary) -> Function:
    """Return the loaded kernel of a binary on a device."""
    key = device, id(binary)
    return _functions.get(key) or _functions.put(key, Function(device, binary))
