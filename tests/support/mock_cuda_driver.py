"""The functions of a CUDA driver in Python: device memory is host memory, streams are queues that run as late as they may,
kernels run as `mock_cuda_kernels` says. `mock_cuda.installed()` puts it in place.
"""

import bisect
import ctypes
import functools
import itertools
import json
import random
import threading

import numpy as np

import mock_cuda_kernels
import mock_cuda_tiles
from ingot.runtime.cuda.compiler import launch
from ingot.runtime.cuda.driver import launch_queue
from mock_cuda_rules import (
    BAD_HANDLE,
    BESIDE_A_COPY,
    CAPTURE_UNSUPPORTED,
    IN_A_CONTEXT,
    INVALID,
    MOST_SHARED,
    NO_CONTEXT,
    NO_MEMORY,
    NOT_IN_A_CAPTURE,
    OK,
    RELAXED,
    Event,
    Stream,
    Thread,
    Violation,
    refused_launch,
)
from mock_cuda_streams import Queues, put_into

_CLUSTER, _SHARED_OF_A_FUNCTION = 4, 8        # of CUlaunchAttributeID and CUfunction_attribute
_OF_FUNCTIONS = {0: 1024, 3: 0, 4: 32}        # most threads of a block, bytes of local memory, registers
_ATTRIBUTES = {8: 49152, 10: 32, 16: 4, 75: 9, 76: 0, 39: 2048, 82: 65536, 18: 0, 38: 50 << 20}


class MockDriver(Queues):
    """Every function of the driver that ingot calls, on `devices` devices with `memory` bytes each."""

    lanes_go_last = 0       # what a kernel is told of the compiler: either must give the same

    def __init__(self, devices=1, memory=1 << 30, seed=0, arch=90):
        self.devices, self.memory = devices, memory
        self.arch, self.most_shared = arch, MOST_SHARED.get(arch, MOST_SHARED[90])
        self.attributes = _ATTRIBUTES | {75: arch // 10, 76: arch % 10, 97: self.most_shared}
        self.random = random.Random(seed)
        self.thread = Thread()
        self.blocks: dict[int, tuple] = {}         # address -> (device, array)
        self.handed: list[tuple] = []              # (address, bytes) of what the allocator gave out last
        self.handing = threading.RLock()           # held while `handed` is read or written
        self.pinned: dict[int, np.ndarray] = {}
        self.borrowed: dict[int, Stream] = {}      # by thread: what still reads or writes ordinary memory of the host
        self.defaults = [Stream(i) for i in range(devices)]
        self.streams, self.spare = {}, []
        self.ended: list[Stream] = []              # destroyed, with what is left in them
        self.events: dict[int, Event] = {}
        self.modules: dict[int, dict] = {}
        self.graphs: dict[int, list] = {}
        self.homes: dict[int, int] = {}            # the device of a module or a graph
        self.numbers, self.clock = itertools.count(0x1000, 0x10), 0.0
        self.asked: dict[str, int] = {}
        self.launched: list[dict] = []
        self.uploaded = 0
        self.failing: dict[str, int] = {}          # calls that are to fail, with the code that they give
        self.failing_once: dict[str, int] = {}     # the same, once

    # State for tests: the calls so far, once all that waits for kernels is done.

    @property
    def calls(self) -> dict[str, int]:
        launch_queue.drain()
        return self.asked

    @property
    def launches(self) -> list[dict]:
        launch_queue.drain()
        return self.launched

    @property
    def sent(self) -> int:
        """Bytes that were copied to devices."""
        launch_queue.drain()
        return self.uploaded

    def handle(self):
        return next(self.numbers)

    def breaks_a_capture(self) -> bool:
        """Whether this thread captures and may not ask for what waits or has to do with all streams; the capture is lost."""
        capture = self.thread.capture
        if capture is None or RELAXED in (capture.mode, self.thread.mode):
            return False
        capture.broken = True
        return True

    def stream(self, handle):
        """A stream of the device whose context is current: others are refused."""
        if not handle:
            return self.defaults[self.thread.device]
        found = self.streams[handle]
        if found.device != self.thread.device:
            raise Violation(f"a stream of device {found.device} is used where device {self.thread.device} is current")
        return found

    # Initialisation and devices.

    def cuInit(self, flags):
        return OK

    def cuDriverGetVersion(self, out):
        put_into(out, 13000)
        return OK

    def cuGetErrorName(self, code, out):
        put_into(out, {NO_MEMORY: b"CUDA_ERROR_OUT_OF_MEMORY"}.get(code, b"CUDA_ERROR_MOCK"))
        return OK

    def cuGetErrorString(self, code, out):
        put_into(out, {NO_MEMORY: b"out of memory"}.get(code, b"mock error"))
        return OK

    def cuDeviceGetCount(self, out):
        put_into(out, self.devices)
        return OK

    def cuDeviceGet(self, out, index):
        put_into(out, index)
        return OK if 0 <= index < self.devices else 101

    def cuDeviceGetName(self, text, length, device):
        text.value = b"Mock H200"
        return OK

    def cuDeviceTotalMem_v2(self, out, device):
        put_into(out, self.memory)
        return OK

    def cuDeviceGetUuid_v2(self, raw, device):
        raw.raw = bytes(range(16))
        return OK

    def cuDeviceGetAttribute(self, out, attribute, device):
        put_into(out, self.attributes.get(attribute, 1))
        return OK

    def cuDeviceCanAccessPeer(self, out, device, other):
        put_into(out, 1)
        return OK

    def cuDevicePrimaryCtxRetain(self, out, device):
        put_into(out, 0xC000 + device)
        return OK

    def cuCtxSetCurrent(self, handle):
        self.thread.device = handle - 0xC000 if handle else None
        return OK

    def cuCtxGetCurrent(self, out):
        put_into(out, None if self.thread.device is None else 0xC000 + self.thread.device)
        return OK

    def cuCtxSynchronize(self):
        captures = [s.captured for s in self.streams.values() if s.device == self.thread.device and s.captured is not None]
        if captures:                               # of whatever thread and mode: it would wait for them
            for capture in captures:
                capture.broken = True
            return CAPTURE_UNSUPPORTED
        self.borrowed.clear()
        self.drain()
        return OK

    def cuCtxGetStreamPriorityRange(self, low, high):
        put_into(low, 0)
        put_into(high, -5)
        return OK

    def cuProfilerStart(self):
        return OK

    cuProfilerStop = cuProfilerStart

    # Memory.

    def cuMemGetInfo_v2(self, free, total):
        put_into(free, self.memory - self.used(self.thread.device))
        put_into(total, self.memory)
        return OK

    def used(self, device):
        return sum(a.nbytes for d, a in self.blocks.values() if d == device)

    def cuMemAlloc_v2(self, out, size):
        if not size:
            return INVALID
        if self.used(self.thread.device) + size > self.memory:
            return NO_MEMORY
        room = np.full(size + 512, 0xFF, np.uint8)
        start = -room.ctypes.data % 512
        block = room[start:start + size]
        self.blocks[block.ctypes.data] = (self.thread.device, block)
        put_into(out, block.ctypes.data)
        return OK

    def hand_out(self, address, size):
        """Says that a part of a block is one array from now on: who is given a place in it stays within."""
        with self.handing:
            first = bisect.bisect_right(self.handed, (address,))
            if first and sum(self.handed[first - 1]) > address:
                first -= 1
            self.handed[first:bisect.bisect_left(self.handed, (address + size,))] = [(address, size)]

    def array_at(self, address):
        """(start, bytes) of the array that an address points into; of the whole block where nobody said."""
        with self.handing:
            k = bisect.bisect_right(self.handed, (address, 1 << 62))
            if k and sum(self.handed[k - 1]) > address:
                return self.handed[k - 1]
        return next(((start, block.nbytes) for start, (_, block) in list(self.blocks.items())
                     if start <= address < start + block.nbytes), (address, 0))

    def spoil(self, stream, address, size):
        """Puts bytes into memory that are nan as numbers of any float dtype, when the stream comes to it."""
        home = next((start for start, (_, b) in self.blocks.items() if start <= address < start + b.nbytes), None)
        if home is None:
            return
        device, block = self.blocks[home]

        def work():
            if home in self.blocks:
                block[address - home:address - home + size] = 0xFF

        queue = self.streams.get(stream) if stream else self.defaults[device]
        if queue is not None:
            (queue.queue.append(work) if queue.captured is None else queue.captured.work.append((queue, work, False)))

    def cuMemFree_v2(self, pointer):
        self.drain()                               # as the driver does: freeing waits for the device
        if pointer not in self.blocks:
            raise Violation(f"cuMemFree of {pointer:#x}, which is not allocated")
        del self.blocks[pointer]
        return OK

    def cuMemHostAlloc(self, out, size, flags):
        if not size:
            return INVALID
        room = np.full(size + 4096, 0x5A, np.uint8)
        start = -room.ctypes.data % 4096
        block = room[start:start + size]
        self.pinned[block.ctypes.data] = block
        put_into(out, block.ctypes.data)
        return OK

    def cuMemFreeHost(self, pointer):
        if self.pinned.pop(pointer, None) is None:
            raise Violation("cuMemFreeHost of memory that is not page-locked")
        return OK

    def seen(self, address, size, what):
        """The bytes at an address of the device, which must be there."""
        for start, (_, block) in self.blocks.items():
            if start <= address and address + size <= start + block.nbytes:
                return block[address - start:address - start + size]
        raise Violation(f"{what}: {size} bytes at {address:#x} are not device memory")

    def is_pinned(self, address, size):
        return any(s <= address and address + size <= s + b.nbytes for s, b in self.pinned.items())

    @staticmethod
    def host(address, size):
        return np.frombuffer((ctypes.c_uint8 * size).from_address(address), np.uint8)

    def cuMemcpyHtoDAsync_v2(self, dst, src, size, stream):
        data = self.host(src, size)
        if not self.is_pinned(src, size):
            if self.stream(stream).captured is not None:
                return CAPTURE_UNSUPPORTED
            self.borrowed[threading.get_ident()], data = self.stream(stream), data.copy()
        self.uploaded += size

        def work():
            self.seen(dst, size, "copy to the device")[...] = data

        return self.put(stream, work)

    def cuMemcpyDtoHAsync_v2(self, dst, src, size, stream):
        def work():
            self.host(dst, size)[...] = self.seen(src, size, "copy to the host")

        if self.is_pinned(dst, size):
            return self.put(stream, work)
        if self.stream(stream).captured is not None:
            return CAPTURE_UNSUPPORTED
        self.borrowed[threading.get_ident()] = self.stream(stream)
        return self.put(stream, work)

    def cuMemcpyDtoDAsync_v2(self, dst, src, size, stream):
        if abs(dst - src) < size:
            raise Violation("a copy of memory onto itself")

        def work():
            self.seen(dst, size, "copy")[...] = self.seen(src, size, "copy").copy()

        return self.put(stream, work)

    def cuMemcpyPeerAsync(self, dst, dst_context, src, src_context, size, stream):
        return self.cuMemcpyDtoDAsync_v2(dst, src, size, stream)

    def cuMemsetD8Async(self, dst, value, count, stream):
        def work():
            self.seen(dst, count, "fill")[...] = value

        return self.put(stream, work)

    def cuMemsetD32Async(self, dst, value, count, stream):
        if dst % 4:
            return INVALID
        def work():
            self.seen(dst, 4 * count, "fill").view(np.uint32)[...] = value

        return self.put(stream, work)

    def cuPointerGetAttribute(self, out, attribute, pointer):
        home = next((d for start, (d, b) in self.blocks.items() if start <= pointer < start + b.nbytes), None)
        put_into(out, home or 0)
        return INVALID if home is None else OK

    # Kernels.

    def cuModuleLoadData(self, out, code):
        handle = self.handle()
        if code[:4] != b"\x7fELF":
            return 200
        self.modules[handle] = json.loads(code[4:])
        self.homes[handle] = self.thread.device
        put_into(out, handle)
        return OK

    def cuModuleUnload(self, module):
        del self.modules[module]
        return OK

    def cuModuleGetFunction(self, out, module, name):
        if self.modules[module]["name"] != name.decode():
            return 500
        put_into(out, module)
        return OK

    def cuFuncSetAttribute(self, function, attribute, value):
        if attribute == _SHARED_OF_A_FUNCTION:
            if value > self.most_shared:
                return INVALID
            self.modules[function]["asked"] = value
        return OK

    def cuFuncGetAttribute(self, out, attribute, function):
        put_into(out, _OF_FUNCTIONS[attribute])
        return OK

    def cuLaunchKernelEx(self, config, function, parameters, extra):
        config = launch.Config.from_address(config)
        kernel, queue = self.modules[function], self.stream(config.stream)
        if not self.homes[function] == self.thread.device == queue.device:
            return BAD_HANDLE
        values = mock_cuda_kernels.parameters(kernel, parameters)
        grid = tuple(config.grid)
        cluster = next((a.value[0] for a in config.attributes[:config.count] if a.id == _CLUSTER), 1)
        refused = refused_launch(kernel, config, cluster, kernel.get("asked", 0), self.arch)
        if refused:
            return refused
        self.launched.append({"name": kernel["name"], "grid": grid, "block": tuple(config.block), "shared": config.shared,
                              "stream": config.stream or 0, "values": values})
        for n, unit in kernel["units"].items():
            if values[int(n)] % unit:
                raise Violation(f"{kernel['name']}: parameter {n} was said to be a multiple of {unit} and is {values[int(n)]}")
        arrays = [self.array_at(v) if k[0] == "*" and v else None for k, v in zip(kernel["kinds"], values)]
        return self.put(config.stream, lambda: mock_cuda_kernels.run(self, kernel, grid, values, arrays, queue.device))


def _asked(name, function):
    """A function of the driver as the runtime meets it: counted, refused where a device would not answer."""

    @functools.wraps(function)
    def call(self, *args):
        self.asked[name] = self.asked.get(name, 0) + 1
        if name in self.failing or name in self.failing_once:
            return self.failing.get(name) or self.failing_once.pop(name)
        if threading.get_ident() in self.borrowed and name not in BESIDE_A_COPY:
            raise Violation(f"{name} while a copy that nobody waits for may still be at ordinary memory of the host")
        if name in IN_A_CONTEXT and self.thread.device is None:
            return NO_CONTEXT
        if name in NOT_IN_A_CAPTURE and self.breaks_a_capture():
            return CAPTURE_UNSUPPORTED
        return function(self, *args)

    return call


for _name, _function in (vars(Queues) | vars(MockDriver)).items():
    if _name.startswith("cu") and _name[2:3].isupper():
        setattr(MockDriver, _name, _asked(_name, _function))
mock_cuda_tiles.as_library(globals())
