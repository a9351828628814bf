"""Cases from work that is written once: functions, inference, training steps. Every library gets the same numbers."""

import itertools
from collections.abc import Callable

import numpy as np

import ingot

from .harness import Case
from .libraries import (
    channels_last_torch,
    frozen_torch,
    later,
    libraries,
    onnxruntime_session,
    openvino_model,
    present,
    weights_of,
    without_gradients,
)

_TOGETHER = 8
_SEED = 20


def randoms(*shape, seed=_SEED) -> np.ndarray:
    """Normal float32 numbers; the same for the same shape."""
    return np.random.default_rng([seed, *shape]).standard_normal(shape, np.float32)


def indices(high: int, *shape, seed=_SEED) -> np.ndarray:
    """Integers below `high`."""
    return np.random.default_rng(seed).integers(0, high, shape)


def distinct(*shape, seed=_SEED) -> np.ndarray:
    """Float32 numbers of which no two are equal, in random order."""
    size = int(np.prod(shape))
    return (np.random.default_rng(seed).permutation(size).astype(np.float32) / size - 0.5).reshape(shape)


def function_case(name, make: Callable, arrays, plan, *, grads=(), also=None, traced=True, compiled=True, **facts) -> Case:
    """A case of the function `make(lib)` of tensors. `grads` are positions of tensors that require gradients, `also`
    functions of arrays (or of jax arrays) for peers with a manner of their own: {"numpy": f, "jax": f}. Without `traced`,
    ingot runs eagerly alone."""
    calls = {}
    for lib in libraries(plan, compiled):
        for label, way in lib.ways.items():
            if label == "ingot" and not traced:
                continue
            tensors = [lib.tensor(a, i in grads) for i, a in enumerate(arrays)]
            calls[label] = bound(way(make(lib.module)), tensors)
    for peer, fn in (also or {}).items():
        if peer in present(plan):
            calls[peer] = later(lambda fn=fn: jax_call(fn, arrays)) if peer == "jax" else bound(fn, arrays)
    return Case(name, calls, **facts)


def bound(fn, args):
    """The call of a function, with its arguments."""
    if len(args) == 1:
        return lambda a=args[0]: fn(a)
    return lambda: fn(*args)


def jax_call(fn, arrays):
    """The call of a function compiled by jax, waited for."""
    import jax

    ready, inputs = jax.jit(fn), [jax.numpy.asarray(a) for a in arrays]
    return lambda: jax.block_until_ready(ready(*inputs))


def with_gradients(y, *leaves, along=None) -> tuple:
    """A result and the gradients of leaves, which are taken from them. `along` is the result's own gradient."""
    y.backward(along)
    found = [x.grad for x in leaves]
    for x in leaves:
        x.grad = None
    return y.detach(), *found


def inference_case(name, build: Callable, arrays, plan, *, images=False, exports=True, compiled=True, flops=None,
                   **facts) -> Case:
    """A case of the network `build(lib)` without gradients, weights equal in all libraries. `images` adds torch's other
    memory format, `exports` the runtimes of exported models. The flops of linear and conv layers are counted."""
    calls, weights = {}, None
    for lib in libraries(plan, compiled):
        network = build(lib.module).eval()
        if weights is None:
            weights = weights_of(network)
        lib.load(network, weights)
        inputs = [lib.tensor(a) for a in arrays]
        if lib.name == "ingot" and flops is None:
            flops = direct_flops(network, inputs)
        for label, way in lib.ways.items():
            calls[label] = quiet(lib.module, way(network), inputs)
        if lib.name == "torch":
            calls |= torch_runtimes(build, lib, weights, inputs, plan, images, exports)
    return Case(name, calls, flops=flops or 0, **facts)


def torch_runtimes(build, lib, weights, inputs, plan, images, exports):
    """Calls of what else runs a torch model."""
    def fresh():
        return lib.load(build(lib.module).eval(), weights)

    peers, calls = present(plan), {}
    if images:
        calls["torch channels_last"] = later(lambda: channels_last_torch(fresh(), inputs))
    if exports and "torch.jit" in peers:
        calls["torch.jit"] = later(lambda: frozen_torch(fresh(), inputs))
    if exports and "onnxruntime" in peers:
        calls["onnxruntime"] = later(lambda: onnxruntime_session(fresh(), inputs, plan.threads))
    if exports and "openvino" in peers:
        calls["openvino"] = later(lambda: openvino_model(fresh(), inputs, plan.threads))
    return calls


def quiet(module, run, inputs):
    """A call without gradients."""
    if module is not ingot:
        return without_gradients(run, inputs)

    def call():
        with ingot.no_grad():
            return run(*inputs)

    return call


def training_case(name, build: Callable, arrays, plan, *, compiled=True, flops=0.0, **facts) -> Case:
    """A case of whole training steps. `build(lib)` gives a network and its step, a function of tensors that returns the
    loss. Every way has a network of its own; the losses of the first steps (`checks`) are compared."""
    calls = {label: bound(step, [lib.tensor(a) for a in arrays]) for lib, label, step in _steps(build, plan, compiled)}
    return Case(name, calls, flops=flops, **({"tolerance": 1e-3, "checks": 3} | facts))


def _steps(build, plan, compiled):
    """(library, label, step) of all ways to run what `build(lib)` gives: networks with the same weights, one for each."""
    weights = None
    for lib in libraries(plan, compiled):
        for label, way in lib.ways.items():
            network, step = build(lib.module)
            if weights is None:
                weights = weights_of(network)
            lib.load(network, weights)
            yield lib, label, way(step)


def varying_case(name, build: Callable, batches, plan, *, compiled=True, go_on=None, **facts) -> Case:
    """A case of steps that get other arrays each time: those of `batches` in turn, or what `go_on(step, library)` yields the
    results of. One call makes `_TOGETHER` of them, so that no library is timed on smaller arrays than another."""
    calls = {}
    for lib, label, step in _steps(build, plan, compiled):
        inputs = [[lib.tensor(a) for a in arrays] for arrays in batches]
        results = in_turn(step, inputs) if go_on is None else go_on(step, lib)
        calls[label] = lambda results=results: list(itertools.islice(results, _TOGETHER))
    return Case(f"{name}, {_TOGETHER} steps", calls, **facts)


def in_turn(run, batches):
    """The results of a function for one batch after the other, again and again."""
    for batch in itertools.cycle(batches):
        yield run(*batch)


def direct_flops(network, inputs) -> float:
    """Multiplications and additions of the linear, convolution and LSTM layers in one forward run of an ingot network."""
    total = 0.0

    def count(layer, inputs, out):
        nonlocal total
        if isinstance(layer, ingot.nn.LSTM):
            rows = inputs[0].numel() // layer.input_size
            total += 2 * rows * sum(w.numel() for w in layer.parameters() if w.ndim == 2)
        elif isinstance(layer, ingot.nn.Linear):
            total += 2 * out.numel() * layer.in_features
        else:
            total += 2 * out.numel() * layer.weight[0].numel()

    counted = (ingot.nn.Linear, ingot.nn.Conv1d, ingot.nn.Conv2d, ingot.nn.LSTM)
    handles = [m.register_forward_hook(count) for m in network.modules() if isinstance(m, counted)]
    with ingot.no_grad():
        network(*inputs)
    for handle in handles:
        handle.remove()
    return total
