"""The functions of a CUDA driver in Python: device memory is host memory, streams are queues that run as late as they may,
kernels run on numpy through `mock_cuda_triton`. `mock_cuda.installed()` puts it in place.
"""

import ctypes
import gc
import json
import random

import numpy as np

import mock_cuda_triton
from ingot.runtime.cuda import launch

OK, INVALID, NO_MEMORY, NOT_READY, CAPTURE_UNSUPPORTED = 0, 1, 2, 600, 900
_ATTRIBUTES = {8: 49152, 10: 32, 16: 4, 75: 9, 76: 0, 97: 232448, 39: 2048, 82: 65536, 18: 0, 38: 50 << 20}


class Violation(AssertionError):
    """Something that a real device would not forgive."""


def _set(reference, value):
    reference._obj.value = value


class Stream:
    """Work that has not run yet; `captured` collects it instead while a capture is under way."""

    def __init__(self):
        self.queue, self.captured = [], None


class Event:
    """How often it was recorded, and up to which recording it was reached."""

    def __init__(self):
        self.recorded = self.reached = 0
        self.time = 0.0


class MockDriver:
    """Every function of the driver that ingot calls, on `devices` devices with `memory` bytes each."""

    lanes_go_last = 0       # what a kernel is told of the compiler: either must give the same

    def __init__(self, devices=1, memory=1 << 30, seed=0, arch=90):
        self.devices, self.memory = devices, memory
        self.attributes = _ATTRIBUTES | {75: arch // 10, 76: arch % 10}
        self.random = random.Random(seed)
        self.current = 0
        self.blocks: dict[int, tuple] = {}         # address -> (device, array)
        self.pinned: dict[int, np.ndarray] = {}
        self.streams, self.spare = {0: Stream()}, []
        self.ended: list[Stream] = []              # destroyed, with what is left in them
        self.events: dict[int, Event] = {}
        self.modules: dict[int, dict] = {}
        self.graphs: dict[int, list] = {}
        self.next, self.clock = 0x1000, 0.0
        self.calls: dict[str, int] = {}
        self.launches: list[dict] = []
        self.sent = 0                              # bytes that were copied to devices
        self.failing: dict[str, int] = {}          # calls that are to fail, with the code that they give

    def __getattribute__(self, name):
        found = object.__getattribute__(self, name)
        if not (name.startswith("cu") and name[2:3].isupper()):
            return found

        def call(*args):
            self.calls[name] = self.calls.get(name, 0) + 1
            return self.failing[name] if name in self.failing else found(*args)

        return call

    def handle(self):
        self.next += 0x10
        return self.next

    # What and where.

    def cuInit(self, flags):
        return OK

    def cuDriverGetVersion(self, out):
        _set(out, 13000)
        return OK

    def cuGetErrorName(self, code, out):
        _set(out, {NO_MEMORY: b"CUDA_ERROR_OUT_OF_MEMORY"}.get(code, b"CUDA_ERROR_MOCK"))
        return OK

    def cuGetErrorString(self, code, out):
        _set(out, {NO_MEMORY: b"out of memory"}.get(code, b"mock error"))
        return OK

    def cuDeviceGetCount(self, out):
        _set(out, self.devices)
        return OK

    def cuDeviceGet(self, out, index):
        _set(out, index)
        return OK if 0 <= index < self.devices else 101

    def cuDeviceGetName(self, text, length, device):
        text.value = b"Mock H200"
        return OK

    def cuDeviceTotalMem_v2(self, out, device):
        _set(out, self.memory)
        return OK

    def cuDeviceGetUuid_v2(self, raw, device):
        raw.raw = bytes(range(16))
        return OK

    def cuDeviceGetAttribute(self, out, attribute, device):
        _set(out, self.attributes.get(attribute, 1))
        return OK

    def cuDeviceCanAccessPeer(self, out, device, other):
        _set(out, 1)
        return OK

    def cuDevicePrimaryCtxRetain(self, out, device):
        _set(out, 0xC000 + device)
        return OK

    def cuCtxSetCurrent(self, handle):
        self.current = handle - 0xC000
        return OK

    def cuCtxGetCurrent(self, out):
        _set(out, 0xC000 + self.current)
        return OK

    def cuCtxSynchronize(self):
        self.drain()
        return OK

    def cuCtxGetStreamPriorityRange(self, low, high):
        return OK

    # Memory.

    def cuMemGetInfo_v2(self, free, total):
        _set(free, self.memory - self.used(self.current))
        _set(total, self.memory)
        return OK

    def used(self, device):
        return sum(a.nbytes for d, a in self.blocks.values() if d == device)

    def cuMemAlloc_v2(self, out, size):
        if self.used(self.current) + size > self.memory:
            return NO_MEMORY
        room = np.full(size + 512, 0xFF, np.uint8)
        start = -room.ctypes.data % 512
        block = room[start:start + size]
        self.blocks[block.ctypes.data] = (self.current, block)
        _set(out, block.ctypes.data)
        return OK

    def spoil(self, stream, address, size):
        """Puts bytes into memory that are nan as numbers of any float dtype, when the stream comes to it."""
        def work():
            for start, (_, block) in self.blocks.items():
                if start <= address < start + block.nbytes:
                    block[address - start:address - start + size] = 0xFF

        if stream in self.streams or not stream:
            self.put(stream, work)

    def cuMemFree_v2(self, pointer):
        self.drain()                               # as the driver does: freeing waits for the device
        if pointer not in self.blocks:
            raise Violation(f"cuMemFree of {pointer:#x}, which is not allocated")
        del self.blocks[pointer]
        return OK

    def cuMemHostAlloc(self, out, size, flags):
        room = np.full(size + 4096, 0x5A, np.uint8)
        start = -room.ctypes.data % 4096
        block = room[start:start + size]
        self.pinned[block.ctypes.data] = block
        _set(out, block.ctypes.data)
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
        data = data if self.is_pinned(src, size) else data.copy()
        self.sent += size

        def work():
            self.seen(dst, size, "copy to the device")[...] = data

        return self.put(stream, work)

    def cuMemcpyDtoHAsync_v2(self, dst, src, size, stream):
        def work():
            self.host(dst, size)[...] = self.seen(src, size, "copy to the host")

        self.put(stream, work)
        if not self.is_pinned(dst, size):
            self.wait_for(stream)
        return OK

    def cuMemcpyDtoDAsync_v2(self, dst, src, size, stream):
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
        def work():
            self.seen(dst, 4 * count, "fill").view(np.uint32)[...] = value

        return self.put(stream, work)

    def cuPointerGetAttribute(self, out, attribute, pointer):
        return OK

    # Streams and events.

    def put(self, stream, work):
        queue = self.streams[stream or 0]
        (queue.queue if queue.captured is None else queue.captured).append(work)
        return OK

    def run_one(self, queue) -> bool:
        """Runs the first thing in a queue, unless it waits for an event of another. Nobody's finaliser comes between: a device
        would not run it, and what it asks of the driver must not run the things that follow."""
        if not queue.queue:
            return False
        work = queue.queue.pop(0)
        collecting = gc.isenabled()
        gc.disable()
        try:
            waits = work() is False
        finally:
            if collecting:
                gc.enable()
        if waits:
            queue.queue.insert(0, work)
            return False
        return True

    def queues(self):
        """All that holds work."""
        self.ended = [s for s in self.ended if s.queue]
        return [*self.streams.values(), *self.ended]

    def run_some(self, count=1):
        """Runs some work of streams in any order."""
        for _ in range(count):
            self.run_one(self.random.choice(self.queues()))

    def drain(self):
        """Runs everything."""
        while any(s.queue for s in self.queues()):
            order = self.queues()
            self.random.shuffle(order)
            if not any([self.run_one(s) for s in order]):  # noqa: C419  (each runs)
                raise Violation("streams wait for each other forever")

    def wait_for(self, stream):
        queue = self.streams[stream or 0]
        if queue.captured is not None:
            return CAPTURE_UNSUPPORTED
        while queue.queue:
            if not self.run_one(queue):
                others = [s for s in self.queues() if s is not queue]
                if not any([self.run_one(s) for s in others]):  # noqa: C419
                    raise Violation("a stream waits forever")
        return OK

    def cuStreamCreateWithPriority(self, out, flags, priority):
        handle = self.spare.pop() if self.spare else self.handle()
        self.streams[handle] = Stream()
        _set(out, handle)
        return OK

    def cuStreamDestroy_v2(self, stream):
        """What is in it still runs; the next stream may get its handle."""
        self.ended.append(self.streams.pop(stream))
        self.spare.append(stream)
        return OK

    def cuStreamSynchronize(self, stream):
        return self.wait_for(stream)

    def cuStreamQuery(self, stream):
        return NOT_READY if self.streams[stream or 0].queue else OK

    def cuStreamWaitEvent(self, stream, event, flags):
        mark = self.events[event]
        wanted = mark.recorded
        return self.put(stream, lambda: mark.reached >= wanted)

    def cuStreamIsCapturing(self, stream, out):
        _set(out, int(self.streams[stream or 0].captured is not None))
        return OK

    def cuEventCreate(self, out, flags):
        handle = self.handle()
        self.events[handle] = Event()
        _set(out, handle)
        return OK

    def cuEventDestroy_v2(self, event):
        del self.events[event]
        return OK

    def cuEventRecord(self, event, stream):
        mark = self.events[event]
        mark.recorded += 1
        number = mark.recorded

        def work():
            mark.reached = max(mark.reached, number)
            self.clock += 1.0
            mark.time = self.clock

        return self.put(stream, work)

    def cuEventSynchronize(self, event):
        mark = self.events[event]
        while mark.reached < mark.recorded:
            if not any([self.run_one(s) for s in self.queues()]):  # noqa: C419
                raise Violation("an event is never reached")
        return OK

    def cuEventQuery(self, event):
        mark = self.events[event]
        return OK if mark.reached >= mark.recorded else NOT_READY

    def cuEventElapsedTime(self, out, start, end):
        _set(out, self.events[end].time - self.events[start].time)
        return OK

    # Graphs.

    def cuThreadExchangeStreamCaptureMode(self, mode):
        return OK

    def cuStreamBeginCapture_v2(self, stream, mode):
        if not stream:
            return CAPTURE_UNSUPPORTED
        self.streams[stream].captured = []
        return OK

    def cuStreamEndCapture(self, stream, out):
        handle = self.handle()
        self.graphs[handle], self.streams[stream].captured = self.streams[stream].captured, None
        _set(out, handle)
        return OK

    def cuGraphInstantiateWithFlags(self, out, graph, flags):
        handle = self.handle()
        self.graphs[handle] = list(self.graphs[graph])
        _set(out, handle)
        return OK

    def cuGraphLaunch(self, executable, stream):
        for work in self.graphs[executable]:
            self.put(stream, work)
        return OK

    def cuGraphExecDestroy(self, executable):
        del self.graphs[executable]
        return OK

    cuGraphDestroy = cuGraphExecDestroy

    def cuGraphUpload(self, executable, stream):
        return OK

    # Kernels.

    def cuModuleLoadData(self, out, code):
        handle = self.handle()
        if code[:4] != b"\x7fELF":
            return 200
        self.modules[handle] = json.loads(code[4:])
        _set(out, handle)
        return OK

    def cuModuleUnload(self, module):
        del self.modules[module]
        return OK

    def cuModuleGetFunction(self, out, module, name):
        if self.modules[module]["name"] != name.decode():
            return 500
        _set(out, module)
        return OK

    def cuFuncSetAttribute(self, function, attribute, value):
        return OK

    def cuFuncGetAttribute(self, out, attribute, function):
        _set(out, 32)
        return OK

    def cuLaunchKernelEx(self, config, function, parameters, extra):
        config = launch._Config.from_address(config)
        kernel = self.modules[function]
        kinds = kernel["kinds"]
        places = (ctypes.c_void_p * len(kinds)).from_address(parameters)
        values = [_PARAMETER[k].from_address(p).value for k, p in zip(kinds, places)]
        grid = tuple(config.grid)
        self.launches.append({"name": kernel["name"], "grid": grid, "block": tuple(config.block), "shared": config.shared,
                              "stream": config.stream or 0, "values": values})
        for n, unit in kernel["units"].items():
            if values[int(n)] % unit:
                raise Violation(f"{kernel['name']}: parameter {n} was said to be a multiple of {unit} and is {values[int(n)]}")
        return self.put(config.stream, lambda: self.execute(kernel, grid, values))

    def execute(self, kernel, grid, values):
        """Runs a kernel on numpy. Pointers become places in the block that they point into."""
        given, blocks = [], {}
        for kind, value in zip(kernel["kinds"], values):
            if kind[0] != "*":
                given.append((kind.replace("fp", "f"), value))
                continue
            given.append(self.buffer(kind, value, blocks, kernel["name"]))
        constants = dict(kernel["constants"])
        constants["INDEX"] = np.int64 if kernel["wide"] else np.int32
        if "LAST: tl.constexpr, " in kernel["text"]:
            constants["LAST"] = self.lanes_go_last
        mock_cuda_triton.run(kernel["text"], kernel["name"], grid, given, constants)

    def buffer(self, kind, address, blocks, name):
        for start, (_, block) in self.blocks.items():
            if start <= address < start + block.nbytes:
                dtype = np.dtype(mock_cuda_triton.DTYPES[_NAMES[kind[1:]]])
                if (address - start) % dtype.itemsize:
                    raise Violation(f"{name}: an address that is no multiple of {dtype.itemsize}")
                return block[: block.nbytes // dtype.itemsize * dtype.itemsize].view(dtype), (address - start) // dtype.itemsize
        raise Violation(f"{name} is given {address:#x}, which is no device memory")


_PARAMETER = {"i32": ctypes.c_int32, "i64": ctypes.c_int64, "fp32": ctypes.c_float, "fp64": ctypes.c_double,
              "i8": ctypes.c_int8, "i16": ctypes.c_int16, "u8": ctypes.c_uint8, "u16": ctypes.c_uint16,
              "u32": ctypes.c_uint32, "u64": ctypes.c_uint64}
_NAMES = {"fp16": "float16", "bf16": "bfloat16", "fp32": "float32", "fp64": "float64", "i8": "int8", "i16": "int16",
          "i32": "int32", "i64": "int64", "u8": "uint8", "u16": "uint16", "u32": "uint32", "u64": "uint64",
          "fp8e4nv": "float8e4nv", "fp8e5": "float8e5"}
_PARAMETER.update({"*" + k: ctypes.c_uint64 for k in _NAMES})


mock_cuda_triton.as_installed(globals())
