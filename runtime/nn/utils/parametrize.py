"""Parameters computed from others at every access."""

import copy
from contextlib import suppress
from functools import partial

from ....ir.blocks import block
from ....ir.errors import ArgumentError, ShapeError
from ...autograd.grad_mode import no_grad
from ...core.tensor import Tensor
from ...state.structure import Structure
from ..base.container import ModuleDict, ModuleList
from ..base.parameter import Parameter


class _Cache:
    """The values computed in open cached() blocks."""

    open: dict = {}         # tokens of the blocks
    values: dict = {}


@block
def cached():
    """Compute each parametrised tensor once inside."""
    token = object()

    def put_back():
        _Cache.open.pop(token, None)
        if not _Cache.open:
            _Cache.values = {}

    return partial(_Cache.open.setdefault, token), put_back


def _as_owned(t):
    return t if isinstance(t, Parameter) else Parameter(t, requires_grad=t.requires_grad)


def _check_same_kind(before, after, what):
    if not isinstance(after, Tensor):
        raise ShapeError(f"{what} must give a tensor, got {type(after).__name__}")
    if after.shape != before.shape or after.dtype is not before.dtype:
        raise ShapeError(f"{what} must keep shape and dtype: {before.aval} became {after.aval}; pass unsafe=True if it is "
                         "meant")


def _check_next(value, parametrization):
    """Raise if a function cannot follow the existing chain."""
    with no_grad():
        after = parametrization(value)
        _check_same_kind(value, after, "a parametrization")
        if hasattr(parametrization, "right_inverse"):
            with suppress(NotImplementedError):
                _check_same_kind(value, parametrization.right_inverse(after), "right_inverse of a further parametrization")


class ParametrizationList(ModuleList):
    """The chain of functions of one parametrised tensor, and their original tensors."""

    def __init__(self, modules, original, unsafe=False):
        super().__init__(modules)
        self.unsafe = unsafe
        start = original
        with no_grad(), suppress(NotImplementedError):            # without right_inverse the tensor itself is the original
            for module in reversed(list(self)):
                if hasattr(module, "right_inverse"):
                    start = module.right_inverse(start)
        self.is_tensor = isinstance(start, Tensor)
        if self.is_tensor:
            self._keep("original", start, original)
        else:
            self.ntensors = len(start)
            for i, t in enumerate(start):
                self._keep(f"original{i}", t, original)
        if not unsafe:
            with no_grad():
                made = self()
            _check_same_kind(original, made, "a parametrization")

    def _keep(self, name, t, original):
        if isinstance(original, Parameter):
            if self.is_tensor and t is original:
                self.register_parameter(name, original)
            else:
                self.register_parameter(name, Parameter(t.detach(), original.requires_grad))
        else:
            self.register_buffer(name, t)

    def _originals(self):
        return [self.original] if self.is_tensor else [getattr(self, f"original{i}") for i in range(self.ntensors)]

    def forward(self):
        """Compute the parametrised value."""
        modules = list(self)
        value = modules[0](*self._originals())
        for module in modules[1:]:
            value = module(value)
        return value

    def right_inverse(self, value):
        """Set the originals so that the parametrised value becomes `value`."""
        with no_grad():
            for module in reversed(list(self)):
                if not hasattr(module, "right_inverse"):
                    raise ArgumentError(f"{type(module).__name__} has no right_inverse(), so the tensor cannot be assigned")
                value = module.right_inverse(value)
            for original, t in zip(self._originals(), [value] if self.is_tensor else value):
                original.data = t.data


def _value(module, name):
    key = (id(module), name)
    if _Cache.open:
        if key not in _Cache.values:
            _Cache.values[key] = module.parametrizations[name]()
        return _Cache.values[key]
    return module.parametrizations[name]()


def _parametrized_class(module):
    """Give the module a class of its own, which holds the properties."""
    base = type(module)

    def deep_copy(self, memo):
        made = object.__new__(type(self))
        memo[id(self)] = made
        made.__dict__.update(copy.deepcopy(self.__dict__, memo))
        _parametrized_class_of(made, base, list(made.parametrizations))
        return made

    def no_pickle(self, protocol):
        raise ArgumentError("a parametrized module cannot be pickled; save its state_dict()")

    module.__class__ = type(f"Parametrized{base.__name__}", (base,), {"__deepcopy__": deep_copy, "__reduce_ex__": no_pickle,
                                                                      "__module__": base.__module__})


def _parametrized_class_of(module, base, names):
    module.__class__ = base
    _parametrized_class(module)
    for name in names:
        _add_property(module, name)


class ParametrizedTensor(property):
    """Attribute of a module that its parametrisation computes anew each time. Assigning sets the originals."""


def _add_property(module, name):
    def read(self):
        return _value(self, name)

    def write(self, value):
        self.parametrizations[name].right_inverse(value)

    setattr(type(module), name, ParametrizedTensor(read, write))


def is_parametrized(module, tensor_name=None) -> bool:
    """Return whether the module, or one of its tensors, is parametrised."""
    table = module.__dict__.get("_modules", {}).get("parametrizations")
    if not isinstance(table, ModuleDict):
        return False
    return len(table) > 0 if tensor_name is None else tensor_name in table


def register_parametrization(module, tensor_name, parametrization, *, unsafe=False):
    """Compute module.tensor_name by `parametrization` from now on. Repeated calls form a chain. Only the first one uses
    `right_inverse` for the original."""
    parametrization.train(module.training)
    if is_parametrized(module, tensor_name):
        chain = module.parametrizations[tensor_name]
        if not unsafe:
            _check_next(getattr(module, tensor_name), parametrization)
        chain.append(parametrization)
        chain.unsafe |= unsafe
        return module
    if tensor_name not in module._parameters and tensor_name not in module._buffers:
        raise ArgumentError(f"{type(module).__name__} has no parameter or buffer '{tensor_name}' to parametrize")
    chain = ParametrizationList([parametrization], getattr(module, tensor_name), unsafe)
    delattr(module, tensor_name)
    if not is_parametrized(module):
        _parametrized_class(module)
        module.parametrizations = ModuleDict()
    module.parametrizations[tensor_name] = chain
    _add_property(module, tensor_name)
    return module


def remove_parametrizations(module, tensor_name, leave_parametrized=True):
    """Make the tensor plain again, with its present value or its original."""
    if not is_parametrized(module, tensor_name):
        raise ArgumentError(f"{type(module).__name__} has no parametrization on '{tensor_name}'")
    chain = module.parametrizations[tensor_name]
    if leave_parametrized:
        with no_grad():
            final = getattr(module, tensor_name).clone()
        final = _as_original(chain, final)
    elif not chain.is_tensor:
        raise ArgumentError("leave_parametrized=False needs a parametrization of one tensor")
    else:
        final = chain.original
    delattr(type(module), tensor_name)
    del module.parametrizations[tensor_name]
    if isinstance(final, Parameter):
        module.register_parameter(tensor_name, final)
    else:
        module.register_buffer(tensor_name, final)
    if not len(module.parametrizations):
        del module.parametrizations
        module.__class__ = type(module).__bases__[0]
    Structure.version += 1
    return module


def _as_original(chain, value):
    """Return a value as the original: in the parameter that optimizers know if it fits, else in a new one."""
    owned = [t for t in chain._originals() if isinstance(t, Parameter)]
    if not owned:
        return value
    original = chain.original if chain.is_tensor else None
    if isinstance(original, Parameter) and original.dtype is value.dtype and original.device == value.device:
        original.data = value
        return original
    return Parameter(value, any(t.requires_grad for t in owned))


def type_before_parametrizations(module):
    """Return the module's class before it was parametrised."""
    return type(module).__bases__[0] if is_parametrized(module) else type(module)


def transfer_parametrizations_and_params(from_module, to_module, tensor_name=None):
    """Copy the parametrisations of one module, and their tensors, to another."""
    if not is_parametrized(from_module):
        return to_module
    for name in [tensor_name] if tensor_name is not None else list(from_module.parametrizations):
        source = from_module.parametrizations[name]
        if name not in to_module._parameters and not is_parametrized(to_module, name):
            to_module.register_parameter(name, _as_owned(getattr(from_module, name).detach().clone()))
        for parametrization in source:
            register_parametrization(to_module, name, copy.deepcopy(parametrization), unsafe=True)
        with no_grad():
            for mine, theirs in zip(to_module.parametrizations[name]._originals(), source._originals()):
                mine.data = theirs.detach().clone()
    return to_module
