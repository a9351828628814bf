"""Base of sparse tensors: indices and values as plain tensors, without an array of their own.

They dispatch (`tensor_classes/subclasses.py`): a function with a handler (`handler_table.py`) works on the parts by operators,
so gradients reach the values; any other raises. `CooTensor` (`coo.py`) has the position of each entry, `CompressedTensor`
(`compressed_rows.py`) the starts of rows or columns.
"""

from typing import Any, NamedTuple

from ....ir.errors import ArgumentError, DTypeError
from ....ir.opdef.aval import Aval, canonical_dim
from ...autograd.backward import backward
from ...core.composite_tensors import PARTS
from ...core.node import label_of
from ...core.printing import closed, is_implied, part_text
from ...core.tensor import NotOneError, Size, Tensor
from ...interop.tensor_protocols import ExportError
from ...state.mode import tls
from ...state.structure import Structure
from ..register.register import FUNCTIONS
from ..tensor_classes import subclasses
from ..views.conversions import to
from .handler_table import answer

_new = object.__new__
_KINDS: list[type] = []                 # the classes of sparse tensors


def kind_of_sparse(cls):
    """Register a class of sparse tensors. It dispatches once it has an instance; Functions and traces take it apart."""
    _KINDS.append(cls)
    PARTS[cls] = cls.parts
    return cls


def _ask_all():
    for cls in (SparseTensor, *_KINDS):
        subclasses.ask_class(cls)


def part(name) -> Any:
    """Return a property for one of the parts of a sparse tensor. A recorder sees its use."""

    def used(self):
        recorder = tls.m.recorder
        if recorder is not None and not recorder.sparse.is_own(self):
            recorder.sparse.parts_read(self)
        return self.__dict__[name]

    return property(used)


class Making(NamedTuple):
    """Rebuild function of a sparse tensor: its class, and the arguments after the parts."""

    cls: type
    facts: tuple

    def __call__(self, *parts):
        return self.cls(*parts, *self.facts)


class SparseTensor(Tensor):
    """Tensor of mostly zeros: entries and their positions."""

    _size: Size
    __array_ufunc__ = None      # type: ignore[assignment]

    def __new__(cls, *args, **kwargs):
        made, recorder = _new(cls), tls.m.recorder
        if recorder is not None:
            recorder.sparse.created(made)
        if cls._own_class is not cls:
            _ask_all()
            if recorder is not None:            # functions read by the run have new code now
                recorder.only_once("the first sparse tensor was made")
        return made

    @classmethod
    def __torch_function__(cls, func, types, args=(), kwargs=None):
        return answer(func, args, kwargs or {})

    def _refuse(self):
        raise DTypeError(f"a {self.layout} tensor came to a function that takes dense ones; call to_dense()")

    _a = _node = _shared = property(_refuse)        # functions without dispatch find no array

    _v = part("_held")          # values, one for each entry

    # Methods that each layout overrides.

    def like(self, values: Tensor) -> Any:
        """Return a tensor with the same positions and other values."""
        raise NotImplementedError

    def coo(self) -> Any:
        """Return the same entries in COO layout."""
        raise NotImplementedError

    def parts(self) -> tuple:
        """Return the parts, and the function that rebuilds the tensor."""
        raise NotImplementedError

    def values_of(self, gradient) -> Any:
        raise NotImplementedError

    def entries(self) -> Any:
        """Return the tensor with distinct positions, so that functions that are 0 at 0 apply to the values."""
        raise NotImplementedError

    def on(self, device) -> Any:
        parts, make = self.parts()
        return make(*[to(p, device=device) for p in parts])

    # Properties.

    is_sparse_csr = False
    shape = property(lambda self: self._size)
    ndim = property(lambda self: len(self._size))
    dtype = property(lambda self: self._v.dtype)
    aval = property(lambda self: Aval(tuple(self._size), self.dtype))
    device = property(lambda self: self._v.device)
    is_cpu = property(lambda self: self._v.is_cpu)
    is_cuda = property(lambda self: self._v.is_cuda)
    is_meta = property(lambda self: self._v.is_meta)
    itemsize = property(lambda self: self._v.itemsize)
    nbytes = property(lambda self: self._without("nbytes"))
    requires_grad = property(lambda self: self._v.requires_grad, lambda self, value: self.requires_grad_(value))
    is_leaf = property(lambda self: self._v.is_leaf)
    grad_fn = property(lambda self: self._v.grad_fn)
    output_nr = property(lambda self: self._v.output_nr)
    retains_grad = property(lambda self: self._v.retains_grad)
    data = property(lambda self: self.like(self._v.data), lambda self, other: self.become(other))
    real = property(lambda self: self.like(self._v.real))
    imag = property(lambda self: self.like(self._v.imag))
    T = property(lambda self: self.t())
    H = property(lambda self: self.t().conj())
    mT = property(lambda self: self.transpose(-2, -1))
    mH = property(lambda self: self.transpose(-2, -1).conj())

    @property
    def grad(self):
        """Accumulated gradient at the positions of the entries, or None."""
        g = self._v.grad
        return None if g is None else self.like(g)

    @grad.setter
    def grad(self, value):
        if value is not None and (value.layout != self.layout or value._v.shape != self._v.shape):
            raise ArgumentError(f"the gradient of a {self.layout} tensor has its layout and its {self._nnz()} places, got "
                                f"{value.layout} of shape {list(value.shape)}")
        self._v.grad = None if value is None else value._v

    def requires_grad_(self, requires_grad: bool = True):
        """Start (or stop) accumulating a gradient for the values."""
        self._v.requires_grad_(requires_grad)
        return self

    def retain_grad(self):
        """Keep the gradient of a computed tensor."""
        self._v.retain_grad()

    def backward(self, gradient=None, retain_graph=None, create_graph=False, inputs=None) -> None:
        """Add the gradients of this tensor to the `.grad` of its leaves."""
        backward(self, gradient, retain_graph, create_graph, inputs)

    def detach(self):
        """Return the same entries without history."""
        return self.like(self._v.detach())

    def dim(self) -> int:
        """Return the number of dimensions."""
        return self.ndim

    ndimension = dim

    def size(self, dim=None) -> Any:
        return self._size if dim is None else self._size[canonical_dim(dim, self.ndim)]

    def numel(self) -> int:
        """Return the number of elements, zeros included."""
        return self._size.numel()

    nelement = numel

    def sparse_dim(self) -> int:
        """Return how many leading dimensions are sparse."""
        return self.ndim - self.dense_dim()

    def dense_dim(self) -> int:
        """Return how many trailing dimensions each value has."""
        raise NotImplementedError

    def _nnz(self) -> int:
        """Return the number of entries."""
        raise NotImplementedError

    def values(self) -> Tensor:
        return self.entries()._v

    def _values(self) -> Tensor:
        return self._v

    def stride(self, dim=None):
        """Raise: elements have no strides. `dim` is ignored: none of them has one."""
        self._without("stride()")

    def is_contiguous(self, memory_format=None) -> bool:
        """Return False. `memory_format` is ignored: entries are stored in no order of dims."""
        return False

    def _without(self, name):
        raise DTypeError(f"a {self.layout} tensor has no {name}: it is made of the tensors of its places and its values()")

    # Conversions to Python.

    def __len__(self) -> int:
        if not self.ndim:
            raise DTypeError("len() of a 0-d tensor")
        return self._size[0]

    def __hash__(self) -> int:
        return id(self)

    def __bool__(self) -> bool:
        if self.numel() != 1:
            raise NotOneError("the truth of a sparse tensor is ambiguous; use .any(), or .to_dense()")
        return bool(self.to_dense())

    is_nonzero = __bool__

    def numpy(self, *, force=False):
        """Raise: NumPy has no sparse arrays."""
        raise DTypeError(f"a {self.layout} tensor cannot become a numpy array; call to_dense().numpy()")

    def __array__(self, dtype=None, copy=None):
        return self.numpy()

    def __dlpack__(self, **options):
        raise ExportError(f"DLPack has no sparse tensors, and this one is {self.layout}; call to_dense()")

    def item(self) -> Any:
        """Return the one element as a Python number."""
        return self.to_dense().item()

    __int__ = lambda self: int(self.to_dense())
    __float__ = lambda self: float(self.to_dense())
    __complex__ = lambda self: complex(self.to_dense())
    __index__ = lambda self: self.to_dense().__index__()

    def __iter__(self):
        return iter(self.unbind(0))

    def __repr__(self):
        facts = [] if self.is_cpu else [f"device='{self.device}'"]
        facts += [f"size={tuple(self._size)}", f"nnz={self._nnz()}"]
        facts += [f"dtype={self.dtype!r}"] * (not is_implied(self.dtype))
        facts.append(f"layout={self.layout!r}")
        if self.requires_grad:
            facts.append("requires_grad=True" if self.is_leaf else f"grad_fn=<{label_of(self._v._node)}>")
        head = "tensor("
        parts = [part_text(name, part, len(head)) for name, part in self._shown()]
        return closed(head + (",\n" + " " * len(head)).join(parts), facts, len(head), apart=self.layout == "sparse_coo")

    def _shown(self) -> list:
        """Return (name, tensor) of each printed part."""
        raise NotImplementedError

    def __format__(self, spec):
        return repr(self)

    # Copies.

    def __copy__(self):
        parts, make = self.parts()
        return make(*parts)

    def __deepcopy__(self, memo):
        if id(self) not in memo:
            parts, make = self.parts()
            made = memo[id(self)] = make(*[FUNCTIONS["clone"](p) for p in parts[:-1]], parts[-1].__deepcopy__(memo))
            made.__dict__.update({k: v for k, v in self.__dict__.items() if k not in made.__dict__})
        return memo[id(self)]

    def become(self, other) -> Any:
        """Take over the entries of another tensor of its layout. Values that are a leaf stay that leaf, with new numbers."""
        recorder = tls.m.recorder
        if recorder is not None and not recorder.sparse.is_own(self):
            recorder.refuse("it replaces the entries of a sparse tensor that was there before", "return the new one instead")
        Structure.version += 1
        held = self._held
        for name in vars(self).keys() & vars(other).keys():
            setattr(self, name, getattr(other, name))
        if held.requires_grad and held.is_leaf:
            held.data, self._held = other._held, held
        return self

    def has_positions_of(self, other) -> bool:
        """Return whether the positions are the very same tensors as another tensor's."""
        if self.layout != other.layout or self._v.shape != other._v.shape:
            return False
        return all(a is b for a, b in zip(self.parts()[0][:-1], other.parts()[0]))

    def has_distinct_positions_of(self, other) -> bool:
        """Return whether positions are the very same tensors, and distinct."""
        return self.has_positions_of(other) and self.entries() is self


def kind_text(x) -> str:
    """Describe an argument for messages."""
    return f"a {x.layout} tensor of shape {list(x.shape)}" if isinstance(x, Tensor) else type(x).__name__
