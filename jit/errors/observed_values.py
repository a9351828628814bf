"""Values that Python read out of a tensor: as keys of the paths that follow, and as text for a person."""

import numpy as np


def frozen_value(seen):
    """What was read, in a form that can be a dictionary key."""
    if isinstance(seen, np.ndarray):
        return ("array", seen.shape, str(seen.dtype), seen.tobytes())
    if isinstance(seen, list):
        return ("list", tuple([frozen_value(v) for v in seen]))
    if isinstance(seen, float):
        return ("float", seen.hex())
    return (type(seen).__name__, seen)


def readable(frozen) -> str:
    """A frozen value as a person reads it."""
    kind, *rest = frozen
    if kind == "array":
        shape, dtype, data = rest
        values = np.frombuffer(data, dtype).reshape(shape)
        return f"{dtype} {values.tolist()}" if values.size <= 8 else f"an array of {dtype}{list(shape)}"
    if kind == "list":
        return "[" + ", ".join([readable(v) for v in rest[0][:8]]) + (", ...]" if len(rest[0]) > 8 else "]")
    return repr(float.fromhex(rest[0]) if kind == "float" else rest[0])
