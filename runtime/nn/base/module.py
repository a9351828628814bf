"""Module: the base class of everything that owns parameters."""

from types import FunctionType

from ....ir.doors import door_of_getattr, give_methods_doors
from ....ir.error_texts.refused_calls import call_error
from ....ir.errors import ArgumentError, DTypeError, IngotError, kind_of
from ...api.register.register import FUNCTIONS
from ...core.tensor import Tensor
from ...foreach import lists
from ...state.mode import COMPILERS
from ...state.structure import Structure, Table
from .conversion import ConversionMethods
from .hooks import *  # noqa: F403  (functions that `nn.modules.module` has, too)
from .hooks import BUFFER_HOOKS, GLOBAL, MODULE_HOOKS, PARAMETER_HOOKS, HookMethods, Hooks, after_hooks, call_with_hooks
from .input_errors import explain
from .parameter import Buffer, Parameter, is_lazy
from .state_dict import StateMethods


class MissingAttribute(IngotError, AttributeError):
    """A module lacks an attribute."""


class NoForward(IngotError, NotImplementedError):
    """A call of a module without forward()."""


def _tables():
    return {"_parameters": Table(), "_buffers": Table(), "_modules": Table(), "_non_persistent_buffers_set": set(),
            "_hooks": Hooks(), "training": True}


_NAMED = ("_parameters", "_buffers", "_modules")
TABLES = frozenset(_tables()) - {"training"}        # attributes of every module, not its own state


_FUNCTIONAL = f"{__package__.rpartition('.')[0]}.functional."


def _is_public(function) -> bool:
    """Return whether a function belongs to `ingot` or `ingot.nn.functional`, with or without `__torch_function__` dispatch."""
    known = FUNCTIONS.get(function.__name__)
    return function in (known, getattr(known, "_asks_for", None)) or hasattr(function, "_asks_for") or (
        (function.__module__ or "").startswith(_FUNCTIONAL) and function.__qualname__ == function.__name__)


class Module(HookMethods, StateMethods, ConversionMethods):
    """Base class of neural network modules: assign parameters, buffers and modules as attributes, define forward().

    Parameters
    ----------
    *args, **kwargs
        Refused, except where a class sets `call_super_init` and passes them on.

    Examples
    --------
    >>> class Net(nn.Module):
    ...     def __init__(self):
    ...         super().__init__()
    ...         self.layer = nn.Linear(3, 2)
    ...         self.register_buffer("scale", ingot.ones(1))
    ...     def forward(self, x):
    ...         return self.layer(x) * self.scale
    >>> net = Net()
    >>> net(ingot.ones(1, 3)).shape
    ingot.Size([1, 2])
    >>> list(net.state_dict())
    ['scale', 'layer.weight', 'layer.bias']
    """

    _version = 1
    call_super_init = False         # whether __init__ passes its arguments to a class behind Module
    training: bool
    _repr_fields = ""       # attributes in the repr: "n" shows its value, "n=" also its name, "n?" whether it is not None

    def __init_subclass__(cls, **options):
        """Keep functions of tensors in a class (`conv = ingot.conv2d`) as functions, not methods."""
        super().__init_subclass__(**options)
        give_methods_doors(cls)
        for name, value in [*vars(cls).items()]:
            if type(value) is FunctionType and _is_public(value):
                setattr(cls, name, staticmethod(value))

    def __init__(self, *args, **kwargs):
        if (args or kwargs) and not self.call_super_init:
            kind = type(self)
            refused = call_error(kind.__name__, (), args, kwargs) if kind.__init__ is Module.__init__ else None
            raise refused or DTypeError(f"{kind.__name__}.__init__ passed arguments on that Module does not take: "
                             f"{[*map(repr, args), *kwargs]}")
        self.__dict__.update(_tables())
        if self.call_super_init:
            super().__init__(*args, **kwargs)

    def forward(self, *args, **kwargs):
        """Compute the result of a call; subclasses define it."""
        raise NoForward(f"{type(self).__name__} does not define forward()")

    def __call__(self, *args, **kwargs):
        try:
            own = self._hooks       # inlined truth of hooks: two calls fewer per module
            if (own.forward or own.forward_pre or own.backward or own.backward_pre
                    or GLOBAL.forward or GLOBAL.forward_pre or GLOBAL.backward or GLOBAL.backward_pre):
                return call_with_hooks(self, args, kwargs)
            return self.forward(*args, **kwargs)
        except Exception as error:
            explain(self, args, kwargs, error)
            raise

    _call_impl = _wrapped_call_impl = __call__      # for subclasses that define another __call__

    # Attributes.

    @door_of_getattr
    def __getattr__(self, name):
        own = self.__dict__
        try:
            return own["_parameters"][name]
        except KeyError:
            for table in _NAMED:
                found = own.get(table)
                if found is not None and name in found:
                    return found[name]
        # Set on this class: Python 3.11 adds "Did you mean" to no class below it.
        raise AttributeError(f"'{type(self).__name__}' object has no attribute '{name}'")

    def __setattr__(self, name, value):
        own = self.__dict__
        if isinstance(value, Parameter):
            self._free_name(name, "_parameters")
            self.register_parameter(name, value)
        elif isinstance(value, Module):
            self._free_name(name, "_modules")
            own["_modules"][name] = after_hooks(MODULE_HOOKS, self, name, value)
        elif isinstance(value, Buffer):
            self._free_name(name, "_buffers")
            self.register_buffer(name, value, persistent=value.persistent)
        elif "_parameters" in own and name in own["_parameters"]:
            self._replace(own["_parameters"], name, value, Parameter, "parameter")
        elif "_modules" in own and name in own["_modules"]:
            self._replace(own["_modules"], name, value, Module, "child module")
        elif "_buffers" in own and name in own["_buffers"]:
            self._replace(own["_buffers"], name, value, Tensor, "buffer")
        else:
            Structure.version += 1
            object.__setattr__(self, name, value)

    def _replace(self, table, name, value, kind, what):
        if value is not None and not isinstance(value, kind):
            raise DTypeError(f"cannot assign {type(value).__name__} as {what} '{name}' of {type(self).__name__}: it takes a "
                             f"{kind.__name__} or None")
        table[name] = value

    def _free_name(self, name, table):
        """Remove an attribute so that a table can hold its name."""
        own = self.__dict__
        if table not in own:
            raise MissingAttribute(f"cannot assign '{name}' before {type(self).__name__} has called super().__init__()")
        own.pop(name, None)
        for other in _NAMED:
            if other != table:
                own[other].pop(name, None)
        own["_non_persistent_buffers_set"].discard(name)

    def __delattr__(self, name):
        for table in _NAMED:
            if name in self.__dict__.get(table, ()):
                del self.__dict__[table][name]
                self._non_persistent_buffers_set.discard(name)
                return
        Structure.version += 1
        object.__delattr__(self, name)

    def __dir__(self):
        names = {*dir(type(self)), *self.__dict__, *self._parameters, *self._buffers, *self._modules}
        return sorted(n for n in names if not n[:1].isdigit())

    def __setstate__(self, state):
        self.__dict__.update(_tables())
        self.__dict__.update({name: Table(value) if name in _NAMED else value for name, value in state.items()})

    def _check_name(self, name, table, what):
        if table not in self.__dict__:
            raise MissingAttribute(f"cannot register a {what} before {type(self).__name__} has called super().__init__()")
        if not isinstance(name, str):
            raise DTypeError(f"the name of a {what} must be a string, got {type(name).__name__}")
        if not name or "." in name:
            raise RegistrationError(f"the name of a {what} must not be empty and must not contain a dot, got {name!r}")
        if name not in self.__dict__[table] and (name in self.__dict__ or hasattr(self, name)):
            raise RegistrationError(f"attribute '{name}' of {type(self).__name__} already exists")

    def register_parameter(self, name, param):
        """Add a parameter, or None to reserve the name."""
        self._check_name(name, "_parameters", "parameter")
        if param is not None and not isinstance(param, Parameter):
            raise DTypeError(f"cannot register {type(param).__name__} as parameter '{name}': it takes a Parameter or None")
        if param is not None and not param.is_leaf:
            raise ArgumentError(f"parameter '{name}' must be a leaf; it was computed. Compute it in forward() instead")
        self._parameters[name] = None if param is None else after_hooks(PARAMETER_HOOKS, self, name, param)

    def register_buffer(self, name, tensor, persistent=True):
        """Add a tensor that is state but not trained; persistent buffers are in the state_dict."""
        self._check_name(name, "_buffers", "buffer")
        if tensor is not None and not isinstance(tensor, Tensor):
            raise DTypeError(f"cannot register {type(tensor).__name__} as buffer '{name}': it takes a Tensor or None")
        self._buffers[name] = after_hooks(BUFFER_HOOKS, self, name, tensor)
        (self._non_persistent_buffers_set.discard if persistent else self._non_persistent_buffers_set.add)(name)

    def add_module(self, name, module):
        if module is not None and not isinstance(module, Module):
            hint = "; call functions in forward()" if isinstance(module, FunctionType) else ""
            raise DTypeError(f"{name!r} must be a Module, got {kind_of(module)}{hint}")
        self._check_name(name, "_modules", "module")
        self._modules[name] = after_hooks(MODULE_HOOKS, self, name, module)

    register_module = add_module

    # Traversal.

    def get_submodule(self, target):
        """Return the module at a dotted path."""
        module = self
        for part in target.split(".") if target else ():
            found = getattr(module, part, None)
            if not isinstance(found, Module):
                raise MissingAttribute(f"{type(module).__name__} has no submodule `{part}` (looking for '{target}')")
            module = found
        return module

    def set_submodule(self, target, module, strict=False):
        """Set the module at a dotted path; `strict` requires an existing one."""
        path, _, name = target.rpartition(".")
        if not name:
            raise ArgumentError("set_submodule needs the path of a submodule, got an empty one")
        if not isinstance(module, Module):
            raise ArgumentError(f"set_submodule puts a module at '{target}', got {type(module).__name__}")
        parent = self.get_submodule(path)
        if strict or hasattr(parent, name):         # an existing attribute must be a module
            parent.get_submodule(name)
        setattr(parent, name, module)

    def get_parameter(self, target):
        """Return the parameter at a dotted path."""
        return self._get_named(target, "_parameters", "parameter")

    def get_buffer(self, target):
        """Return the buffer at a dotted path."""
        return self._get_named(target, "_buffers", "buffer")

    def _get_named(self, target, table, what):
        path, _, name = target.rpartition(".")
        module = self.get_submodule(path)
        if name not in getattr(module, table):
            raise MissingAttribute(f"{type(module).__name__} has no {what} `{name}` (looking for '{target}')")
        return getattr(module, table)[name]

    def named_modules(self, memo=None, prefix="", remove_duplicate=True):
        """Iterate over (dotted name, module) of this module and all below."""
        memo = set() if memo is None else memo
        if self in memo:
            return
        if remove_duplicate:
            memo.add(self)
        yield prefix, self
        for name, child in self._modules.items():
            if child is not None:
                yield from child.named_modules(memo, f"{prefix}.{name}" if prefix else name, remove_duplicate)

    def modules(self, remove_duplicate=True):
        """Iterate over this module and all below, each once, or once per path."""
        for _, module in self.named_modules(remove_duplicate=remove_duplicate):
            yield module

    def named_children(self):
        """Iterate over (name, module) of the direct children, each once."""
        seen = set()
        for name, child in self._modules.items():
            if child is not None and child not in seen:
                seen.add(child)
                yield name, child

    def children(self):
        """Iterate over the direct children, each once."""
        for _, child in self.named_children():
            yield child

    def _named_members(self, get_members_fn, prefix="", recurse=True, remove_duplicate=True):
        """Iterate over (dotted name, member) from `get_members_fn` of this module and those below."""
        seen = {}           # members by id, kept alive since they may be temporary
        for path, module in self.named_modules(None, prefix, remove_duplicate) if recurse else [(prefix, self)]:
            for name, t in get_members_fn(module):
                if t is None or (remove_duplicate and id(t) in seen):
                    continue
                seen[id(t)] = t
                yield f"{path}.{name}" if path else name, t

    def named_parameters(self, prefix="", recurse=True, remove_duplicate=True):
        """Iterate over (dotted name, parameter), each parameter once."""
        yield from self._named_members(lambda module: module._parameters.items(), prefix, recurse, remove_duplicate)

    def parameters(self, recurse=True):
        """Iterate over all parameters, each once."""
        for _, p in self.named_parameters(recurse=recurse):
            yield p

    def named_buffers(self, prefix="", recurse=True, remove_duplicate=True):
        """Iterate over (dotted name, buffer), each buffer once."""
        yield from self._named_members(lambda module: module._buffers.items(), prefix, recurse, remove_duplicate)

    def buffers(self, recurse=True):
        """Iterate over all buffers, each once."""
        for _, b in self.named_buffers(recurse=recurse):
            yield b

    # Changes to the whole tree.

    def apply(self, fn):
        """Call fn on every module below, children first, then on this one."""
        for child in self.children():
            child.apply(fn)
        fn(self)
        return self

    def _apply(self, fn, recurse=True):
        """Replace the data of every parameter, gradient and buffer by fn of it; parameters keep their identity."""
        if recurse:
            for child in self.children():
                child._apply(fn)
        for p in self._parameters.values():
            if p is None:
                continue
            if is_lazy(p):
                p.convert(fn)
                continue
            grad, p.grad = p.grad, None
            p.data = fn(p.detach())
            if grad is not None:
                p.grad = fn(grad.detach())
        for name, b in self._buffers.items():
            if b is None:
                continue
            if is_lazy(b):
                b.convert(fn)
            else:
                self._buffers[name] = fn(b)
        Structure.version += 1
        return self

    def train(self, mode=True):
        """Set this module and all below to training (or evaluation) mode."""
        if not isinstance(mode, bool):
            raise ArgumentError(f"the training mode must be a bool, got {type(mode).__name__}")
        if self.__dict__.get("training") is not mode:
            self.training = mode
        for child in self.children():
            child.train(mode)
        return self

    def eval(self):
        """Set evaluation mode, as train(False)."""
        return self.train(False)

    def requires_grad_(self, requires_grad=True):
        for p in self.parameters():
            p.requires_grad_(requires_grad)
        return self

    def zero_grad(self, set_to_none=True):
        """Drop the gradients of all parameters, or set them to zero."""
        lists.clear_gradients(self.parameters(), set_to_none)

    def compile(self, *args, **kwargs):
        """Compile `forward` from now on, by `ingot.compile` with these arguments; hooks run around it."""
        self.forward = COMPILERS[-1](self.forward, *args, **kwargs)

    def _replicate_for_data_parallel(self):
        """Return a copy without parameters, buffers and children; `nn.parallel.replicate` fills them in."""
        made = object.__new__(type(self))
        made.__dict__.update(self.__dict__, _parameters=Table(), _buffers=Table(), _modules=Table(), _is_replica=True)
        return made

    # Text.

    def extra_repr(self):
        """Return the arguments that the repr shows."""
        return ", ".join([_shown(self, field) for field in self._repr_fields.split()])

    def _get_name(self):
        return type(self).__name__

    def __repr__(self):
        extra = self.extra_repr().split("\n") if self.extra_repr() else []
        children = [f"({name}): " + _addindent(repr(child), 2) for name, child in self._modules.items()]
        if len(extra) == 1 and not children:
            return f"{self._get_name()}({extra[0]})"
        if not extra and not children:
            return f"{self._get_name()}()"
        return f"{self._get_name()}(\n  " + "\n  ".join(extra + children) + "\n)"


def _shown(module, field: str) -> str:
    name = field.rstrip("=?")
    value = getattr(module, name)
    return f"{value}" if name == field else f"{name}={value if field[-1] == '=' else value is not None}"


def _addindent(s_: str, numSpaces: int) -> str:
    return s_.replace("\n", "\n" + " " * numSpaces)


class RegistrationError(ArgumentError, KeyError):
    """An invalid name of a parameter, buffer or module."""

    def __str__(self):
        return Exception.__str__(self)
