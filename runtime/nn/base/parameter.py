"""Parameters and buffers: tensors that modules own."""

from typing import Any

import numpy as np

from ....ir.errors import ArgumentError, DTypeError
from ....ir.package_name import found_in
from ...api.register.register import FUNCTIONS
from ...api.register.torch_function import KINDS, unasked
from ...api.tensor_classes.subclasses import ask_class
from ...core.composite_tensors import PARTS, values_in
from ...core.device_array import zeros_on_device_of
from ...core.storage import Storage
from ...core.tensor import Tensor, class_for, known_whole, wrap
from ...interop.tensor_protocols import attributes_of, give_attributes, gradient_of_copy, recorded_copy, taken_along
from ...memo.call_memo import TENSORS
from ...state.mode import Defaults, tls
from ...state.structure import Structure

_new = object.__new__
_NOT_STATE = ("_base", "_path", "_retained_grad", "_former_leaf", "_part_of")


def over(cls, data):
    """Return a tensor of class `cls` over the memory of `data` without its history, or over a copy if the memory is
    read-only."""
    if data is None:
        data = wrap(np.empty((0,), Defaults.dtype.np))
    if not isinstance(data, Tensor):
        raise DTypeError(f"{cls.__name__} takes a tensor, got {type(data).__name__}; make one with ingot.tensor()")
    if type(data) in PARTS:
        return _sparse_as(cls, data)
    if data._a.__class__ is np.ndarray and not data._a.flags.writeable:
        data = data.detach().clone()
    kind = cls if data._a.__class__ is np.ndarray else _mixed_array_class(cls, class_for(data._a))
    users, attributes = type(data)._own_class, {}
    if users is not None and kind in (Parameter, Buffer) and not issubclass(users, Owned):
        kind, attributes = _mixed_class(kind, users), _class_attributes(data, users)
    t = _new(kind)
    t.__dict__.update(attributes)
    t._a = data._a
    t._node = None
    t._storage = data._storage
    if data._base is not None or data._part_of is not None:      # otherwise `vars(t)`, which programs copy, stays empty
        t._part_of = known_whole(data)
    if tls.m.recorder is not None:
        tls.m.recorder.detached(data, t)
    return t


def _sparse_as(cls, data):
    kind = next(k for k in type(data).__mro__ if k in PARTS and not issubclass(k, Owned))
    if (cls, kind) not in _both:
        made = _both[cls, kind] = type(cls.__name__, (kind, cls), {
            "__module__": __name__, "__init__": cls.__init__, "__reduce_ex__": _reduce_parts,
            "__deepcopy__": _copy_parts, "__repr__": lambda t: f"{cls.__name__} containing:\n{kind.__repr__(t)}"})
        PARTS[made] = PARTS[kind]
        ask_class(made)
    t = _new(_both[cls, kind])
    t.__dict__.update(data.detach().__dict__)
    return t


_both: dict = {}        # (owned class, user's class) -> class that is both


def _mixed_array_class(cls, kind) -> type:
    """Return the class of an owned tensor over this array, mixed with the array's own class of tensors."""
    if kind is Tensor or issubclass(cls, kind):
        return cls
    if (cls, kind) not in _both:
        made = _both[cls, kind] = type(cls.__name__, (cls, kind), {"__module__": __name__, "__slots__": (),
                                                                 "__reduce_ex__": _reduce_parts})
        ask_class(made)
    return _both[cls, kind]


def _class_attributes(data, users) -> dict:
    """Return the attributes that a user's class puts on a tensor."""
    alias = data.detach()
    if type(alias) is not users:
        raise DTypeError(f"a parameter of a {users.__name__} needs a detach() that gives one, not a {type(alias).__name__}")
    return attributes_of(alias)


def _mixed_class(cls, users) -> type:
    """Return the owned class mixed with a user's class. Results of functions are of the user's class alone."""
    if (cls, users) not in _both:
        def dispatch(_, function, types, args=(), kwargs=None):
            return users.__torch_function__(function, tuple([users if t is made else t for t in types]), args, kwargs)

        made = _both[cls, users] = type(users.__name__, (cls, users), {
            "__module__": __name__, "__slots__": (), "__torch_function__": classmethod(dispatch), "__reduce_ex__": _reduce})
        made.__module__ = users.__module__
        KINDS[made] = True
    return _both[cls, users]


def _owned_class(t) -> type:
    return next(base for base in type(t).__bases__ if issubclass(base, Owned))


def _reduce_parts(self, protocol):
    return owned_again, (_owned_class(self).__name__, self.detach(), self.requires_grad)


def _reduce(self, protocol):
    return kept_again, (_owned_class(self).__name__, self.detach(), self.requires_grad, self._state())


def kept_again(name, data, requires_grad, state):
    """Rebuild a parameter or buffer of a user's class."""
    made = owned_again(name, data, requires_grad)
    give_attributes(made, state)
    return made


def _copy_parts(self, memo):
    if id(self) not in memo:
        made = memo[id(self)] = owned_again(_owned_class(self).__name__, self.detach().clone(), self.requires_grad)
        if self.grad is not None:
            made.grad = made.like(values_in(self.grad).clone())
    return memo[id(self)]


def owned_again(name, data, requires_grad):
    """Rebuild a parameter or buffer."""
    kind: type = Parameter if name == "Parameter" else Buffer
    return over(kind, data).requires_grad_(requires_grad)


def _rebuild(cls, array, requires_grad, state):
    t = _new(cls)
    t._a = array
    t._node = None
    t._storage = Storage()
    t.__dict__.update(state)
    return t.requires_grad_() if requires_grad else t


class Owned(Tensor):
    """Base of parameters and buffers: copies and pickles keep the class."""

    __slots__ = ()

    def __init__(self, *args, **kwargs):
        pass

    def _state(self):
        return {k: v for k, v in self.__dict__.items() if k not in _NOT_STATE}

    def __deepcopy__(self, memo):
        if id(self) in memo:
            return memo[id(self)]
        if tls.m.recorder is not None:
            return taken_along(self, over(type(self), recorded_copy(self, memo)), memo)
        made = _rebuild(type(self), self._a.copy(order="K"), self.requires_grad, self._state())
        made.grad = gradient_of_copy(self, memo)
        memo[id(self)] = made
        return made

    def __reduce_ex__(self, protocol):
        return _rebuild, (type(self), self._a, self.requires_grad, self._state())


class Parameter(Owned):
    """A tensor that a module registers as a parameter on assignment. Deep copies start without a gradient.

    Parameters
    ----------
    data : Tensor, optional
        Values of the parameter, which shares their memory.
    requires_grad : bool
        Whether backward computes its gradient.

    Examples
    --------
    >>> class Scale(nn.Module):
    ...     def __init__(self):
    ...         super().__init__()
    ...         self.factor = nn.Parameter(ingot.ones(1))
    >>> [name for name, _ in Scale().named_parameters()]
    ['factor']
    """

    __slots__ = ()

    _grad_is_copied = False

    def __new__(cls, data=None, requires_grad=True):
        t = over(cls, data)
        if not requires_grad:
            return t
        if type(t) in PARTS:
            return t.requires_grad_()
        with unasked():
            return Tensor.requires_grad_(t)

    def requires_grad_(self, requires_grad: bool = True):
        """Start or stop collecting a gradient, and tell traces that depend on it."""
        if (self._node is not None) != requires_grad:
            Structure.version += 1
        return super().requires_grad_(requires_grad)

    def __repr__(self):
        return "Parameter containing:\n" + super().__repr__()


class Buffer(Owned):
    """A tensor that a module registers as a buffer on assignment."""

    __slots__ = ()

    persistent = True

    def __new__(cls, data=None, *, persistent=True):
        t = over(cls, data)
        t.persistent = persistent
        return t

    def __repr__(self):
        return "Buffer containing:\n" + super().__repr__()


TENSORS.update((Parameter, Buffer))


found_in(Parameter, "nn.parameter")
found_in(Buffer, "nn.parameter")


class UninitializedTensorMixin:
    """A tensor of a lazy module without a shape. It has a dtype and a device; other queries raise until the first call sets
    a shape."""

    cls_to_become: Any
    _node: Any
    _state: Any
    _storage: Any
    _placeholder: Any = Tensor._a      # slot of the array: an empty one with the dtype and device

    @property
    def _a(self):
        raise ArgumentError("this tensor of a lazy module has no shape and no values yet: run the module once on an example "
                            "before (under no_grad(), if you like), or call materialize(shape)")

    @_a.setter
    def _a(self, array):
        self._placeholder = array

    dtype = property(lambda self: wrap(self._placeholder).dtype)
    device = property(lambda self: wrap(self._placeholder).device)
    is_cuda = property(lambda self: wrap(self._placeholder).is_cuda)
    is_meta = property(lambda self: wrap(self._placeholder).is_meta)

    def materialize(self, shape, device=None, dtype=None):
        """Allocate the tensor with a shape; the module fills it."""
        placeholder = wrap(self._placeholder) if device is None else wrap(self._placeholder).to(device)
        sizes = (shape,) if isinstance(shape, int) else tuple(shape)
        self._placeholder = zeros_on_device_of(placeholder._a, sizes, placeholder._a.dtype if dtype is None else dtype.np)
        self._storage = Storage()
        self.__class__ = self.cls_to_become

    def convert(self, fn):
        """Take over the dtype and device of `fn(tensor)` for later."""
        self._placeholder = fn(wrap(self._placeholder))._a

    def detach(self):
        """Return the tensor itself: nothing else can stand for a tensor without shape."""
        return self

    def __deepcopy__(self, memo):
        if id(self) not in memo:
            memo[id(self)] = _rebuild(type(self), self._placeholder.copy(), self._node is not None, self._state())
        return memo[id(self)]

    def __reduce_ex__(self, protocol):
        return uninitialized_again, (issubclass(self.cls_to_become, Parameter), wrap(self._placeholder), self._node is not None)


class UninitializedParameter(UninitializedTensorMixin, Parameter):
    """A parameter whose shape comes from the first call."""

    __slots__ = ()
    cls_to_become = Parameter

    def __new__(cls, requires_grad=True, device=None, dtype=None):      # type: ignore[misc]    # data come later
        return Parameter.__new__(cls, FUNCTIONS["empty"](0, device=device, dtype=dtype), requires_grad)

    def __repr__(self):
        return "<UninitializedParameter>"


class UninitializedBuffer(UninitializedTensorMixin, Buffer):
    """A buffer whose shape comes from the first call."""

    __slots__ = ()
    cls_to_become = Buffer

    def __new__(cls, requires_grad=False, device=None, dtype=None, persistent=True):    # type: ignore[misc]    # likewise
        made = Buffer.__new__(cls, FUNCTIONS["empty"](0, device=device, dtype=dtype), persistent=persistent)
        return made.requires_grad_() if requires_grad else made

    def __repr__(self):
        return "<UninitializedBuffer>"


def uninitialized_again(is_parameter, placeholder, requires_grad):
    """Rebuild a pickled tensor without shape."""
    kind = UninitializedParameter if is_parameter else UninitializedBuffer
    return _rebuild(kind, placeholder._a, requires_grad, {})


def without_shape(kind, t):
    """Return a tensor without shape, of the dtype and device of another one."""
    return kind(requires_grad=t.requires_grad, device=t.device, dtype=t.dtype)


def is_lazy(t) -> bool:
    """Return whether a tensor has no shape yet."""
    return isinstance(t, UninitializedTensorMixin)
