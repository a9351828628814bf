"""`jit.debug(nan=True)`: raise at the first operation of traced code that makes nan or infinity, with its operands and line.

    with jit.debug(nan=True):
        step(x, y)

While it is on, replays run operation by operation, by the kernels of eager code, and each result is checked; so are operators
that a call records. An infinity among the operands or parameters (as in masks) is no fault.
"""

import math

import numpy as np

from ...ir.dtype import BY_NP
from ...ir.graph.graph import Value
from ...runtime.cpu.graph import program
from ...runtime.state.mode import OPEN_PROFILES
from ..errors.errors import NotFiniteError, at
from ..recorder.record import OBSERVERS


class debug:
    """Checks of traced code: for a `with` block, or until `debug(nan=False)`."""

    def __init__(self, nan: bool = True):
        self._observer = NanWatch()
        if nan:
            OPEN_PROFILES.append(self._observer)
            OBSERVERS.append(self._observer)
        else:
            for found in (OPEN_PROFILES, OBSERVERS):
                found[:] = [w for w in found if type(w) is not NanWatch]

    def __enter__(self):
        return self

    def __repr__(self):
        return f"<jit.debug(nan=True): {'on' if self._observer in OBSERVERS else 'off'}>"

    def __exit__(self, *exc):
        for found in (OPEN_PROFILES, OBSERVERS):
            if self._observer in found:
                found.remove(self._observer)


class NanWatch:
    """Checker that runs compiled graphs operation by operation."""

    def run(self, job, compiled, arrays) -> list:
        """Return the results of a compiled graph, in the memory that the compiled code would use."""
        if not hasattr(compiled, "plan"):           # on another device, where only results can be seen
            made = compiled.run(arrays)
            for a in made:
                self._look(job.region.name, None, (), {}, [np.asarray(a)])
            return made
        graph, in_place = compiled.graph, compiled.plan.in_place
        env = dict(zip(graph.inputs, arrays))
        for node in graph.nodes:
            operands = [env[x] if type(x) is Value else x for x in node.inputs]
            result = program.kernel_of(node.op)(*operands, **node.params)
            results = [np.asarray(r) for r in (result if node.multi else (result,))]
            self._look(node.op.name, node.line, operands, node.params, results)
            env.update(zip(node.outputs, results))
        for value, target in in_place.items():
            np.copyto(env[target], env[value])
            env[value] = env[target]
        return [env[v] for v in graph.outputs]

    def saw(self, op, operands, params, results, line):
        """Check an operator that ran while a function was recorded."""
        self._look(op.name, line, operands, params, results)

    def _look(self, name, line, operands, params, results):
        for r in results:
            kind = fault(r)
            if kind is None or any(explains(kind, x) for x in (*operands, *params.values())):
                continue
            operands_text = ", ".join([_described(x) for x in operands if x is not None])
            raise NotFiniteError(f"{name}{at(line)} made {kind} in {_count(r)} of {r.size} elements of {_type(r)}, from "
                                 f"{operands_text or 'no operands'}")


def _floats(x):
    return isinstance(x, np.ndarray) and x.dtype.kind in "fcV" and x.dtype in BY_NP


def _wide(x):
    return x.astype(np.float32) if x.dtype.itemsize < 4 else x


def fault(x) -> str | None:
    """Return "nan" or "infinity" if an array or number contains one (nan counts first)."""
    if isinstance(x, float):
        return "nan" if math.isnan(x) else "infinity" if math.isinf(x) else None
    if not _floats(x) or np.isfinite(_wide(x)).all():
        return None
    return "nan" if np.isnan(_wide(x)).any() else "infinity"


def explains(kind, x) -> bool:
    """Return whether an operand or parameter contains what a result contains: nan explains nan, and either explains an
    infinity."""
    if isinstance(x, (tuple, list)):
        return any(explains(kind, v) for v in x)
    found = fault(x)
    return found is not None and (found == "nan" or kind == "infinity")


def _count(x):
    return int((~np.isfinite(_wide(x))).sum())


def _type(x):
    return f"{BY_NP[x.dtype].short}[{','.join(map(str, x.shape))}]"


def _described(x):
    if not isinstance(x, np.ndarray):
        return repr(x)
    if not _floats(x) or not x.size or x.dtype.kind == "c":
        return _type(x) if x.dtype in BY_NP else str(x.dtype)
    wide = _wide(x)
    return f"{_type(x)} within {float(np.nanmin(wide)):.4g} and {float(np.nanmax(wide)):.4g}"
