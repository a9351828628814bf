"""Modules that hold other modules or parameters."""

from collections import OrderedDict, abc
from itertools import groupby
from operator import index as as_index
from operator import itemgetter

from ....ir.errors import ArgumentError, DimError, DTypeError
from ...core.tensor import Tensor
from .module import Module
from .parameter import Parameter


def _position(index, size):
    i = as_index(index)
    if not -size <= i < size:
        raise DimError(f"index {i} is out of range for {size} entries")
    return i % size


class _Numbered(Module):
    """Base of containers that number their modules."""

    def __getitem__(self, index):
        if isinstance(index, slice):
            return self._subset(list(self._modules.items())[index])
        return list(self._modules.values())[_position(index, len(self))]

    def _subset(self, named):
        """Return a container of this kind with some of the (name, module) pairs."""
        raise NotImplementedError

    def __setitem__(self, index, module):
        setattr(self, list(self._modules)[_position(index, len(self))], module)

    def __delitem__(self, index):
        names = list(self._modules)
        for name in names[index] if isinstance(index, slice) else [names[_position(index, len(self))]]:
            delattr(self, name)
        self._renumber(list(self._modules.values()))

    def _renumber(self, modules):
        self._modules.clear()
        for i, module in enumerate(modules):
            self.add_module(str(i), module)

    def __len__(self):
        return len(self._modules)

    def __iter__(self):
        return iter(self._modules.values())

    def __iadd__(self, other):
        return self.extend(other)

    def append(self, module):
        """Add a module at the end."""
        self.add_module(str(len(self)), module)
        return self

    def extend(self, modules):
        """Add modules at the end."""
        if not isinstance(modules, abc.Iterable):
            raise DTypeError(f"{self._get_name()} takes an iterable of modules, got {type(modules).__name__}")
        for module in list(modules):
            self.append(module)
        return self

    def insert(self, index, module):
        """Insert a module before position `index` and rename all by position."""
        if not -len(self) <= index <= len(self):
            raise DimError(f"index {index} is out of range for {len(self)} entries")
        modules = list(self._modules.values())
        modules.insert(index, module)
        self._renumber(modules)
        return self

    def pop(self, key):
        module = self[key]
        del self[key]
        return module


class Sequential(_Numbered):
    """A container that calls its modules one after the other.

    Parameters
    ----------
    *args : Module, or one dict of modules by name
        Modules in the order of their calls.

    Shape
    -----
    Input: that of the first module. Output: that of the last one.

    Examples
    --------
    >>> net = nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 2))
    >>> net(ingot.ones(1, 4)).shape, len(net), net[0].out_features
    (ingot.Size([1, 2]), 3, 8)
    """

    def __init__(self, *args):
        super().__init__()
        named = args[0].items() if len(args) == 1 and isinstance(args[0], abc.Mapping) else enumerate(args)
        for name, module in named:
            if isinstance(module, (list, tuple, abc.Iterator)):
                raise DTypeError(f"Sequential takes modules one by one, got a {type(module).__name__} of them; unpack it: "
                                 "Sequential(*layers)")
            self.add_module(str(name), module)

    def forward(self, input):
        for module in self._modules.values():
            input = module(input)
        return input

    def _subset(self, named):
        return type(self)(OrderedDict(named))

    def __add__(self, other):
        return Sequential(*self, *other)

    def __mul__(self, times):
        return Sequential(*[m for _ in range(times) for m in self])

    __rmul__ = __mul__


class ModuleList(_Numbered):
    """A list of modules.

    Parameters
    ----------
    modules : iterable of Module, optional
        First content of the list.

    Examples
    --------
    >>> layers = nn.ModuleList(nn.Linear(4, 4) for _ in range(3))
    >>> layers.append(nn.ReLU())[-1], len(list(layers.parameters()))
    (ReLU(), 6)
    """

    def __init__(self, modules=None):
        super().__init__()
        if modules is not None:
            self.extend(modules)

    def _get_abs_string_index(self, idx) -> str:
        """Return the name of the module at a position; subclasses use it."""
        return str(_position(idx, len(self)))

    def _subset(self, named):
        return type(self)([module for _, module in named])

    def __repr__(self):
        lines, start = [], 0
        for text, run in groupby(map(repr, self)):
            count = len(list(run))
            name = f"({start})" if count == 1 else f"({start}-{start + count - 1})"
            lines.append(f"  {name}: {'' if count == 1 else f'{count} x '}" + text.replace("\n", "\n  "))
            start += count
        return "\n".join([f"{self._get_name()}(", *lines, ")"]) if lines else f"{self._get_name()}()"

    def __add__(self, other):
        return ModuleList([*self, *other])


class ModuleDict(Module):
    """Modules by name.

    Parameters
    ----------
    modules : mapping of str to Module, optional
        First content.

    Examples
    --------
    >>> heads = nn.ModuleDict({"a": nn.Linear(4, 2), "b": nn.Linear(4, 3)})
    >>> heads["b"](ingot.ones(1, 4)).shape
    ingot.Size([1, 3])
    """

    def __init__(self, modules=None):
        super().__init__()
        if modules is not None:         # a subclass's update() is not called without modules
            self.update(modules)

    def __getitem__(self, key):
        return self._modules[key]

    def __setitem__(self, key, module):
        self.add_module(key, module)

    def __delitem__(self, key):
        delattr(self, key)

    def __len__(self):
        return len(self._modules)

    def __iter__(self):
        return iter(self._modules)

    def __contains__(self, key):
        return key in self._modules

    def clear(self):
        self._modules.clear()

    def pop(self, key):
        module = self[key]
        del self[key]
        return module

    def keys(self):
        return self._modules.keys()

    def items(self):
        """Return (name, module) pairs."""
        return self._modules.items()

    def values(self):
        return self._modules.values()

    def update(self, modules):
        """Add all modules of a mapping or an iterable of pairs."""
        for name, module in modules.items() if hasattr(modules, "items") else modules:
            self[name] = module


def _as_parameter(value):
    return Parameter(value) if isinstance(value, Tensor) and not isinstance(value, Parameter) else value


def _is_unordered(parameters) -> bool:
    """Return whether a mapping has no meaningful order."""
    return isinstance(parameters, abc.Mapping) and not isinstance(parameters, OrderedDict)


def _parameter_line(name, p):
    if not isinstance(p, Tensor):
        return f"  ({name}): Object of type: {type(p).__name__}"
    kind = "Parameter" if isinstance(p, Parameter) else "Tensor"
    return f"  ({name}): {kind} containing: [{p.dtype} of size {'x'.join(map(str, p.shape))}]"


class ParameterList(Module):
    """A list of parameters, and of other values.

    Parameters
    ----------
    values : iterable, optional
        First content of the list; tensors become parameters.

    Examples
    --------
    >>> nn.ParameterList([ingot.ones(2), ingot.ones(3)])[1].requires_grad
    True
    """

    def __init__(self, values=None):
        super().__init__()
        self._size = 0
        if values is not None:
            self.extend(values)

    def __getitem__(self, index):
        if isinstance(index, slice):
            return type(self)([self[i] for i in range(*index.indices(self._size))])
        return getattr(self, str(_position(index, self._size)))

    def __setitem__(self, index, value):
        setattr(self, str(_position(index, self._size)), _as_parameter(value))

    def __len__(self):
        return self._size

    def __iter__(self):
        return (self[i] for i in range(self._size))

    def __iadd__(self, other):
        return self.extend(other)

    def append(self, value):
        """Add a value at the end; a tensor becomes a parameter."""
        self._size += 1
        self[self._size - 1] = value
        return self

    def extend(self, values):
        """Add values at the end."""
        if not isinstance(values, abc.Iterable) or isinstance(values, Tensor):
            raise DTypeError(f"ParameterList takes an iterable of values, got {type(values).__name__}")
        for value in list(values):
            self.append(value)
        return self

    def extra_repr(self):
        return "\n".join(_parameter_line(i, p) for i, p in enumerate(self))


class ParameterDict(Module):
    """Parameters by name, and other values."""

    def __init__(self, parameters=None):
        super().__init__()
        self._keys = {}
        if parameters is not None:
            self.update(parameters)

    def _name(self, key):
        if not isinstance(key, str):
            raise DTypeError(f"ParameterDict takes strings as keys, got {type(key).__name__}")
        if key not in self._keys and hasattr(self, key):
            raise ArgumentError(f"ParameterDict cannot take {key!r} as a key: it has an attribute of that name")
        return key

    def __getitem__(self, key):
        return getattr(self, key) if key in self._keys else self._keys[key]

    def __setitem__(self, key, value):
        name = self._name(key)
        self._keys[name] = None
        setattr(self, name, _as_parameter(value))

    def __delitem__(self, key):
        del self._keys[key]
        delattr(self, key)

    def __len__(self):
        return len(self._keys)

    def __iter__(self):
        return iter(self._keys)

    def __reversed__(self):
        return reversed(list(self._keys))

    def __contains__(self, key):
        return key in self._keys

    def __or__(self, other):
        made = self.copy()
        made.update(other)
        return made

    def copy(self):
        return ParameterDict(self.items())

    def setdefault(self, key, default=None):
        """Return the value of `key`, set to `default` if it is absent."""
        if key not in self._keys:
            self[key] = default
        return self[key]

    def get(self, key, default=None):
        return self[key] if key in self._keys else default

    def fromkeys(self, keys, default=None):
        return ParameterDict((k, default) for k in keys)

    def clear(self):
        for key in list(self._keys):
            del self[key]

    def pop(self, key):
        """Remove a value and return it."""
        value = self[key]
        del self[key]
        return value

    def popitem(self):
        """Remove the last value and return (key, value)."""
        key = next(reversed(list(self._keys)))
        return key, self.pop(key)

    def keys(self):
        return self._keys.keys()

    def items(self):
        """Return (key, value) pairs."""
        return [(k, self[k]) for k in self._keys]

    def values(self):
        return [self[k] for k in self._keys]

    def update(self, parameters):
        """Add all values of a mapping or an iterable of pairs; a plain mapping is sorted by name."""
        pairs = parameters.items() if hasattr(parameters, "items") else parameters
        for key, value in sorted(pairs, key=itemgetter(0)) if _is_unordered(parameters) else pairs:
            self[key] = value

    def extra_repr(self):
        return "\n".join(_parameter_line(k, p) for k, p in self.items())
