"""Static quantisation of exports: value ranges from calibration runs, then `passes/quantize/quantize.py`.

    jit.export(model, (x,), "model.ingot", quantize=[(batch,) for batch in batches])
    model = jit.quantize(model, [(batch,) for batch in batches])

Calibration runs the recorded graph operator by operator with eager kernels, and observes the values that layers read.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np

from ....ir.errors import ArgumentError
from ....ir.graph.graph import Graph, Value
from ....ir.suggestions import unknown_choice
from ....ir.symbols.substitute import has_symbols
from ....passes.quantize.int8_chains import sources_of
from ....passes.quantize.quantize import observed, quantize
from ....passes.rewrite import pass_manager
from ....passes.schedule.specialize_shapes import bind_graph
from ....runtime.core.dispatch import kernel_of
from ....runtime.cpu.graph import machine_passes
from ....runtime.quantization.calibration_ranges import RANGES
from ....runtime.state.mode import tls
from ...errors.errors import ExportError
from .example_inputs import Example, arguments_of
from .prepare import freeze as frozen
from .size_variants import Recorded


@dataclass(frozen=True)
class Calibration:
    """Settings of static quantisation.

    inputs    calibration inputs, each as `example_inputs` of an export: some dozens of typical ones
    method    range that bytes stand for: "minmax" all observed values, "percentile" all but one in 100,000 at either end,
              "mse" the range with the smallest squared error
    keep      names of weights, or of modules that have them, whose layers stay in floats
    """

    inputs: Iterable
    method: str = "minmax"
    keep: tuple = ()


def calibration_of(wish) -> Calibration:
    """Parse `quantize=`: a Calibration, or its inputs alone."""
    calibration = wish if isinstance(wish, Calibration) else Calibration(wish)
    if calibration.method not in RANGES:
        raise unknown_choice("a calibration's method", calibration.method, RANGES)
    if isinstance(calibration.inputs, (str, dict)) or not isinstance(calibration.inputs, Iterable):
        raise ArgumentError("a calibration takes a list of inputs, each a tensor, a tuple of arguments or a dict of them, got "
                            f"{type(calibration.inputs).__name__}")
    keep = (calibration.keep,) if isinstance(calibration.keep, str) else tuple(calibration.keep)
    return Calibration(list(calibration.inputs), calibration.method, keep)


@dataclass
class Quantized:
    """Integer graphs of each variant, with weights as arrays, and the number of quantised layers of each."""

    graphs: list
    weights: list
    layers: list


def quantized(recording: Recorded, fn, calibration: Calibration) -> Quantized:
    """Quantise the graphs of all variants."""
    count = len(recording.signature.inputs)
    parts = [_Variant(v, count, calibration.keep) for v in recording.variants]
    for name in calibration.keep:
        if not any(name in part.retained_names for part in parts):
            raise ArgumentError(f"keep= names {name!r}, which no layer's weight is called, or lies in; weights are "
                                f"{', '.join(recording.variants[0].weights)}")
    for given in calibration.inputs:
        tensors = arguments_of(fn, given).tensors
        _check(recording, tensors)
        sizes = recording.dims.sizes(tensors)
        variant = recording.variant_for(sizes)
        if variant is None:
            raise ArgumentError(f"calibration inputs of the sizes {sizes} are none that the model takes")
        parts[recording.variants.index(variant)].look([t._a for t in tensors], sizes, calibration.method)
    _share(parts)
    done = Quantized([], [], [])
    for part in parts:
        graph, weights, layers = part.finish()
        done.graphs.append(graph)
        done.weights.append(weights)
        done.layers.append(layers)
    if not any(done.layers):
        raise ExportError("there is no layer to quantise: convolutions along one or two dims, and products with a weight, of "
                          "float32, whose weights are not computed from the arguments")
    return done


def _check(recording, tensors):
    specs = recording.signature.inputs
    if len(tensors) != len(specs):
        raise ArgumentError(f"calibration inputs have {len(tensors)} tensors, example_inputs {len(specs)}")
    for i, (t, spec) in enumerate(zip(tensors, specs)):
        free = {d for n, d in recording.dims.extents if n == i}
        fits = t.ndim == len(spec.shape) and all(d in free or n == m for d, (n, m) in enumerate(zip(t._a.shape, spec.shape)))
        if t.dtype is not spec.dtype or not fits:
            takes = f"{spec.dtype.name}[{', '.join(map(str, spec.shape))}]"
            raise ArgumentError(f"calibration input {spec.name} is {t.aval}, the model takes {takes}; say with dynamic= which "
                                "sizes may change")


def _share(parts):
    """Give variants that no calibration input has run the ranges of one that was run; their observers match in order."""
    ran = next((p for p in parts if p.observers is not None), None)
    if ran is None:
        raise ArgumentError("quantize= has no calibration inputs")
    for part in parts:
        if part.observers is None:
            if len(part.values) != len(ran.values):
                raise ArgumentError("the model does something else where named sizes are 1: calibrate it with such inputs, too")
            part.observers = ran.observers


class _Variant:
    """One recording being quantised."""

    def __init__(self, variant, count, keep):
        self.arrays = {name: t.detach()._a for name, t in variant.weights.items()}
        scope = next((x.scope for x in variant.graph.symbols.values()), None)
        before = set(scope.conditions) if scope is not None else set()
        self.graph, self.count = pass_manager.run(variant.graph, machine_passes.PORTABLE), count
        if scope is not None and set(scope.conditions) - before:
            raise ExportError("the model's graph depends on the sizes that may change; quantise it without dynamic=")
        self.known = Constants(dict(zip(self.graph.inputs[count:], self.arrays.values())))
        self.retained_names: set = set()
        self.keep = keep
        self.values = observed(self.graph, self.known, self._keeps)
        self.observers: Any = None

    def _keeps(self, weight) -> bool:
        names = [v.name for v in sources_of(weight)]
        matching = {k for k in self.keep if any(name == k or name.startswith(f"{k}.") for name in names)}
        self.retained_names |= matching
        return bool(matching)

    def look(self, arrays, sizes, method):
        graph = bind_graph(self.graph, {name: sizes[name] for name in self.graph.names}) if self.graph.symbols else self.graph
        if self.observers is None:
            self.observers = [RANGES[method]() for _ in self.values]
        wanted = dict(zip(self.graph.values(), graph.values(), strict=True))
        by_value = {wanted[v]: observer for v, observer in zip(self.values, self.observers)}
        tls.m.run(run, graph, [*arrays, *self.arrays.values()], lambda v, a: by_value[v].add(a) if v in by_value else None)

    def finish(self) -> tuple:
        ranges = {v: observer.range() for v, observer in zip(self.values, self.observers)}
        graph, new, layers = quantize(self.graph, self.known, ranges, self._keeps)
        return *frozen(graph, {**self.arrays, **new}, self.count), layers


class Constants:
    """Arrays of values that depend on weights alone, computed on demand; None for other values."""

    def __init__(self, weights: dict):
        self._arrays: dict = dict(weights)

    def __call__(self, value: Value):
        if value not in self._arrays:
            self._arrays[value] = self._computed(value)
        return self._arrays[value]

    def _computed(self, value):
        node = value.node
        if node is None or node.multi or not node.is_pure or node.has_effect or value.aval.is_symbolic or any(
                map(has_symbols, node.params.values())):
            return None
        operands = [self(x) if type(x) is Value else x for x in node.inputs]
        if any(a is None for a, x in zip(operands, node.inputs) if type(x) is Value):
            return None
        if not any(type(x) is Value for x in node.inputs):
            return np.asarray(node.op.ref(*operands, **node.params))
        return np.asarray(tls.m.run(lambda: kernel_of(node.op)(*operands, **node.params)))


def run(graph: Graph, arrays, note=lambda value, array: None) -> list:
    """Run a graph operator by operator with eager kernels; report each value to `note`."""
    env = dict(zip(graph.inputs, arrays))
    for v, a in env.items():
        note(v, a)
    left = {v: len(nodes) for v, nodes in graph.uses.items()}
    for node in graph.nodes:
        operands = [env[x] if type(x) is Value else x for x in node.inputs]
        is_made = any(type(x) is Value for x in node.inputs)
        given = kernel_of(node.op)(*operands, **node.params) if is_made else node.op.ref(*operands, **node.params)
        for v, a in zip(node.outputs, given if node.multi else (given,)):
            env[v] = np.asarray(a)
            note(v, env[v])
        for x in node.inputs:
            if type(x) is Value:
                left[x] -= 1
                if not left[x] and x not in graph.results:
                    env.pop(x, None)
    return [env[v] for v in graph.outputs]


def expect_quantized(recording: Recorded, done: Quantized) -> list:
    """Replace the examples' expected results by those of the quantised graphs.

    Return for each result the largest relative error: root mean square of the differences over that of the floats.
    """
    errors = [0.0] * len(recording.signature.outputs)
    for example in recording.examples:
        number = recording.variants.index(recording.variant_for(example.sizes))
        results = _results(done.graphs[number], done.weights[number], example)
        errors = [max(e, distance(a, b)) for e, a, b in zip(errors, example.results, results)]
        example.results = results
    return errors


def _results(graph, weights, example: Example) -> list:
    graph = bind_graph(graph, {name: example.sizes[name] for name in graph.names}) if graph.symbols else graph
    return tls.m.run(run, graph, [*[t._a for t in example.tensors], *weights.values()])


def distance(want, got) -> float:
    """Return the root mean square of the differences over that of the first array."""
    if want.dtype.kind not in "fc" or not want.size:
        return float(want.size and (want != got).mean())
    a, b = want.astype(np.complex128), got.astype(np.complex128)
    power = float(np.sqrt((np.abs(a) ** 2).mean()))
    return float(np.sqrt((np.abs(a - b) ** 2).mean())) / (power or 1.0)
