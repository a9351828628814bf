"""`jit.debug(nan=True)`: raise at the first operation that makes nan or infinity, with its operands and the user's line.

    with jit.debug(nan=True):
        step(x, y)

Eager operators of the thread are checked as they run, recorded ones too, and each gradient rule that backward goes through.
Replays, of any thread, run operation by operation, by the kernels of eager code. A nan that comes in from outside is named at
the first operation that passes it on. An infinity among the operands or parameters (as in masks) is no fault.
"""

import math
import sys
from typing import Any

import numpy as np

from ...ir.dtype import BY_NP
from ...ir.graph.graph import Value
from ...ir.tracebacks import user_frame
from ...runtime.core.device_array import DeviceArray
from ...runtime.core.op_observers import OpObserver
from ...runtime.core.storage import user_line
from ...runtime.core.tensor import Tensor
from ...runtime.cpu.graph import program
from ...runtime.nn.base.module import Module
from ...runtime.optim.optimizer import Optimizer
from ...runtime.state.mode import OPEN_PROFILES, tls
from ..errors.errors import NotFiniteError, at

# Their results are memory that nobody has written yet.
_UNWRITTEN = frozenset({"empty", "empty_like", "empty_strided"})


class debug:
    """Checks of operators: for a `with` block, or until `debug(nan=False)`."""

    def __init__(self, nan: bool = True):
        self._observer = NanWatch()
        if nan:
            self._observer.open()
        else:
            for one in [w for w in OPEN_PROFILES if type(w) is NanWatch]:
                one.close()

    def __enter__(self):
        return self

    def __repr__(self):
        return f"<jit.debug(nan=True): {'on' if self._observer in OPEN_PROFILES else 'off'}>"

    def __exit__(self, *exc):
        self._observer.close()


class NanWatch(OpObserver):
    """Checker of the operators of a thread, which runs compiled graphs operation by operation."""

    checks_values = sees_whole_batches = True

    def open(self):
        self._mode = tls.m
        super().open()
        OPEN_PROFILES.append(self)

    def close(self):
        """End the checks, whichever observers were opened since."""
        if self not in OPEN_PROFILES:
            return
        OPEN_PROFILES.remove(self)
        m = self._mode
        if m.observer is self:
            m.observer = self.before
        else:
            inner: Any = m.observer
            while inner is not None and inner.before is not self:
                inner = inner.before
            if inner is not None:
                inner.before = self.before
        m.refresh()

    # Eager and recorded operators.

    def observe(self, op, args, params):
        before = _faults(args, params)
        out = super().observe(op, args, params)
        outs = out if type(out) is tuple else (out,)
        line = user_line()
        for t in outs:
            if t._node is not None and hasattr(t._node, "__dict__"):
                t._node.line = line                 # as anomaly mode does
        if op.name not in _UNWRITTEN:
            _check(op.name, line, args, before, [_array(t) for t in outs], _name_of)
        return out

    def around_backward(self, through):
        """Return the function that runs a node of the history, with checks of the gradients that it returns."""
        through = super().around_backward(through)

        def checked(node, g):
            given = g if type(g) is tuple else (g,)
            values = [*given, *_saved(node)]
            before, label, line = _faults(values, {}), node.label, getattr(node, "line", None)
            grads = through(node, g)

            def name_of(_, i):
                return "the gradient given to backward()" if i < len(given) else "a value that the operation kept"

            for i, grad in enumerate(grads):
                if grad is not None:
                    _check(f"the gradient of {label}", line, values, before, [_array(grad)], name_of,
                           f" for operand {i}" if len(grads) > 1 else "")
            return grads

        return checked

    # Compiled code.

    def run(self, job, compiled, arrays) -> list:
        """Return the results of a compiled graph, in the memory that the compiled code would use."""
        if not hasattr(compiled, "plan"):           # on another device, where only results can be seen
            made = compiled.run(arrays)
            for a in made:
                _check(job.region.name, None, (), [], [np.asarray(a)])
            return made
        graph, in_place = compiled.graph, compiled.plan.in_place
        env = dict(zip(graph.inputs, arrays))
        for node in graph.nodes:
            operands = [env[x] if type(x) is Value else x for x in node.inputs]
            before = _faults(operands, node.params)
            result = program.kernel_of(node.op)(*operands, **node.params)
            results = [np.asarray(r) for r in (result if node.multi else (result,))]
            _check(node.op.name, node.line, operands, before, results, lambda a, _: _name_of(a, 0) or "an input of the trace")
            env.update(zip(node.outputs, results))
        for value, target in in_place.items():
            np.copyto(env[target], env[value])
            env[value] = env[target]
        return [env[v] for v in graph.outputs]


def _faults(args, params) -> list:
    """Return "nan", "infinity" or None for each operand, then for each parameter, before the operator may write to them."""
    return [_fault_in(_array(x)) for x in (*args, *params.values())]


def _fault_in(x) -> str | None:
    if isinstance(x, (tuple, list)):
        inner = {_fault_in(v) for v in x}
        return "nan" if "nan" in inner else "infinity" if "infinity" in inner else None
    return fault(x)


def _check(name, line, args, before, results, name_of=None, what=""):
    """Raise if a result holds nan or infinity: nan explains nan and infinity, an infinity explains an infinity."""
    for r in results:
        kind = fault(r)
        if kind is None:
            continue
        operands = [_array(x) for x in args]
        outside = next((i for i, x in enumerate(operands) if kind == before[i] == "nan" and _floats(x)), None)
        if outside is not None:
            x = operands[outside]
            text = name_of(args[outside], outside) if name_of is not None else ""
            raise NotFiniteError(f"nan came in from outside: {text or f'operand {outside}'}, {_type(x)}, holds it in "
                                 f"{_count(x)} of {x.size} elements where {name}{at(line)} reads it")
        if "nan" in before or kind in before:
            continue
        operands_text = ", ".join([_described(x) for x in operands if x is not None])
        raise NotFiniteError(f"{name}{at(line)} made {kind}{what} in {_count(r)} of {r.size} elements of {_type(r)}, from "
                             f"{operands_text or 'no operands'}")


def _array(x) -> Any:
    """Return the values of a tensor or device array on the host; None of composite tensors, whose parts are checked."""
    a = getattr(x, "_a", None) if isinstance(x, Tensor) else x
    return a.numpy() if isinstance(a, DeviceArray) else a


def _saved(node) -> list:
    """Return the arrays that a node kept for its rule."""
    saved = getattr(node, "saved", ())
    return [a for a in map(_array, saved) if isinstance(a, np.ndarray)] if type(saved) is tuple else []


def _name_of(t, i) -> str:
    """Return the name that user code has for a tensor or its array: of a variable, or of a part of what is in one."""
    frame, _ = user_frame(sys._getframe())
    for space in (frame.f_locals, frame.f_globals) if frame is not None else ():
        for name, value in list(space.items()):
            if _is(value, t):
                return name
            inner = next((path for path, part in _parts(value) if _is(part, t)), None)
            if inner is not None:
                return f"{name}{inner}"
    return ""


def _is(value, t) -> bool:
    return isinstance(value, Tensor) and (value is t or getattr(value, "_a", None) is t)


def _parts(value):
    """Yield (path, tensor) of the tensors in a module or an optimizer, and the gradient of a parameter."""
    if isinstance(value, Module):
        for name, t in (*value.named_parameters(), *value.named_buffers()):
            yield f".{name}", t
            yield f".{name}.grad", t.grad
    elif isinstance(value, Optimizer):
        tensors = [p for group in value.param_groups for p in group["params"]]
        for i, p in enumerate(tensors):
            yield from [(f".state[{i}][{name!r}]", t) for name, t in value.state.get(p, {}).items()]
    elif isinstance(value, Tensor) and value.is_leaf and value.requires_grad:
        yield ".grad", value.grad


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


def _count(x):
    return int((~np.isfinite(_wide(x))).sum())


def _type(x):
    return f"{BY_NP[x.dtype].name}{list(x.shape)}"


def _described(x):
    if not isinstance(x, np.ndarray):
        return repr(x)
    if not _floats(x) or not x.size or x.dtype.kind == "c":
        return _type(x) if x.dtype in BY_NP else str(x.dtype)
    wide = _wide(x)
    return f"{_type(x)} within {float(np.nanmin(wide)):.4g} and {float(np.nanmax(wide)):.4g}"
