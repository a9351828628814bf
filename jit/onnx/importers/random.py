"""Importers of ONNX random operators, on ingot's generators; a node with a seed gets its own."""

from ....ir import dtype as dt
from ....runtime.core.random import Generator
from .registry import ing, ints, onnx_op


def _generator(call):
    seed = call.get("seed")
    return None if seed is None else Generator().manual_seed(int(seed))


def _drawn(call, shape, dtype):
    if call.kind.startswith("RandomNormal"):
        found = ing.randn(shape, dtype=dt.float32, generator=_generator(call))
        return (found * call.get("scale", 1.0) + call.get("mean", 0.0)).to(dtype)
    low, high = call.get("low", 0.0), call.get("high", 1.0)
    return (ing.rand(shape, dtype=dt.float32, generator=_generator(call)) * (high - low) + low).to(dtype)


@onnx_op("RandomNormal", "RandomUniform", raw=True)
def random(call):
    """Draw a tensor of a given shape."""
    return _drawn(call, tuple(ints(call.need("shape"))), call.dtype("dtype", 1))


@onnx_op("RandomNormalLike", "RandomUniformLike", raw=True)
def _random_like(call, x):
    kind = call.dtype("dtype") if "dtype" in call.attributes else dt.from_numpy(x.dtype) if not hasattr(x, "aval") else x.dtype
    return _drawn(call, tuple(x.shape), kind)


@onnx_op("Bernoulli")
def _bernoulli(call, p):
    kind = call.dtype("dtype") if "dtype" in call.attributes else p.dtype
    return (ing.rand(tuple(p.shape), generator=_generator(call)) < p.to(dt.float32)).to(kind)


@onnx_op("Multinomial")
def _multinomial(call, logs):
    drawn = ing.multinomial(ing.softmax(logs, -1), call.get("sample_size", 1), True, generator=_generator(call))
    return drawn.to(call.dtype("dtype", 6))
