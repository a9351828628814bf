"""DTensor: a tensor sharded over the processes of a mesh.

It is a tensor over an array of the kind "mesh" (`mesh_array.py`), so operators, histories and writes are those of all tensors.
This file has its construction, conversion to local tensors, and its handlers of public functions.
"""

import functools
import math
from contextlib import nullcontext
from typing import Any

import numpy as np

from ....ir.errors import ArgumentError, DTypeError
from ...api.register.register import FUNCTIONS
from ...api.register.torch_function import unasked, without_asking
from ...api.tensor_classes import subclasses
from ...autograd.function import Function
from ...core.composite_tensors import marks_of
from ...core.device_array import MESH
from ...core.tensor import Tensor, over_kind, shape_of, wrap
from ...serialization.tensor_class_names import REBUILDS
from ...state.mode import hands_on_number, tls
from ..collectives.device_mesh import DeviceMesh, mesh_again
from . import mesh_backend  # noqa: F401  (it registers itself)
from .mesh_array import in_layout, is_traced, mesh_array, over_traced, part_of
from .placements import KINDS, Partial, Replicate
from .redistribute import host, on_device_of
from .sharded_layout import checked, current_mesh, place_in, whole_shape, without_terms
from .shared_random import from_first, mesh_keys

_HANDLERS: dict = {}        # name of a public function -> handler for sharded tensors
_implicit: list = []        # of `implicit_replication`


def over(local: Tensor, shape, mesh, placements) -> Any:
    """Return the tensor with this local part, over the same memory, without history."""
    recorder: Any = tls.m.recorder if is_traced() else None
    if recorder is None:
        t = wrap(mesh_array(local._a, tuple(shape), mesh, placements))
    else:
        recorder.pin_sizes(local)
        t = wrap(over_traced(local, tuple(shape), mesh, placements))
    t._shared = local._storage
    if recorder is not None:
        recorder.detached(local, t)
    return t


def local_of(t) -> Tensor:
    """Return this process's part of a tensor, over the same memory, without history."""
    if is_traced():
        tls.m.recorder.link(t)          # type: ignore[union-attr]
        return part_of(t._a).detach()
    local = wrap(t._a.memory.local)
    local._shared = t._storage
    return local


class _FromLocal(Function):
    """Tensor made of parts; its gradient takes the tensor's layout, and each process gets its part."""

    @staticmethod
    def forward(ctx: Any, x, shape, mesh, placements, grad_placements):
        ctx.layout = without_terms(placements) if grad_placements is None else grad_placements
        return over(x, shape, mesh, placements)

    @staticmethod
    def backward(ctx: Any, g):
        return g.redistribute(placements=ctx.layout).to_local(), None, None, None, None


class _ToLocal(Function):
    """Part of this process; its gradient is a part of the whole gradient."""

    @staticmethod
    def forward(ctx: Any, x, grad_placements):
        m = x._a.memory
        ctx.shape, ctx.mesh = x._a.shape, m.mesh
        ctx.layout = without_terms(m.placements) if grad_placements is None else grad_placements
        return local_of(x)

    @staticmethod
    def backward(ctx: Any, g):
        return _FromLocal.apply(g, ctx.shape, ctx.mesh, ctx.layout, None), None


class _Redistribute(Function):
    """Tensor in another layout; its gradient takes the old layout."""

    @staticmethod
    def forward(ctx: Any, x, placements, backward_dtype):
        m = x._a.memory
        ctx.layout, ctx.dtype, ctx.backward_dtype = without_terms(m.placements), x.dtype, backward_dtype
        if is_traced():
            tls.m.recorder.link(x)      # type: ignore[union-attr]
            if m.placements != placements:
                moved = in_layout(x._a, placements)
                return over(part_of(moved), moved.shape, m.mesh, placements)
            return over(part_of(x._a), x._a.shape, m.mesh, placements)
        a = in_layout(x._a, placements)
        t = wrap(a if a is not x._a else mesh_array(m.local, a.shape, m.mesh, m.placements, a))
        if a is x._a:
            t._shared = x._storage
        return t

    @staticmethod
    def backward(ctx: Any, g):
        if ctx.backward_dtype is not None:
            g = g.to(ctx.backward_dtype)
        return _Redistribute.apply(g, ctx.layout, None).to(ctx.dtype), None, None


class DTensor(Tensor):
    """Tensor sharded over the processes of a mesh. `placements` has for each dim of the mesh `Shard(dim)` (parts),
    `Replicate()` (all of it), or `Partial()` (terms of a reduction)."""

    __slots__ = ()

    def __new__(cls, *args, **kwargs):
        raise DTypeError("a DTensor is made by distribute_tensor(t, mesh, placements), DTensor.from_local(part, mesh, "
                         "placements) or a function of distributed.tensor, such as zeros(..., device_mesh=mesh)")

    def __init__(self, *args, **kwargs):
        pass

    @classmethod
    def __torch_function__(cls, func, types, args=(), kwargs=None):
        kwargs = kwargs or {}
        name = getattr(func, "__name__", "")
        first = _check_operands(name, (args[:1] if name == "new_tensor" else (*args, *kwargs.values())))
        plain = without_asking(func) or subclasses._without_looking(func) or func
        with unasked(), nullcontext() if first is None else mesh_keys(first.device_mesh):
            handler = _HANDLERS.get(name)
            return plain(*args, **kwargs) if handler is None else handler(plain, *args, **kwargs)

    # Construction and conversion.

    @staticmethod
    def from_local(local_tensor, device_mesh=None, placements=None, *, run_check=False, shape=None, stride=None,
                   grad_placements=None) -> "DTensor":
        """Return the tensor of each process's part.

        Parts have equal sizes unless `shape` gives the whole. `run_check` takes replicated values from the first process.
        Gradients have the tensor's layout (replicated for terms), unless `grad_placements` differs.
        `stride` is ignored: it follows from the parts.
        """
        mesh = device_mesh or current_mesh()
        if not isinstance(local_tensor, Tensor) or isinstance(local_tensor, DTensor):
            raise DTypeError("DTensor.from_local takes this process's part as a plain tensor, got "
                             f"{type(local_tensor).__name__}")
        ndim = local_tensor.ndim if shape is None else len(shape)
        layout = checked(placements, mesh, ndim, "DTensor.from_local")
        sizes = whole_shape(local_tensor.shape, mesh, layout) if shape is None else tuple(shape)
        if mesh.get_coordinate() is None:
            local_tensor = local_tensor.new_empty(place_in(sizes, mesh, layout)[0])
        elif run_check:
            local_tensor = _from_first(local_tensor, mesh, layout)
        grads = None if grad_placements is None else checked(grad_placements, mesh, ndim, "DTensor.from_local")
        return _FromLocal.apply(local_tensor, sizes, mesh, layout, grads)

    def to_local(self, *, grad_placements=None) -> Tensor:
        """Return this process's part, over the same memory. Its gradient is a part in the tensor's layout (of terms, the whole
        gradient), unless `grad_placements` differs."""
        grads = None if grad_placements is None else checked(grad_placements, self.device_mesh, self.ndim, "to_local")
        return local_of(self) if self._node is None or not tls.m.grad else _ToLocal.apply(self, grads)

    def redistribute(self, device_mesh=None, placements=None, *, async_op=False, forward_dtype=None,
                     backward_dtype=None) -> "DTensor":
        """Return the same tensor in another layout on its mesh. It is sent in `forward_dtype`, its gradient in
        `backward_dtype`, if given. `async_op` is ignored: the result is there when this returns."""
        mesh = device_mesh or self.device_mesh
        if mesh != self.device_mesh:
            raise ArgumentError(f"redistribute stays on one mesh, {self.device_mesh}, got {mesh}; take full_tensor() to "
                                "another")
        if placements is None:
            raise ArgumentError("redistribute takes placements, one for each dim of the mesh")
        layout = checked(placements, mesh, self.ndim, "redistribute")
        for before, after in zip(self.placements, layout):
            if isinstance(after, Partial) and before != after:
                raise ArgumentError(f"redistribute makes no terms ({after!r}) from the placement {before!r}")
        x = self if forward_dtype is None else self.to(forward_dtype)
        return _Redistribute.apply(x, layout, backward_dtype)

    def full_tensor(self, *, grad_placements=None) -> Tensor:
        """Return all of it, as a plain tensor in every process."""
        whole = self.redistribute(placements=[Replicate()] * self.device_mesh.ndim)
        return whole.to_local(grad_placements=grad_placements)

    # Properties.

    @property
    def device_mesh(self) -> DeviceMesh:
        """Mesh of the processes."""
        return self._a.memory.mesh

    @property
    def placements(self) -> tuple:
        """Layout along each dim of the mesh."""
        return self._a.memory.placements

    @property
    def _local_tensor(self) -> Tensor:
        return local_of(self)

    @property
    def _spec(self):
        return DTensorSpec(self.device_mesh, self.placements, TensorMeta(tuple(shape_of(self)), self.stride(), self.dtype))

    def __repr__(self):
        head = f"DTensor(local_tensor={self._local_tensor!r}, device_mesh={self.device_mesh!r}, placements={self.placements}"
        node = self.grad_fn
        history = f", grad_fn=<{node.label}>" if node is not None else ", requires_grad=True" * self.requires_grad
        return f"{head}{history})"

    @hands_on_number
    def __format__(self, spec):
        if not spec or self.ndim:
            return repr(self)
        whole = _readable(self)
        return format(self.item() if whole is self else whole, spec)

    def __reduce_ex__(self, protocol):
        layout = [codes_of(p) for p in self.placements]
        return again, (self._local_tensor, tuple(shape_of(self)), self.device_mesh.__reduce__()[1], layout, self.requires_grad)


def _readable(t: DTensor) -> Tensor:
    """Return the tensor whose values Python reads: in a trace a plain one, which each call gathers."""
    whole: Any = t.detach() if is_traced() else None
    return t if whole is None else whole.full_tensor()


def _reading(name):
    read = getattr(Tensor, name)

    @hands_on_number
    @functools.wraps(read)
    def read_whole(self, *args, **kwargs):
        return read(_readable(self), *args, **kwargs)

    return read_whole


for _name in ("item", "tolist", "__bool__", "__int__", "__float__"):
    setattr(DTensor, _name, _reading(_name))


class TensorMeta(tuple):
    """Shape, stride and dtype of a whole tensor."""

    def __new__(cls, shape, stride, dtype):
        return tuple.__new__(cls, (shape, stride, dtype))

    shape = property(lambda self: self[0])
    stride = property(lambda self: self[1])
    dtype = property(lambda self: self[2])


class DTensorSpec:
    """Layout of a tensor: its mesh, placements, and whole shape."""

    def __init__(self, mesh, placements, tensor_meta=None):
        self.mesh, self.placements, self.tensor_meta = mesh, tuple(placements), tensor_meta

    device_mesh = property(lambda self: self.mesh)
    shape = property(lambda self: self.tensor_meta.shape)
    stride = property(lambda self: self.tensor_meta.stride)
    ndim = property(lambda self: len(self.tensor_meta.shape))

    def __eq__(self, other):
        return isinstance(other, DTensorSpec) and (self.mesh, self.placements, self.tensor_meta) == (
            other.mesh, other.placements, other.tensor_meta)

    def __hash__(self):
        return hash((self.mesh, self.placements))

    def __repr__(self):
        return f"DTensorSpec(mesh={self.mesh!r}, placements={self.placements}, tensor_meta={tuple(self.tensor_meta or ())})"


def codes_of(placement) -> tuple:
    """Return the parts that rebuild a placement."""
    return (type(placement).__name__, *vars(placement).values())


def again(local, shape, mesh, placements, requires_grad) -> Any:
    """Rebuild a tensor from a pickle of this process's part."""
    try:
        layout = [KINDS[kind](*facts) for kind, *facts in placements]
        whole, on = tuple([int(n) for n in shape]), mesh_again(*mesh)
    except (KeyError, TypeError, ValueError) as e:
        raise ArgumentError(f"a DTensor of shape {shape!r} on {mesh!r} cannot have the placements {placements!r}") from e
    if not isinstance(local, Tensor):
        raise DTypeError(f"a DTensor is made of a tensor, got {type(local).__name__}")
    return over(local, whole, on, checked(layout, on, len(whole), "a DTensor")).requires_grad_(bool(requires_grad))


REBUILDS.add(again)


def _from_first(t, mesh, placements):
    """Return a part with the first process's values along replicated dims of the mesh."""
    same = [i for i, p in enumerate(placements) if isinstance(p, Replicate)]
    values = wrap(on_device_of(from_first(host(t.detach()._a), mesh, "from_local", same), t._a))
    return values.requires_grad_() if t.requires_grad else values


# Handlers.


handles = marks_of(_HANDLERS)


class implicit_replication:
    """Context manager: plain tensors beside DTensors count as replicated."""

    def __enter__(self):
        _implicit.append(True)

    def __exit__(self, *exc):
        _implicit.pop()


def _check_operands(name, values):
    """Return the first sharded tensor; raise for plain ones beside it, which may differ between processes."""
    first = None
    for x in _tensors(values):
        first = x if first is None and isinstance(x, DTensor) else first
        if not isinstance(x, DTensor) and math.prod(x.shape) != 1 and not _implicit:
            raise DTypeError(f"{name}: got a plain tensor of shape {list(x.shape)} and a DTensor. Make it one with "
                             f"distribute_tensor or DTensor.from_local, or call this under implicit_replication() if every "
                             f"process has the same")
    return first


def _tensors(values):
    for x in values:
        if isinstance(x, (Tensor, np.ndarray)):
            yield x
        elif isinstance(x, (list, tuple)):
            yield from _tensors(x)


@handles("zeros_like", "ones_like", "empty_like", "full_like")
def _like(fn, input, *args, **kwargs):
    """Return a constant with another tensor's layout."""
    layout = without_terms(input.placements)
    shape = place_in(input._a.shape, input.device_mesh, layout)[0]
    local = local_of(input)
    if local.shape != shape:
        local = local.new_empty(shape)
    grad = kwargs.pop("requires_grad", False)
    return over(fn(local, *args, **kwargs), input._a.shape, input.device_mesh, layout).requires_grad_(grad)


@handles("rand_like", "randn_like", "randint_like")
def _drawn_like(fn, input, *args, **kwargs):
    """Return random numbers with another tensor's layout."""
    grad = kwargs.pop("requires_grad", False)
    result = _like(without_asking(FUNCTIONS["empty_like"]), input, dtype=kwargs.pop("dtype", None))
    generator = kwargs.pop("generator", None)
    if fn.__name__ == "randint_like":
        low, high = args if len(args) == 2 else (0, *args) if args else (kwargs.pop("low", 0), kwargs.pop("high"))
        result.random_(low, high, generator=generator)
    else:
        getattr(result, "uniform_" if fn.__name__ == "rand_like" else "normal_")(generator=generator)
    return result.requires_grad_(grad)


over_kind(MESH, DTensor)
__all__ = ["DTensor", "DTensorSpec", "again", "implicit_replication", "local_of", "over"]
