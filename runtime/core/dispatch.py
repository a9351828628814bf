"""Dispatch: every operator on tensors is called here, put on the tape, and reported to the recorder.

Elementwise operators take broadcastable shapes, as NumPy does; the implied expand is put on the tape here, so gradient rules
need not handle it. The API promotes dtypes before.
"""

from collections.abc import Callable
from typing import Any
from weakref import ref as _ref

import numpy as np

from ...ir.dtype import DType
from ...ir.errors import DTypeError, IngotError, kind_of, out_of_memory
from ...ir.interrupts import raise_interrupt
from ...ir.locks import new_rlock
from ...ir.opdef.aval import Aval, broadcast_shapes
from ...ir.opdef.op import BINDERS, NO_GRAD, Nothing, Op, find_binder, run_reference
from ...ir.ops.core.shape import reshape
from ...ir.process_state import ignore_float_errors
from ...ir.symbols.substitute import at_hint
from ..state.mode import is_reentry, tls
from . import specialized_calls
from .backend import HOST
from .device_array import MESH, DeviceArray
from .node import INEXACT, aval_of
from .storage import Storage
from .taping import record
from .taping import write as write_taping
from .taping import written as taped
from .tensor import Tensor, class_for, wrap

_new = object.__new__
KERNELS: dict[Op, Callable] = {}   # kernel of an operator on arrays, called like its reference; filled on first use


def kernel_of(op: Op):
    """Return the kernel of an operator for this machine's arrays."""
    kernel = KERNELS.get(op)
    if kernel is None:
        kernel = HOST.kernel_for(op)
        with _kernels_change:
            kernel = KERNELS[op] = routed(op, kernel) if _routes else kernel
    return kernel


def routed(op: Op, kernel):
    """Return a kernel that passes device arrays to their backend. The backend does not check calls that the host's kernel would
    check itself."""
    unchecked = "self_checking" in op.traits

    def run(*arrays, **params):
        for a in arrays:
            if a.__class__ is DeviceArray:
                if unchecked:
                    check(op, arrays, params)
                if shared_out:      # then arrays of one process alone may stand before those that several share out
                    a = next((b for b in arrays if b.__class__ is DeviceArray and b.kind == MESH), a)
                return a.backend.run(op, arrays, params)
        return kernel(*arrays, **params)

    return run


def route_kernels():
    """Make all kernels look for device arrays, from the first one on."""
    with _kernels_change:
        if _routes:
            return
        for op, kernel in dict.copy(KERNELS).items():
            if "place" not in op.traits:
                KERNELS[op] = routed(op, kernel)
        _routes.append(True)


_routes: list = []
_kernels_change = new_rlock()    # of `KERNELS`: an entry that another thread makes meanwhile is routed as well
shared_out: list = []       # not empty once there are arrays that several processes share


def call(op: Op, args, params):
    """Run `op` on `args` (tensors, numbers, None); return its tensor or tuple of tensors."""
    m = tls.m
    if m.special and m.dispatch_hook is not None and m.saved_hooks is None:
        return through_hook(m, op, args, params)
    if m.special and m.observer is not None:
        return m.observer.call(op, args, params)
    if m.special and m.recorder is not None:
        args, params = m.recorder.plain(op, args, params)
        if shared_out and m.sizes is not None and are_shared(args):
            return call_shared(m, op, args, params)
    if m.special and m.batched is not None:
        whole = m.batched.call(op, args, params)
        if whole is not NotImplemented:
            return whole
    if m.special and m.sizes is not None:
        return call_symbolic(m, op, args, params)
    if op.is_view:
        return call_view(m, op, args, params)
    if m.special and m.autocast is not None:
        args = m.autocast.cast(op, args)
    arrays: list = []
    for a in args:                       # a loop, since each list in one expression is a call of its own
        arrays.append(a._a if isinstance(a, Tensor) else a)
    kernel = KERNELS.get(op) or kernel_of(op)
    try:
        if not op.checked_by_kernel:
            check(op, arrays, params)
        result = m.run(kernel, *arrays, **params)
    except Exception as e:
        result = after_failure(op, kernel, arrays, params, e)
    if specialized_calls.has_row_major_results(op):
        result = by_rows(result)
    out: Any
    if result.__class__ is _ndarray:
        out = _new(Tensor)
        out._a = result
        out._node = out._shared = None
    else:
        out = tuple([wrap(r) for r in result]) if type(result) is tuple else wrap(result)
    if m.recorder is not None:
        m.recorder.ran(op, args, params, out)
    if m.grad and op.vjp is not NO_GRAD:
        for a in args:
            if isinstance(a, Tensor) and a._node is not None:
                record(op, args, params, out)
                break
    return out


def through_hook(m, op: Op, args, params):
    """Run an operator by the dispatch hook of a tracker of Python; nested operators bypass the hook."""
    hook, m.dispatch_hook = m.dispatch_hook, None
    try:
        return hook(call, op, args, params)
    finally:
        m.dispatch_hook = hook


def by_rows(result):
    """Return a result, or several, in row-major order."""
    if type(result) is tuple:
        for r in result:
            if r is not None and not r.flags.c_contiguous:
                return tuple([by_rows(r) for r in result])
        return result
    if result is None or result.flags.c_contiguous:
        return result
    return HOST.dense(result) if result.__class__ is _ndarray else result.copy()


def are_shared(args) -> bool:
    """Return whether several processes share one of some tensors."""
    return any(isinstance(a, Tensor) and a._a.__class__ is DeviceArray and a._a.kind == MESH for a in args)


def call_shared(m, op: Op, args, params):
    """Run an operator on tensors that several processes share, of which traces fix the sizes, while others are symbolic."""
    sizes, m.sizes = m.sizes, None
    try:
        return call(op, args, params)
    finally:
        m.sizes = sizes


def call_symbolic(m, op: Op, args, params):
    """Run an operator while sizes are symbolic: the kernel gets their values, the recorder and the tape the symbols."""
    if m.autocast is not None:
        args = m.autocast.cast(op, args)
    before = m.sizes, m.recorder, m.autocast, m.grad
    m.sizes = m.recorder = m.autocast = None
    m.grad = False
    try:
        out = call(op, at_hint(tuple(args)), {k: at_hint(v) for k, v in params.items()})
    except Exception:
        before[1].failed(op)        # for other sizes it might not
        raise
    finally:
        m.sizes, m.recorder, m.autocast, m.grad = before
    m.recorder.ran(op, args, params, out)
    if m.grad and op.vjp is not NO_GRAD and any(isinstance(a, Tensor) and a._node is not None for a in args):
        record(op, args, params, out)
    return out


def check(op: Op, arrays, params):
    """Ask the shape rule, unless it accepted this kind of call before."""
    kinds: list = [op]
    for a in arrays:
        if a.__class__ is _ndarray or a.__class__ is DeviceArray:
            kinds.append(a.shape)
            kinds.append(a.dtype)
        else:
            kinds.append(a)
    call_key = (*kinds, *params.items())
    if call_key not in _accepted:
        accept(call_key, op, arrays, params)


def accept(call_key, op: Op, arrays, params):
    """Ask the shape rule for a kind of call, and remember that it accepted."""
    op.infer(*[aval_of(a) if hasattr(a, "strides") else a for a in arrays], **params)
    if len(_accepted) >= _MOST_CHECKED:
        _accepted.clear()
    _accepted.add(call_key)


_accepted: set = set()      # calls that their shape rules accepted, by operator, shapes, dtypes and parameters
_MOST_CHECKED = 16384
_ndarray = np.ndarray


def call_and_count(op: Op, args, params):
    """Run an operator that has no specialised `__call__` yet (`specialized_calls.py`)."""
    specialized_calls.count_call(op)
    return call(op, args, params)


BINDERS[Tensor] = BINDERS[Nothing] = call_and_count


def run_arrays(op: Op, arrays, params):
    """Run an operator on plain arrays, as backward does: by the kernel that eager code uses."""
    return (KERNELS.get(op) or kernel_of(op))(*arrays, **params)


def run_arrays_and_count(op: Op, arrays, params):
    """Run an operator without a specialised `__call__` on plain arrays."""
    specialized_calls.count_call(op)
    return run_arrays(op, arrays, params)


BINDERS[DeviceArray] = run_arrays
BINDERS.update({t: run_arrays for t, bind in BINDERS.items() if bind is run_reference})
BINDERS[np.ndarray] = run_arrays_and_count


def binder_of(args):
    """Return the function that runs an operator on arguments of which the first is no tensor."""
    return BINDERS.get(type(args[0])) or find_binder(args)


def after_failure(op, kernel, arrays, params, error):
    """Raise the error of a failed call: that of the shape rule, if it refuses the call, else the error as it is, which may come
    from outside. Run the call again if it only met a re-entered NumPy context, as a finaliser inside another call does."""
    m = tls.m
    if is_reentry(error):
        try:
            return ignore_float_errors(kernel)(*arrays, **params)
        except Exception as again:
            error = again
    m.failures += 1
    refused = refusal(op, arrays, params)
    if m.recorder is not None and refused is None:
        m.recorder.failed(op)       # for other values it might not
    try:
        if refused is not None and not isinstance(error, IngotError):
            raise_interrupt(error, m.quietly, kernel, *arrays, **params)
            raise refused if str(refused).startswith(op.title) else type(refused)(f"{op.title}: {refused}") from error
        if isinstance(error, MemoryError) and not isinstance(error, IngotError) and type(error) is not MemoryError:
            # NumPy's, which says the size.
            raise out_of_memory(f"{op.title}: {error}") from error
        raise error
    finally:
        del error           # else error and frame hold each other, and operands live until the next collection


def after_short_path(error, general, *args, **params):
    """Return the result of a general call in place of a short path that failed. It raises what is wrong with the call. If
    nothing is, the error came from outside, or the short path met a re-entered NumPy context."""
    try:
        result = general(*args, **params)
        if is_reentry(error):
            return result
        raise error
    finally:
        del error


def refusal(op, arrays, params) -> IngotError | None:
    """Return the error with which the shape rule refuses a call for any values; None if it accepts."""
    avals = [aval_of(a) if hasattr(a, "strides") else a for a in arrays]
    foreign = [a for a in avals if hasattr(a, "dtype") and not isinstance(a.dtype, DType)]       # tensors of other libraries
    if foreign:
        return DTypeError(f"{op.title} takes tensors, got {kind_of(foreign[0])}")
    try:
        if op.broadcasts:
            shape = broadcast_shapes(*(a.shape for a in avals if isinstance(a, Aval)))
            avals = [a.with_shape(shape) if isinstance(a, Aval) else a for a in avals]
        op.infer(*avals, **params)
    except IngotError as e:
        return e.with_traceback(None)       # without frames, which would hold the error
    return None


# Views.


def call_view(m, op, args, params):
    """Run an operator whose result is a view of its argument."""
    x = args[0]
    a = x._a
    try:
        r = op.ref(a, **params) if a.__class__ is _ndarray else a.backend.run(op, (a,), params)
    except Exception as e:
        r = after_failure(op, op.ref, [a], params, e)
    base = r.base
    if base is not None and (base is a or base is a.base or np.may_share_memory(r, a)):     # reshape copies where it must
        out = as_view(x, r, (x._path, op, params))
    else:
        out = _new(Tensor if r.__class__ is _ndarray else class_for(r))
        out._a = r
        out._node = None
        out._shared = Storage()
    if m.recorder is not None:
        m.recorder.ran(op, args, params, out)
    if x._node is not None and m.grad and op.vjp is not NO_GRAD:
        if m.noticed:
            record(op, args, params, out)
        else:
            tape_view(op, args, params, out)
    return out


def tape_view(op, args, params, out):
    """Put a view of a tensor with a history on the tape where nothing else listens, as `record` does for any arguments."""
    kinds = (op, out._a.dtype.kind in INEXACT)
    (taped.get(kinds) or write_taping(kinds))(op, args, params, out)


def as_view(base, r, path):
    """Return a tensor over `r`, a part of base's memory: it shares the storage, and remembers the view operators."""
    out = _new(Tensor if r.__class__ is _ndarray else class_for(r))
    out._a = r
    out._node = None
    storage = out._shared = base._shared or base._own_storage()
    root = base._base
    out._base = base if root is None else root
    out._path = path
    live = storage.aliases
    if len(live) < storage.alias_limit:            # as `add_aliases` does, without a call
        live.append(_ref(out))
    else:
        storage.add_aliases((out,))
    return out


def looks(op, x, several) -> list:
    """Return the views of x for several parameters of one operator."""
    m, a = tls.m, x._a
    if m.noticed or (m.grad and x._node is not None) or a.__class__ is not _ndarray:
        return [look(op, x, params) for params in several]
    storage, root, path, view, made = x._shared or x._own_storage(), x._base, x._path, op.ref, []
    for params in several:
        out = _new(Tensor)
        out._a = view(a, **params)
        out._node = None
        out._shared = storage
        out._base = x if root is None else root
        out._path = path, op, params
        made.append(out)
    storage.add_aliases(made)
    return made


def untaped(fn, *args):
    """Return fn(*args), made by operators, without gradients. It runs on plain arrays unless something listens, in half the
    time; arrays among several results become tensors."""
    m = tls.m
    if m.special:
        return fn(*args)
    result = m.quietly(fn, *[a._a if isinstance(a, Tensor) else a for a in args])
    if result.__class__ is tuple:
        return tuple([wrap(r) if hasattr(r, "strides") else r for r in result])
    return wrap(result) if hasattr(result, "strides") else result


def of_every_sample(check, x, *rest):
    """Return `check(x, *rest)`. In vmap, check all samples at once, as one tensor whose first dim is the batch."""
    level = tls.m.batched
    if level is None:
        return check(x, *rest)
    return level.run_outer(of_every_sample, check, level.full(x) if level.holds(x) else x, *rest)


def reshaped(x: Tensor, shape: tuple) -> Tensor:
    """Return a new result, or an operand that nobody writes, in another shape; it is no view unless a history or a recorder
    needs one."""
    m = tls.m
    if m.noticed or (m.grad and x._node is not None):
        return reshape(x, shape=shape)
    return wrap(x._a.reshape(shape))


def look(op, x, params):
    """Return op(x, **params) of a view operator for a tensor, by a shorter path."""
    m = tls.m
    return op(x, **params) if m.noticed else call_view(m, op, (x,), params)


specialized_calls.NAMES.update({f"_{f.__name__}": f for f in (Tensor, accept, after_failure, binder_of, by_rows, call,
                                                              call_view, kernel_of,
                                                    record, wrap, _ndarray)},
                               _INEXACT=INEXACT, _KERNELS=KERNELS, _accepted=_accepted, _new=_new, _taped=taped, _tls=tls,
                               _write=write_taping)
