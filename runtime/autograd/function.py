"""User-defined operations: `Function` and its context, with forward, backward and jvp."""

import inspect
import weakref
from functools import partial, wraps
from typing import Any

from ...ir.doors import with_doors
from ...ir.errors import AutogradError, DTypeError, ShapeError
from ...ir.ops.core.elementwise import cast
from ...ir.ops.core.shape import full, reshape, sum_to
from ..core.composite_tensors import PARTS, values_in
from ..core.device_array import DeviceArray
from ..core.node import Freed, Leaf, Named, Node, Output, checked, is_inexact, notice, overwritten_error, successor
from ..core.storage import Storage, user_line
from ..core.tensor import Tensor, class_for, shape_of, wrap
from ..core.writes import Passed, rewrite_history
from ..state.mode import tls
from .backward import grad
from .grad_mode import enable_grad
from .missing_rules import forbidden


class FunctionCtx:
    """Context of a Function. Forward may set any attribute; tensors go through `save_for_backward`."""

    needs_input_grad: tuple = ()
    _to_save = ()
    _for_forward = ()
    _inputs: Any = None     # avals of the arguments, for jvp
    _saved: Any = ()
    _own: int | None = None     # how many saved tensors are for backward; the rest is for jvp
    _along = False          # whether jvp reads
    _dirty = ()
    _non_differentiable = ()
    _materialize = True
    _node = None            # weak reference to the node of this context
    _named = None           # name of the Function for errors

    @property
    def metadata(self) -> dict:
        """Metadata that others store with the node."""
        return self.__dict__.setdefault("_metadata", {})

    def save_for_backward(self, *tensors):
        """Save inputs or outputs (or None) for backward, guarded against overwriting; sparse ones, too."""
        for t in tensors if any(self.needs_input_grad) else ():     # without gradients nothing reads them
            if t is not None and not isinstance(t, Tensor):
                raise DTypeError(f"save_for_backward takes tensors and None, got {type(t).__name__}; keep other things as "
                                 "attributes of ctx")
        self._to_save = tensors

    def save_for_forward(self, *tensors):
        """Save inputs or outputs for jvp. Without a call jvp reads those of save_for_backward."""
        self._for_forward = tensors

    def mark_dirty(self, *tensors):
        """Declare that forward wrote these inputs in place; they must be returned."""
        self._dirty = tensors

    def mark_non_differentiable(self, *tensors):
        """Declare that these outputs carry no gradient."""
        self._non_differentiable = tensors

    def set_materialize_grads(self, value: bool):
        """Set whether backward gets zeros (the default) or None for outputs without a gradient."""
        self._materialize = bool(value)

    @property
    def saved_tensors(self) -> tuple:
        """Tensors of save_for_backward, with their history."""
        if type(self._saved) is not tuple:
            raise AutogradError("these saved tensors are freed: backward went through this Function a second time, or they "
                                "were read after it; call the first backward with retain_graph=True")
        node = self._node() if self._node is not None else None
        return tuple(None if s is None else s.unpack(node, self._named) for s in self._part_of(self._saved))

    def _part_of(self, saved: tuple) -> tuple:
        """Return the saved tensors for backward, or for jvp while that runs."""
        if not self._own or self._own == len(saved):
            return saved
        return saved[self._own:] if self._along else saved[:self._own]

    def keeps_all(self):
        """End forward: tensors for jvp follow those for backward."""
        self._own = len(self._to_save)
        self._to_save, self._for_forward = (*self._to_save, *self._for_forward), ()


_OF_NODE = frozenset(("cls", "ctx", "inputs"))


class FunctionNode(Node):
    """Node of a Function's results. Attributes of the ctx are visible on it."""

    sparse: dict = {}       # position of a sparse argument -> argument without history
    makes: dict = {}        # position of a sparse result -> its parts and rebuild function

    def __init__(self, cls, ctx, edges, inputs):
        ctx._named = Named(cls.__name__)
        super().__init__(ctx._named, {}, edges, (), ())
        self.cls = cls
        self.ctx = ctx
        self.inputs = inputs        # avals of tensor arguments
        ctx._node = weakref.ref(self)
        if tls.m.anomaly:
            self.line = user_line()

    def __setattr__(self, name, value):
        """Set an attribute. Attributes of users lie in the ctx, where their backward reads them."""
        if name in _OF_NODE or hasattr(FunctionNode, name):
            object.__setattr__(self, name, value)
        else:
            setattr(self.ctx, name, value)

    label = property(lambda self: self.cls.__name__ + "Backward")

    @property
    def metadata(self) -> dict:
        notice(self)
        return self.ctx.metadata

    @property
    def saved_memory(self):
        saved = self.ctx._saved if type(self.ctx._saved) is tuple else ()
        parts = [part for s in saved if s is not None for part in (s.parts if type(s) is SavedParts else (s,))]
        return [(part.storage, part.version) for part in parts if part.unpack_hook is None]

    def state(self) -> tuple | None:
        """Return (attributes of ctx, its saved tensors) for a node like this one; None if it holds more than these."""
        saved = self.ctx._saved
        if self.sparse or self.makes or type(saved) is not tuple:
            return None
        if any(s is not None and (type(s) is not SavedTensor or s.unpack_hook is not None) for s in saved):
            return None
        return self.attributes(), saved

    def attributes(self) -> dict:
        """Return what the user has stored in ctx."""
        return {name: x for name, x in vars(self.ctx).items() if name not in _OF_ONE_CALL}

    @staticmethod
    def like(cls, edges, inputs, outs, attributes, saved) -> "FunctionNode":
        """Return a node for a class of Functions. `saved` has for each saved tensor (array, edge, number of the result that it
        is, (storage, version)), or None."""
        ctx = FunctionCtx()
        vars(ctx).update(attributes)
        node = FunctionNode(cls, ctx, edges, inputs)
        node.outs = outs
        ctx._saved = tuple([None if s is None else SavedTensor.over(*s) for s in saved])
        return node

    def __getattr__(self, attribute):
        if attribute in ("ctx", "cls"):
            raise AttributeError(attribute)
        notice(self)
        return getattr(self.ctx, attribute)

    def run(self, engine, slots):
        """Call the user's backward on tensors and check its result."""
        ctx = self.ctx
        there = engine.as_tensor(next(g for g in slots if g is not None))
        grads = [self._materialized(engine, g, aval, there) for g, aval in zip(slots, self.outs)]
        for i, (parts, make) in self.makes.items():
            grads[i] = None if grads[i] is None else make(*parts[:-1], grads[i])
        along = engine.along and has_jvp(self.cls) and not self.sparse and not self.makes
        returned = self.along(grads) if along else backward_of(self.cls)(ctx, *grads)
        if not isinstance(returned, (tuple, list)):
            returned = (returned,)
        extra = returned[len(self.edges):]
        if len(returned) < len(self.edges) or any(g is not None for g in extra):
            raise AutogradError(f"{self.label} returned an incorrect number of gradients (expected {len(self.edges)}, got "
                                f"{len(returned)}): one for each argument of forward, None where there is none")
        return [engine.as_value(self._checked(i, g)) if edge is not None else None
                for i, (edge, g) in enumerate(zip(self.edges, returned))]

    def along(self, grads) -> list:
        """Return the gradients of the arguments in the first half of a derivative along a direction."""
        given = iter(Along.apply(self, *grads))
        return [None if edge is None else next(given) for edge in self.edges]

    def _materialized(self, engine, g, aval, there):
        """Return a gradient for the user's backward: zeros (beside `there`) for results without one."""
        if g is not None:
            return engine.as_tensor(g)
        if aval is None or not self.ctx._materialize:
            return None
        return full.call(there, shape=aval.shape, value=0, dtype=aval.dtype)

    def _checked(self, i, g):
        """Return a gradient in the shape and dtype of its argument."""
        if g is None:
            return None
        if not isinstance(g, Tensor):
            raise DTypeError(f"{self.label} returned a {type(g).__name__} as gradient {i}; expected a tensor or None")
        want = self.inputs[i]
        if tuple(g.shape) == tuple(want.shape) and i in self.sparse:
            g, want = self.sparse[i].values_of(g), self.sparse[i].values().aval
        shape = shape_of(g)
        if shape != want.shape:
            lead = len(shape) - len(want.shape)
            fits = lead >= 0 and all(w in (1, n) for w, n in zip(want.shape, shape[lead:]))
            if not fits:
                raise ShapeError(f"{self.label} returned an invalid gradient at index {i}: got shape {list(shape)}, but "
                                 f"expected a shape compatible with {list(want.shape)}")
            g = sum_to(g, shape=want.shape)
        return g if g.dtype is want.dtype else cast(g, dtype=want.dtype)

    @property
    def is_used_up(self) -> bool:
        return bool(self.ctx._saved)

    def release(self):
        if self.ctx._saved:
            self.ctx._saved = Freed()


@with_doors
class Function:
    """Base of user-defined operations with static methods `forward` and `backward`, called as `MyFunction.apply(...)`.

    Write either `forward(ctx, *args)`, or `forward(*args)` with `setup_context(ctx, inputs, output)`. `backward(ctx, *grads)`
    returns one gradient for each argument of forward, or None. A Function with `jvp` alone derives backward from it. In vmap
    forward and backward run sample by sample (with or without `generate_vmap_rule`), unless there is a static method
    `vmap(info, in_dims, *args)`.
    """

    generate_vmap_rule = False
    _passing: Passed | None = None      # overrides what is known of results over the memory of arguments

    def __init__(self, *args, **kwargs):
        raise AutogradError(f"{type(self).__name__} is not called as an object; use {type(self).__name__}.apply(...) with "
                            "static forward and backward methods")

    @staticmethod
    def forward(*args, **kwargs):
        """Compute the results; override it."""
        raise NotImplementedError("a Function must have a static method forward")

    @staticmethod
    def setup_context(ctx, inputs, output):
        """Save values for backward, if forward takes no ctx."""
        raise NotImplementedError("setup_context was not overridden")

    @staticmethod
    def backward(ctx, *grad_outputs):
        """Compute the gradients of the arguments; override it."""
        raise NotImplementedError("a Function must have a static method backward (or vjp) to go backward through it")

    vjp = backward

    @staticmethod
    def jvp(ctx, *grad_inputs):
        """Compute the tangents of the results from those of the arguments; its transpose replaces a missing backward."""
        raise NotImplementedError("a Function has a static method jvp only if it was overridden")

    @staticmethod
    def vmap(info, in_dims, *args):
        """Compute (results, their mapped dimensions) of whole batches in vmap; without it samples run one by one."""
        raise NotImplementedError("a Function has a static method vmap only if it was overridden")

    @classmethod
    def apply(cls, *args, **kwargs):
        """Run forward on the arguments and record it."""
        ctx = FunctionCtx()
        separate = cls.setup_context is not Function.setup_context
        if separate:
            args = _bound(cls.forward, args, kwargs)
        elif kwargs:
            args = _by_position(cls.forward, args, kwargs)
        edges = tuple([_edge_of(a) for a in args])
        ctx.needs_input_grad = tuple([e is not None for e in edges])
        if has_jvp(cls):
            ctx._inputs = tuple([a.aval if isinstance(a, Tensor) else None for a in args])
        m = tls.m
        taped = m.grad and any(ctx.needs_input_grad)
        if m.batched is not None:
            result = m.batched.user_function(cls, ctx, args, separate)
        else:
            result = run_forward(cls, ctx, args, separate)
        return _finish(cls, ctx, args, edges, result, taped)


def _memory_of(x):
    """Return what an argument (if sparse, its values) shares with its aliases, if known."""
    t = values_in(x)
    return t._shared if isinstance(t, Tensor) else None


def _edge_of(x):
    """Return the edge for the gradient of an argument; of a sparse tensor that of its values."""
    t = values_in(x)
    return t._node if isinstance(t, Tensor) and is_inexact(t._a) else None


def run_forward(cls, ctx, args, separate):
    """Run a Function's forward without a tape, and fill its ctx for backward."""
    m = tls.m
    before, m.grad = m.grad, False
    try:
        result = cls.forward(*args) if separate else cls.forward(ctx, *args)
        if separate:
            cls.setup_context(ctx, args, result)
    finally:
        m.grad = before
    ctx.keeps_all()
    return result


def backward_of(cls):
    """Return the backward of a Function: `backward`, `vjp`, or the transpose of its jvp."""
    if cls.backward is not Function.backward:
        return cls.backward
    if cls.vjp is not Function.vjp:
        return cls.vjp
    return partial(_transposed, cls) if has_jvp(cls) else cls.backward


def _transposed(cls, ctx, *grads):
    """Return the gradients of the arguments by transposing jvp."""
    there = next((g for g in grads if g is not None and g._a.__class__ is DeviceArray), None)
    with enable_grad():
        avals = [a if needed else None for a, needed in zip(ctx._inputs, ctx.needs_input_grad)]
        holders = [a if a is None else full.call(there, shape=a.shape, value=0, dtype=a.dtype).requires_grad_() for a in avals]
        wanted = [h for h in holders if h is not None]
        if tls.m.batched is not None:
            for h in wanted:
                tls.m.batched.begins(h._node)
        tangents = moved_along(cls, ctx, holders)
        total = [(t * g).sum() for t, g in zip(tangents, grads) if isinstance(t, Tensor) and t.requires_grad and g is not None]
    found = iter(grad(total, wanted, create_graph=tls.m.grad, allow_unused=True) if total else [None] * len(wanted))
    return tuple([None if h is None else next(found) for h in holders])


def has_jvp(cls) -> bool:
    """Return whether a Function has a jvp."""
    return cls.jvp is not Function.jvp


def moved_along(cls, ctx, directions) -> tuple:
    """Return the tangents of a Function's results by its jvp."""
    ctx._along = True
    try:
        tangents = cls.jvp(ctx, *directions)
    finally:
        ctx._along = False
    return tuple(tangents) if isinstance(tangents, (tuple, list)) else (tangents,)


class Along(Function):
    """First half of a derivative along a direction, through a Function with jvp. Its results are zeros that nothing reads. The
    second half, their derivatives by the incoming gradients, is jvp of the arguments' directions."""

    @staticmethod
    def forward(ctx, node, *grads):
        ctx.set_materialize_grads(False)
        ctx.node, ctx.there = node, next(g for g in grads if g is not None)
        return tuple([full.call(ctx.there, shape=a.shape, value=0, dtype=a.dtype)
                      for a, edge in zip(node.inputs, node.edges) if edge is not None])

    @staticmethod
    def backward(ctx, *directions):
        node = ctx.node
        given = iter(directions)
        tangents = moved_along(node.cls, node.ctx, [Along.direction(ctx, aval, None if edge is None else next(given))
                                                 for aval, edge in zip(node.inputs, node.edges)])
        if len(tangents) != len(node.outs):
            raise AutogradError(f"{node.cls.__name__}.jvp returned {len(tangents)} tensors; expected one for each result of "
                                f"forward, which are {len(node.outs)}")
        return None, *tangents

    @staticmethod
    def direction(ctx, aval, direction):
        """Return the direction of an argument; None, or zeros, if derivatives do not follow it."""
        if direction is not None or aval is None or not aval.dtype.is_inexact or not ctx.node.ctx._materialize:
            return direction
        return full.call(ctx.there, shape=aval.shape, value=0, dtype=aval.dtype)


def _bound(forward, args, kwargs):
    """Return arguments by position, with the defaults of forward filled in."""
    call = inspect.signature(forward).bind(*args, **kwargs)
    call.apply_defaults()
    if call.kwargs:
        raise DTypeError("forward of a Function with setup_context cannot have keyword-only arguments")
    return call.args


def _by_position(forward, args, kwargs):
    """Return arguments by position, up to the last one given: backward returns as many gradients."""
    signature = inspect.signature(forward)
    call = signature.bind(None, *args, **kwargs)
    given = [name in call.arguments for name in signature.parameters]
    call.apply_defaults()
    if call.kwargs:
        raise DTypeError("forward of a Function cannot have keyword-only arguments")
    if any(p.kind is p.VAR_POSITIONAL for p in signature.parameters.values()):
        return call.args[1:]
    return call.args[1:len(given) - given[::-1].index(True)]


def _finish(cls, ctx, args, edges, result, taped):
    """Put the node on the results and store saved values."""
    several = isinstance(result, (tuple, list))
    outs = list(result) if several else [result]
    makes = {i: PARTS[type(o)](o) for i, o in enumerate(outs) if type(o) in PARTS}      # values of sparse results
    outs = [makes[i][0][-1] if i in makes else o for i, o in enumerate(outs)]
    _check_dirty(cls, ctx, args, outs, taped)
    node = None
    if taped:
        node = FunctionNode(cls, ctx, edges, tuple(a.aval if isinstance(a, Tensor) else None for a in args))
        node.sparse = {i: a.detach() for i, a in enumerate(args) if type(a) in PARTS and edges[i] is not None}
        node.outs = tuple(o.aval if isinstance(o, Tensor) else None for o in outs)
    saved_as = {id(o): i for i, o in enumerate(outs) if isinstance(o, Tensor)}
    inputs = {id(a): e for a, e in zip(args, edges) if isinstance(a, Tensor)}
    carried = [_carry(node, i, o, ctx, args, inputs) if isinstance(o, Tensor) else o for i, o in enumerate(outs)]
    if node is not None:
        ctx._saved = tuple([keep(t, saved_as, inputs, carried) for t in ctx._to_save])
    ctx._to_save = ()
    for i, (parts, make) in makes.items():
        carried[i] = make(*parts[:-1], carried[i])
    if node is not None:
        node.makes = makes
    return type(result)(carried) if several and type(result) in (tuple, list) else tuple(carried) if several else carried[0]


def _check_dirty(cls, ctx, args, outs, taped):
    for t in ctx._dirty:
        if not any(t is a for a in args):
            raise AutogradError(f"{cls.__name__}: mark_dirty takes inputs of forward")
        if not any(t is o for o in outs):
            raise AutogradError(f"{cls.__name__}: an input marked dirty must be returned as an output")
        if taped and type(t._node) is Leaf:
            raise AutogradError(f"{cls.__name__}: a leaf tensor that requires grad was written in place")
        t._storage.wrote(cls.__name__)


def _among(t, tensors):
    return any(t is x for x in tensors)


def _carry(node, i, out, ctx, args, inputs):
    """Return an output with its place in the history; undeclared pass-through inputs become new tensors."""
    dirty = _among(out, ctx._dirty)
    if node is None and not dirty and id(out) in inputs:
        return reshape(out, shape=shape_of(out))        # a view, which tells the argument of writes
    if node is None and not dirty and out._node is None and out._shared and any(_memory_of(a) is out._shared for a in args):
        return out                                      # it tells the argument of writes without the Function
    if not dirty and (id(out) in inputs or out._node is not None or out._base is not None):
        out = out.detach()
    shared = out._shared
    if shared and node is not None and not dirty and any(_memory_of(a) is shared for a in args):
        name = node.cls.__name__
        out._passed_by = node.cls._passing or Passed(
            name, f"{name}.forward returned an argument, or a view of one",
            "let forward return one; where forward itself writes to an argument, ctx.mark_dirty() says so", False)
        shared.add_aliases([out])
    if node is None or _among(out, ctx._non_differentiable) or not is_inexact(out._a):
        return out
    edge = Output(node, i)
    if dirty:
        source = alias(out._a, out._storage)
        source._node = edge
        rewrite_history(out, source, node.cls.__name__)
    else:
        out._node = edge
    return out


class InplaceFunction(Function):
    """Function with a flag for writing over its input. `inplace` is kept for subclasses, which read it."""

    def __init__(self, inplace=False):
        super().__init__()
        self.inplace = inplace


class _AnyTensor(type):
    def __instancecheck__(cls, x):
        return isinstance(x, Tensor)


class Variable(metaclass=_AnyTensor):
    """Old name of the class of tensors. `Variable(data, requires_grad=False)` returns a tensor over the memory of `data`."""

    def __new__(cls, data, requires_grad=False):
        return data.detach().requires_grad_(requires_grad)


def once_differentiable(fn):
    """Mark a backward that cannot be differentiated again."""

    @wraps(fn)
    def backward(ctx, *grads):
        m = tls.m
        before, m.grad = m.grad, False
        try:
            returned = fn(ctx, *grads)
        finally:
            m.grad = before
        edges = [g._node for g in grads if isinstance(g, Tensor) and g._node is not None]
        edges += [e for e in ctx._node().edges if e is not None]
        if not m.grad or not edges:
            return returned
        return forbidden("OnceDifferentiable", edges, f"the gradient of {fn.__qualname__} was marked once_differentiable, so "
                                                      "it cannot be differentiated again", returned)

    return backward


_new = object.__new__


# Attributes of a ctx.
_OF_ONE_CALL = frozenset(("_along", "_dirty", "_named", "_node", "_non_differentiable", "_saved", "_to_save"))


class SavedTensor:
    """A tensor saved by a Function: memory, version, and the edge of its gradient."""

    __slots__ = ("array", "edge", "index", "packed", "storage", "traced", "unpack_hook", "version")

    def __init__(self, t: Tensor, edge, index):
        hooks, recorder = tls.m.saved_hooks, tls.m.recorder
        self.traced = None if recorder is None else recorder.gradients.saved(t)
        self.edge = edge            # of an input; an output's is made from its index, as it would be a cycle
        self.index = index
        self.storage, self.version = t._storage.guard()
        self.unpack_hook = None
        if hooks is None:
            self.array = t._a
        else:
            self.packed = hooks[0](wrap(t._a))
            self.unpack_hook = hooks[1]

    @staticmethod
    def over(array, edge, index, guard) -> "SavedTensor":
        """Return an array as a saved tensor; `guard` is (storage, version), or None for memory that nothing else sees."""
        saved = _new(SavedTensor)
        saved.array, saved.edge, saved.index, saved.traced, saved.unpack_hook = array, edge, index, None, None
        saved.storage, saved.version = guard or Storage().guard()
        return saved

    def unpack(self, node, named) -> Tensor:
        recorder = tls.m.recorder
        if self.unpack_hook is not None:
            t = wrap(self.unpack_hook(self.packed)._a)
        elif self.storage.was_overwritten(self.version):
            raise overwritten_error(node or named, self.storage, self.version)
        else:
            if self.storage.data_swaps is not None:
                self.follow(node or named)
            t = alias(self.array, self.storage)
        t._node = self.edge
        if self.index is not None and node is not None:
            t._node = Output(node, self.index)
        if recorder is not None:
            recorder.gradients.unpacked(t, self.traced, node or named, ((self.storage, self.version),))
        return t

    def follow(self, named):
        """Switch to the current memory of a leaf whose `.data` was set since."""
        now = successor(self.storage, self.array, self.edge)
        if now is not None:
            self.array = checked(named, now, self.array)._a
            self.storage, self.version = now._storage.guard()
            if tls.m.recorder is not None:
                self.traced = tls.m.recorder.gradients.saved(now)


class SavedParts:
    """A composite tensor saved as its parts."""

    __slots__ = ("make", "parts")

    def __init__(self, parts, make):
        self.parts = parts
        self.make = make

    def unpack(self, node, named):
        return self.make(*[p.unpack(node, named) for p in self.parts])


def alias(array, storage) -> Tensor:
    """Return a new tensor over the same memory."""
    t = _new(class_for(array))
    t._a = array
    t._node = None
    t._storage = storage
    return t


def keep(t, saved_as, inputs, carried):
    """Return the saved form of a tensor: with the history of an argument, or the number of a result. `inputs` maps ids to
    histories, `saved_as` ids to numbers; `carried` are the results as returned to the user."""
    if t is None:
        return None
    if type(t) in PARTS:
        parts, make = PARTS[type(t)](t)
        return SavedParts([keep(part, saved_as, inputs, carried) for part in parts], make)
    i = saved_as.get(id(t))
    if i is not None:
        return SavedTensor(t, None, i if carried[i]._node is not None else None)
    return SavedTensor(t, inputs.get(id(t), t._node), None)
