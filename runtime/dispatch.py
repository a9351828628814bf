"""The one door: every operator on tensors is called here. Run, put on the tape, tell the recorder.

Elementwise operators come in with broadcastable shapes, as numpy takes them; the expand that this implies is put on the
tape here, so gradient rules never speak of it. Dtypes were promoted by the operator layer before.
"""

from collections.abc import Callable

import numpy as np

from ..ir.aval import Aval, broadcast_shapes
from ..ir.errors import ArgumentError, AutogradError, DimError, DTypeError, IngotError, OutOfMemoryError, ShapeError
from ..ir.lazy import lazy
from ..ir.op import BINDERS, NO_GRAD, OPS, Op, run_reference
from ..ir.ops.elementwise import cast
from ..ir.ops.shape import assign_view
from .autograd.node import Node, Output, PackedValues, aval_of, broadcast_edge, is_inexact, keep, keep_planned
from .state import tls
from .storage import Storage, user_line
from .tensor import Tensor, wrap

_new = object.__new__
eager = lazy(__package__, ".cpu.eager")
KERNELS: dict[Op, Callable] = {}   # what runs an operator on arrays, called like its reference; filled on first use


def kernel_of(op: Op):
    """What runs an operator on this machine's arrays."""
    kernel = KERNELS.get(op)
    if kernel is None:
        kernel = KERNELS[op] = eager.kernel_for(op)
    return kernel


def call(op: Op, args, params):
    """Runs `op` on `args` (tensors, numbers, None) and returns its tensor or tuple of tensors."""
    m = tls.m
    if op.is_view:
        return call_view(m, op, args, params)
    if m.special and m.autocast is not None:
        args = m.autocast.cast(op, args)
    arrays = [a._a if isinstance(a, Tensor) else a for a in args]
    kernel = KERNELS.get(op) or kernel_of(op)
    try:
        if not op.checked_by_kernel:
            call_key = (op, *[(a.shape, a.dtype) if a.__class__ is _ndarray else a for a in arrays], *params.values())
            if call_key not in _checked:
                check(op, arrays, params, call_key)
        result = m.run(kernel, *arrays, **params)
    except Exception as e:
        result = after_failure(op, kernel, arrays, params, e)
    out = tuple([wrap(r) for r in result]) if type(result) is tuple else wrap(result)
    if m.recorder is not None:
        m.recorder.saw(op, args, params, out)
    if m.grad and op.vjp is not NO_GRAD:
        for a in args:
            if isinstance(a, Tensor) and a._node is not None:
                record(op, args, params, out)
                break
    return out


def check(op: Op, arrays, params, call_key):
    """Asks the shape rule, and remembers that this kind of call is fine."""
    op.infer(*[aval_of(a) if hasattr(a, "strides") else a for a in arrays], **params)
    if len(_checked) >= _MOST_CHECKED:
        _checked.clear()
    _checked.add(call_key)


_checked: set = set()      # calls that their shape rules accepted, by operator, shapes, dtypes and parameters
_MOST_CHECKED = 16384
_ndarray = np.ndarray
BINDERS[Tensor] = call


def run_arrays(op: Op, arrays, params):
    """How plain arrays are bound in the runtime (backward works on them): by the kernel that eager would use."""
    return (KERNELS.get(op) or kernel_of(op))(*arrays, **params)


BINDERS.update({t: run_arrays for t, bind in BINDERS.items() if bind is run_reference})


def after_failure(op, kernel, arrays, params, error):
    """Explains a failed call; re-runs one that only met a re-entered numpy context (a finaliser inside another call)."""
    if isinstance(error, IngotError):
        raise error
    if type(error) is RuntimeError and "cannot enter context" in str(error):
        with np.errstate(all="ignore"):
            return kernel(*arrays, **params)
    if isinstance(error, MemoryError):
        raise OutOfMemoryError(f"{op.name}: {error}; make the tensors smaller, or free some with del") from error
    raise explain(op, arrays, params, error) from error


_OURS = ((TypeError, DTypeError), (IndexError, DimError), (ArithmeticError, ArgumentError),
         ((ValueError, RuntimeError), ShapeError))


def explain(op, arrays, params, error) -> Exception:
    """The ingot error for a reference that raised: the shape rule's own words if it has any."""
    avals = [aval_of(a) if hasattr(a, "strides") else a for a in arrays]
    try:
        if op.broadcasts:
            shape = broadcast_shapes(*(a.shape for a in avals if isinstance(a, Aval)))
            avals = [a.with_shape(shape) if isinstance(a, Aval) else a for a in avals]
        op.infer(*avals, **params)
    except IngotError as e:
        return e if str(e).startswith(op.name) else type(e)(f"{op.name}: {e}")
    said = ", ".join(f"{k}={v!r}" for k, v in params.items())
    kind = next((ours for theirs, ours in _OURS if isinstance(error, theirs)), IngotError)
    return kind(f"{op.name}({', '.join(map(str, avals))}{', ' + said if said else ''}) failed: {error}")


def record(op: Op, args, params, out):
    """Puts one operation on the tape: makes its node and hangs it on the results."""
    m = tls.m
    outs = out if type(out) is tuple else (out,)
    if not any([is_inexact(t._a) for t in outs]):  # noqa: C419  (quicker than a generator)
        return
    edges = tuple([edge_of(op, a, outs[0]) if isinstance(a, Tensor) else None for a in args])
    saved, guards = keep(op, tuple([e is not None for e in edges]), args, out)
    node = Node(op, params, edges, saved, guards)
    if m.special:
        annotate(m, node, args, out)
    if type(out) is not tuple:
        out._node = node
        return
    node.outs = tuple([aval_of(t._a) for t in out])
    for i, t in enumerate(out):
        if node.outs[i].dtype.is_inexact:
            t._node = Output(node, i)


def record_pair(op: Op, x: Tensor, y, out: Tensor):
    """What `record` does, for two floating point operands of one dtype (the second may be a number)."""
    shape = out._a.shape
    first, second = x._node, None
    if first is not None and x._a.shape != shape:
        first = broadcast_edge(first, x._a, shape)
    if isinstance(y, Tensor):
        second = y._node
        if second is not None and y._a.shape != shape:
            second = broadcast_edge(second, y._a, shape)
    plan = op.plan((first is not None, second is not None))
    if plan == _NOTHING:
        saved, guards = _NOTHING, ()
    else:
        saved, guards = keep_planned(plan, (x, y), out)
    out._node = Node(op, _NO_PARAMS, (first, second), saved, guards)


def record_one(op: Op, x: Tensor, out: Tensor):
    """What `record` does, for one floating point operand of an elementwise operator without parameters."""
    saved, guards = keep_planned(op.plan(_ONE), (x,), out)
    out._node = Node(op, _NO_PARAMS, (x._node,), saved, guards)


_ONE = (True,)
_NOTHING = (None, None, None)
_NO_PARAMS: dict = {}


def edge_of(op, a, out):
    """Where an argument's gradient goes."""
    edge = a._node
    if edge is None or not is_inexact(a._a):
        return None
    if op.broadcasts and a._a.shape != out._a.shape:
        return broadcast_edge(edge, a._a, out._a.shape)
    return edge


def annotate(m, node, args, out):
    """What a node carries only under a recorder, anomaly mode or saved-tensor hooks."""
    if m.recorder is not None:
        m.recorder.taped(node, args, out)
    if m.anomaly:
        node.line = user_line()
    if m.saved_hooks is not None:
        pack, unpack = m.saved_hooks
        values = [wrap(v) if hasattr(v, "strides") else v for v in node.saved]
        node.saved, node.guards = PackedValues(values, pack, unpack), ()


# Views.


def call_view(m, op, args, params):
    """Runs an operator that only looks at its argument's memory in another way."""
    x = args[0]
    a = x._a
    try:
        r = op.ref(a, **params)
    except Exception as e:
        r = after_failure(op, op.ref, [a], params, e)
    out = _new(Tensor)
    out._a = r
    out._node = None
    if looks_into(r, a):
        link_view(op, params, x, out)
    else:
        out._storage = Storage()
    if m.recorder is not None:
        m.recorder.saw(op, args, params, out)
    if x._node is not None and m.grad and op.vjp is not NO_GRAD:
        record(op, args, params, out)
    return out


def looks_into(r, a) -> bool:
    """Whether an array made from `a` shares its memory (reshape copies where strides do not fit)."""
    base = r.base
    return base is not None and (base is a or base is a.base or np.may_share_memory(r, a))


def link_view(op, params, base, out):
    """Makes `out` share the storage of the tensor it looks into, and remember the way there."""
    storage = out._storage = base._storage
    root = base._base
    link = (op.name, tuple(params.items()) if len(params) == 1 else tuple(sorted(params.items())))
    if root is None:
        out._base = base
        out._chain = (link,)
    else:
        out._base = root
        out._chain = (*base._chain, link)
    storage.add_alias(out)


def write(dst: Tensor, src, name: str, *, foreign: bool = False):
    """Writes `src` (a tensor or number) into `dst`: data, version, and the histories of everything that sees the memory.

    Nothing is changed if the value does not fit. `foreign` says that src was not computed from dst; what dst was then gets
    a gradient of zeros.
    """
    m = tls.m
    a = dst._a
    check_writable(dst, m, name)
    value = src._a if isinstance(src, Tensor) else src
    try:
        if isinstance(src, Tensor) and value.shape != a.shape and np.broadcast_shapes(value.shape, a.shape) != a.shape:
            raise ValueError
    except ValueError:
        raise ShapeError(f"{name}: a result of shape {value.shape} does not fit into a tensor of shape {a.shape}") from None
    m.run(np.copyto, a, value, casting="unsafe")
    wrote(dst, src, name, foreign)
    return dst


def check_writable(dst: Tensor, m, name: str):
    """Raises if writing into `dst` would be wrong."""
    flags = dst._a.flags
    if not flags.writeable:
        raise ShapeError(f"{name}: the memory of this tensor of shape {dst._a.shape} is read-only; clone() it before writing")
    if not flags.c_contiguous and overlaps(dst._a):
        raise ShapeError(f"{name}: several elements of this tensor of shape {dst._a.shape} share one place in memory (it was "
                         "expanded or unfolded); clone() it before writing")
    if m.grad and dst.is_leaf and dst._node is not None:
        raise AutogradError(f"{name}: a leaf tensor that requires grad was written in place; do it under no_grad(), or on a "
                            "clone()")
    base = dst._base
    if m.grad and base is not None and base._node is not None and base.is_leaf:
        raise AutogradError(f"{name}: a view of a leaf tensor that requires grad was written in place; do it under no_grad()")


def overlaps(a) -> bool:
    """Whether two elements of an array lie at the same address."""
    if a.size <= 1:
        return False
    steps = sorted((abs(s), n) for s, n in zip(a.strides, a.shape) if n > 1)
    reach = 0
    for step, n in steps:
        if step == 0:
            return True
        if step <= reach:
            break
        reach += step * (n - 1)
    else:
        return False
    offsets = np.zeros(1, np.int64)
    for step, n in steps:
        offsets = (offsets + (np.arange(n) * step)[:, None]).reshape(-1)
    return np.unique(offsets).size < a.size


def wrote(dst: Tensor, src, name: str, foreign: bool = False):
    """After data was written: version, history, recorder. `src` is what dst's value now is, for the tape."""
    m = tls.m
    storage = dst._storage
    storage.wrote(name)
    node = getattr(src, "_node", None)
    if m.grad and (node is not None or dst._node is not None or (dst._base is not None and dst._base._node is not None)):
        rewrite_history(dst, src, foreign)
    if m.recorder is not None:
        m.recorder.wrote(dst, src)


def rewrite_history(dst: Tensor, src, foreign: bool = False):
    """Gives `dst`, its base and all other views of that base the history of the value just written."""
    value_edge = value_history(dst, src)
    base = dst._base
    if base is None:
        if dst._node is not None and (foreign or value_edge is None):
            value_edge = Node(assign_view, {"chain": ()}, (dst._node, value_edge), (None, *(aval_of(dst._a),) * 2), ())
        dst._node = value_edge
        base = dst
    else:
        edges = (base._node, value_edge)
        params = {"chain": dst._chain}
        saved = (None, aval_of(base._a), aval_of(dst._a))
        base._node = Node(assign_view, params, edges, saved, ())
    for ref in base._storage.aliases:
        view = ref()
        if view is not None and view._base is base:
            view._node = chain_history(base, view._chain)


def value_history(dst, src):
    """The edge of the written value, through the cast and expand that writing did."""
    if not isinstance(src, Tensor) or src._node is None:
        return None
    edge = src._node
    if src._a.dtype != dst._a.dtype:
        edge = Node(cast, {"dtype": aval_of(dst._a).dtype}, (edge,), (None, aval_of(src._a)), ())
    if src._a.shape != dst._a.shape:
        edge = broadcast_edge(edge, src._a, dst._a.shape)
    return edge


def chain_history(base, chain):
    """The history of a view: its chain of view operators on top of the base's."""
    node, aval = base._node, aval_of(base._a)
    if node is None:
        return None
    for name, items in chain:
        op, params = OPS[name], dict(items)
        out = op.infer(aval, **params)
        node = Node(op, params, (node,), (out, aval), ())
        aval = out
    return node
