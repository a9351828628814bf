"""Tensors of either library from arrays and back, and the weights that turn several results into one scalar."""

from contextlib import contextmanager

import ml_dtypes
import numpy as np

_BY_BITS = {np.dtype(getattr(ml_dtypes, n)): np.dtype(bits) for n, bits in
            (("bfloat16", "uint16"), ("float8_e4m3fn", "uint8"), ("float8_e5m2", "uint8"))}

_device = {"device": "cpu"}


@contextmanager
def on_device(name: str):
    """Make tensors and modules of rows on a device."""
    before, _device["device"] = _device["device"], name
    try:
        yield
    finally:
        _device["device"] = before


def on_rows_device(value):
    """Move a tensor or module to the device of rows."""
    return value if _device["device"] == "cpu" else value.to(_device["device"])


def is_tensor(library, value) -> bool:
    """Return whether a value is a tensor of the library."""
    return isinstance(value, library.Tensor)


def to_tensor(library, array: np.ndarray, leaf: bool = False):
    """Return a tensor with memory of its own."""
    bits = _BY_BITS.get(array.dtype)
    if bits is None:
        tensor = library.from_numpy(np.array(array))
    else:
        tensor = library.from_numpy(np.array(array).view(bits)).view(getattr(library, array.dtype.name))
    tensor = on_rows_device(tensor)
    return tensor.requires_grad_() if leaf else tensor


def to_array(library, tensor) -> np.ndarray:
    """Return a copy of a tensor's values."""
    plain = tensor.detach().cpu()
    if plain.layout != library.strided:
        plain = plain.to_dense()
    plain = plain.resolve_conj().resolve_neg()
    name = str(plain.dtype).split(".")[-1]
    kind = next((k for k in _BY_BITS if k.name == name), None)
    if kind is None:
        return np.array(plain.numpy(force=True))
    return np.array(plain.contiguous().view(getattr(library, _BY_BITS[kind].name)).numpy()).view(kind)


def weights(shape, number: int, dtype) -> np.ndarray:
    """Return the cotangent of result `number`: different for each element, exact in 16 bits."""
    count = int(np.prod(shape, dtype=np.int64))
    steps = (np.arange(count) * 7 + 3 * number + 2) % 23
    values = (steps - 11.5) / 8
    if np.dtype(dtype).kind == "c":
        values = values + 1j * (((steps * 5) % 19) - 9.25) / 8
    return values.reshape(shape).astype(dtype)


def flatten(library, value, name: str = "out") -> dict:
    """Return the tensors and plain values inside of a result as {place: value}."""
    if isinstance(value, dict):
        pairs = [(str(k), v) for k, v in value.items()]
    elif isinstance(value, (list, tuple)):
        pairs = [(str(i), v) for i, v in enumerate(value)]
    else:
        return {} if value is None else {name: value}
    return {k: v for key, item in pairs for k, v in flatten(library, item, f"{name}.{key}").items()}


def gradients(library, results: dict, leaves: dict, keep: bool = False, graph: bool = False) -> dict:
    """Return the gradients of the weighted sum of `results` for `leaves`, under the leaves' names.

    A leaf that has none gets zeros: the two libraries differ in when they say that there is no way from a result to a leaf.

    `keep`: the results are differentiated again. `graph`: so are the gradients.
    """
    used = [(k, t) for k, t in results.items() if is_tensor(library, t) and t.requires_grad
            and (t.dtype.is_floating_point or t.dtype.is_complex)]
    if not leaves:
        return {}
    if not used:
        return {f"grad.{name}": library.zeros_like(leaf) for name, leaf in leaves.items()}
    seeds = [to_tensor(library, weights(tuple(t.shape), i, to_name(t.dtype))) for i, (_, t) in enumerate(used)]
    found = library.autograd.grad([t for _, t in used], list(leaves.values()), seeds, retain_graph=keep, create_graph=graph,
                                  allow_unused=True)
    return {f"grad.{name}": library.zeros_like(leaf) if g is None else g for (name, leaf), g in zip(leaves.items(), found)}


def to_name(dtype) -> np.dtype:
    """Return the numpy dtype of a library's dtype."""
    name = str(dtype).split(".")[-1]
    return np.dtype(getattr(ml_dtypes, name) if hasattr(ml_dtypes, name) else name)
