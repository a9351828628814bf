"""Running graphs on a device: plans (`passes/codegen/triton/plan.py`) prepared once, then run step by step.

Eager operators come here as graphs of one node, traced code as graphs of many.
"""

import numpy as np

from ...ir.errors import IngotError
from ...ir.graph import Graph, Value
from ...ir.op import View
from ...ir.printer import format_line
from ...passes.codegen.triton.plan import KernelStep, plan
from ...passes.kernel_body import is_free
from ..device_array import DeviceArray
from . import streams
from .kernels import Prepared, as_number
from .pools import Memory

KIND = "cuda"


class DeviceGraph:
    """A graph, ready to run on arrays of one device.

    graph    what is computed, after all graph passes
    call     runs one operator on arrays: call(op, inputs, params, device)
    owned    positions of results that get memory of their own
    numbers  inputs that are no device arrays, but one number each
    """

    is_native = False
    in_place: frozenset = frozenset()

    def __init__(self, graph: Graph, call, owned=frozenset(), numbers=frozenset()):
        self.plan = plan(graph, owned)
        graph = self.graph = self.plan.graph
        self.call = call
        self.numbers = frozenset([graph.inputs[i] for i in numbers])
        self.steps = [Launched(s, self.numbers) if type(s) is KernelStep else Called(s, self) for s in self.plan.steps]

    def run(self, inputs) -> list:
        """The results, as arrays, in order."""
        device = next(a.memory.device for a in inputs if a.__class__ is DeviceArray)
        env = {}
        for v, a in zip(self.graph.inputs, inputs):
            env[v] = a if a.__class__ is not DeviceArray or a.is_contiguous else a.backend.contiguous(a)
        for step in self.steps:
            step.run(env, device)
        return [self.value(v, env, device) for v in self.graph.outputs]

    def value(self, v: Value, env: dict, device: int):
        """The array of a value; views and fills are made when they are asked for."""
        found = env.get(v)
        if found is not None:
            return found
        node = v.node
        if type(node.op.lower) is View:
            return self.value(node.inputs[0], env, device).viewed(node.op, node.params)
        if is_free(v):
            return filled(device, v.shape, v.dtype.np, node.params["value"])
        raise IngotError(f"{v!r} is not there when it is needed")


class Launched:
    """A fused kernel with its arrays."""

    def __init__(self, step: KernelStep, numbers):
        lowered = step.lowered
        self.operands = [(v, v in numbers) for v, _, _ in lowered.operands]
        self.writes = [(v, v.shape, v.dtype.np) for v in dict.fromkeys(step.writes)]
        self.dead = step.dead
        offsets = [offset * v.dtype.itemsize for v, offset, _ in lowered.operands]
        by_value = frozenset([b.name for b, (v, _, _) in zip(lowered.kernel.buffers, lowered.operands) if v in numbers])
        self.kernel = Prepared(lowered.kernel, lowered.symbols, offsets, by_value)

    def run(self, env, device):
        """Computes; results go into `env`."""
        stream = streams.current(device).handle
        for v, shape, dtype in self.writes:
            env[v] = empty(device, shape, dtype, stream)
        given = [as_number(v.dtype, env[v]) if number else used(env[v], stream) for v, number in self.operands]
        self.kernel(device, stream, given)
        for v in self.dead:
            env.pop(v, None)


class Called:
    """One operator, called as eager mode calls it."""

    def __init__(self, step, graph: DeviceGraph):
        self.node, self.dead, self.graph = step.node, step.dead, graph

    def run(self, env, device):
        """Computes; results go into `env`."""
        node, graph = self.node, self.graph
        inputs = [graph.value(x, env, device) if type(x) is Value else x for x in node.inputs]
        try:
            result = graph.call(node.op, inputs, node.params, device)
        except IngotError:
            raise
        except Exception as e:
            where = f" at {format_line(node.line, full_paths=True)}" if node.line else ""
            raise IngotError(f"{node.op.name}{where} failed on cuda:{device}: {e}") from e
        env.update(zip(node.outputs, result if node.multi else (result,)))
        for v in self.dead:
            env.pop(v, None)


def used(array: DeviceArray, stream: int) -> int:
    """The address of an array that work in a stream is about to use."""
    array.memory.used_on(stream)
    return array.pointer


def empty(device: int, shape, dtype, stream=None) -> DeviceArray:
    """A new array with whatever is in memory."""
    dtype = np.dtype(dtype)
    size = dtype.itemsize
    for n in shape:
        size *= n
    return DeviceArray(KIND, Memory(device, size, stream), shape, dtype)


def filled(device: int, shape, dtype, value) -> DeviceArray:
    """A new array of one number."""
    made = empty(device, shape, dtype)
    fill(made, value)
    return made


def fill(array: DeviceArray, value):
    """Writes one number everywhere into a contiguous array."""
    if not array.size:
        return
    pattern = np.asarray(value).astype(array.dtype).reshape(1)
    raw = pattern.view(np.uint8)
    stream = streams.current(array.device)
    driver = stream.context.driver
    if (raw == raw[0]).all():
        driver.cuMemsetD8Async(array.pointer, int(raw[0]), array.nbytes, stream.handle)
    elif array.nbytes % 4 == 0 and array.pointer % 4 == 0 and raw.size <= 4:
        word = np.tile(raw, 4 // raw.size).view(np.uint32)[0]
        driver.cuMemsetD32Async(array.pointer, int(word), array.nbytes // 4, stream.handle)
    else:
        array.backend.write(array, array.backend.to_device(np.full(array.shape, pattern[0]), array.device))
