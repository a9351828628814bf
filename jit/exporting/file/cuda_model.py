"""A loaded model on a GPU. Ready programs of the file run there without a compiler."""

import numpy as np

from ....ir.errors import DeviceError, FileError
from ....ir.symbols.scope import LEAST
from ....passes.rewrite import pass_manager
from ....passes.schedule import specialize_shapes
from ....passes.schedule.batched_launches import EndStep, ManyStep
from ....passes.schedule.device_plan import KernelStep
from ....runtime.core.device import Device, require
from ....runtime.core.device_array import DeviceArray
from ....runtime.core.placement import move_to
from ....runtime.core.tensor import Tensor, wrap
from ....runtime.cuda import backend
from ....runtime.cuda.compiler import compile as compiler
from ....runtime.cuda.graph import eager
from ....runtime.cuda.graph.program import DeviceGraph
from ....runtime.cuda.offline import ready
from ..capture import treespec
from ..capture.prepare import Prepared
from . import archive
from .model import Bound, Model, run_operators

_EXACT = 9            # from this major version on, code runs on its own chip alone; before, also on later chips of the version


def graph_for(model: Model, sizes: dict) -> tuple:
    """Return (the device graph of a model for named sizes, numbers of the weights that it takes)."""
    variant = model.variant_for(sizes)
    graph = model.graph_for(sizes)
    if graph.symbols:
        graph = specialize_shapes.bind_graph(graph, {name: sizes[name] for name in graph.names})
    graph = pass_manager.run(graph, backend.PASSES)
    return DeviceGraph(graph, eager.run_into, frozenset(range(len(graph.outputs)))), variant.weights


class Cubins:
    """Code of a file for one kind of GPU.

    index   description in the file
    blob    machine code, then the bytes that programs write
    """

    packed: dict = {}

    def __init__(self, name: str, index: dict, blob: np.ndarray, weights: int):
        self.name, self._blob, self._weights = name, blob, weights
        self.binaries = ready.unpacked(blob, index["binaries"])
        self.entries = {tuple(map(tuple, entry["shapes"])): entry for entry in index["entries"]}
        compiler.use_binaries({str(key): self._binary(n) for key, n in index["modules"].items()})

    @classmethod
    def of(cls, reader, names, capability) -> "Cubins | None":
        """Return the code in a file that suits a GPU best, or None."""
        name = max([n for n in names if fits(n, capability)], default=None, key=lambda n: int(n[3:]))
        if name is None:
            return None
        return cls(name, reader.json(f"objects/{name}.json"), reader.member(f"objects/{name}.bin"),
                   len(reader.manifest["weights"]))

    def _binary(self, n):
        if type(n) is not int or not 0 <= n < len(self.binaries):
            raise FileError("a ready program for a GPU launches code that is not there")
        return self.binaries[n]

    def program(self, shapes, sizes_of_weights, sizes_of_inputs, device: int):
        """Return (the program for input shapes, numbers of the weights that it takes), or None."""
        entry = self.entries.get(shapes)
        if entry is None:
            return None
        weights, (start, size) = tuple(entry["weights"]), entry["written"]
        if not all(type(n) is int and 0 <= n < self._weights for n in weights):
            raise FileError("a ready program takes weights that are not there")
        if not (type(start) is type(size) is int and 0 <= start <= start + size <= self._blob.nbytes):
            raise FileError("a ready program writes bytes that are not there")
        inputs = [*sizes_of_inputs, *[sizes_of_weights[n] for n in weights]]
        made = ready.ReadyProgram(entry, self._blob[start:start + size], [self._binary(n) for n in entry["binaries"]], inputs,
                                  device)
        return made, weights


def fits(name: str, capability) -> bool:
    """Return whether code for a target runs on a GPU of a capability."""
    if not name.startswith("sm_") or not name[3:].isdecimal():
        return False
    major, minor = divmod(int(name[3:]), 10)
    return major == capability[0] and (minor == capability[1] or (major < _EXACT and minor < capability[1]))


class DeviceModel(Model):
    """A loaded model on a GPU. Tensors there give tensors there; NumPy arrays travel there and back."""

    def __init__(self, reader, objects: bool, device):
        where = require(device)
        self.index = backend.current() if where.index is None else where.index
        self.device = Device(where.type, self.index)
        super().__init__(reader, objects)

    def _read_weights(self, names, pairs):
        return {name: move_to(t, self.device) for name, t in super()._read_weights(names, pairs).items()}

    def _code(self, objects):
        return Cubins.of(self._reader, self.targets, backend.capability(self.index)) if objects else None

    def __call__(self, *args, **kwargs):
        if self.state:
            return self.state.call(self, args, kwargs)
        given = self.signature.arrays_of(args, kwargs)
        results = self.results(given)
        if given and not any(isinstance(x, Tensor) for x in given):
            results = [backend.to_host(t._a) for t in results]
        return treespec.rebuild(self.signature.results, results)

    def results(self, arguments) -> list:
        """Return the results as tensors on the device, for tensors there or arrays in order."""
        if self._needs_operators(any(isinstance(x, Tensor) and x._node is not None for x in arguments)):
            return run_operators(self, arguments)
        return [wrap(a) for a in self.run([self._array_here(x, spec) for x, spec in zip(arguments, self.signature.inputs)])]

    def _array_here(self, x, spec):
        """Return the array of an argument; a tensor must be on the model's device."""
        if isinstance(x, Tensor) and x._a.__class__ is not DeviceArray:
            raise DeviceError(f"the exported model is on {self.device}, the tensor for {spec} on cpu; move it with "
                              f".to('{self.device}'), or give a numpy array")
        return x._a if isinstance(x, Tensor) else np.asarray(x)

    def run(self, arrays) -> list:
        """Return the results as device arrays, for device or NumPy arrays in order."""
        for spec, a in zip(self.signature.inputs, arrays):
            if isinstance(a, DeviceArray) and a.device != self.index:
                raise DeviceError(f"the exported model is on {self.device}, input {spec} on cuda:{a.device}; "
                                  "move it with .to()")
        return super().run([a if isinstance(a, DeviceArray) else backend.to_device(a, self.index) for a in arrays])

    def planned(self, sizes: dict):
        """Return (the compiled graph for this device and sizes, its parts)."""
        graph, weights = graph_for(self, sizes)
        return graph, Prepared(graph.graph, weights)

    def explain(self, sizes: dict | None = None) -> str:
        """Describe what runs on this device at named sizes: kernels with their operators, and calls of operators."""
        sizes = {name: (sizes or {}).get(name, LEAST) for name in self.signature.dims}
        graph, _ = graph_for(self, sizes)
        return "\n".join([line for step in graph.plan.steps for line in _rows(step)])

    def _ready(self, shapes, sizes):
        if self.code is None:
            return None
        of_inputs = [_bytes(shape, dtype) for shape, dtype in zip(shapes, self._dtypes)]
        with archive.guarded(self._reader.name):
            found = self.code.program(shapes, [a.nbytes for a in self._arrays], of_inputs, self.index)
        return None if found is None else Bound(found[0], [self._arrays[i] for i in found[1]])


def _rows(step) -> list:
    """Return the lines that describe a step; kernels of one launch below each other."""
    return [f"together  {_row(s)}" for s in step.steps] if type(step) is ManyStep else [_row(step)]


def _row(step) -> str:
    writes = ", ".join([repr(v.aval) for v in dict.fromkeys(step.writes)])
    if type(step) is EndStep:
        return f"end of  {step.lowered.kernel.name}  {writes}"
    if type(step) is KernelStep:
        return f"kernel  {step.lowered.kernel.name}  {writes}  {' '.join(n.op.name for n in step.group.nodes)}"
    return f"call    {step.node.op.name}  {writes}"


def _bytes(shape, dtype):
    return int(np.prod(shape, dtype=np.int64)) * dtype.itemsize
