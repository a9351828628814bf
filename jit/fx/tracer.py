"""`fx.symbolic_trace`: runs a program on proxies and returns its graph."""

import builtins
import copy
import functools
import inspect
import math
import sys
import threading
from collections.abc import Callable
from contextlib import contextmanager
from types import FunctionType
from typing import Any

from ...ir import config
from ...ir.errors import ArgumentError
from ...ir.locks import new_rlock
from ...ir.registry import Registry
from ...runtime.api.register.register import FUNCTIONS
from ...runtime.core.tensor import Tensor
from ...runtime.nn import Module, Parameter, Sequential
from .graph import Graph
from .graph_module import GraphModule
from .node import FACE, RANDOM, Node, has_side_effect, map_aggregate
from .proxy import Proxy, TraceError, TracerBase, users_line

__all__ = ["PH", "Tracer", "symbolic_trace", "wrap"]

PH = "PH"           # PyTorch's mark of a traced value in a container
_OWN_LAYERS = tuple(f"{FACE}.{name}" for name in ("runtime.nn", "runtime.quantization", "nn", "ao"))
_STARS: dict[Any, str] = {inspect.Parameter.VAR_POSITIONAL: "*", inspect.Parameter.VAR_KEYWORD: "**"}
_wrapped: dict[tuple[int, str], dict] = Registry()          # (id of a module's globals, name of a leaf function) -> globals
_active = threading.local()                           # the active tracer of a thread
_patching = new_rlock()


def compatibility(is_backward_compatible: bool = False) -> Callable:
    """Return a decorator without effect."""
    return lambda fn: fn


has_side_effect(FUNCTIONS["_assert"])


class SpecializedError(ArgumentError, AssertionError):
    """A program specialised for one value of an argument got another."""


@has_side_effect
def assert_same(value, expected, message: str) -> None:
    """Raise if an argument has another value than the specialised one."""
    if value is not expected and (type(value) is not type(expected) or value != expected):
        raise SpecializedError(f"{message}, got {value!r}")


def wrap(fn_or_name):
    """Record calls of a function as nodes, without tracing into it: a decorator, or the name of a module's global
    (`fx.wrap("len")`). It holds for that module, and for traced code with the function among its globals."""
    name = fn_or_name if isinstance(fn_or_name, str) else getattr(fn_or_name, "__name__", None)
    frame = sys._getframe(1)
    if not isinstance(name, str) or not (callable(fn_or_name) or isinstance(fn_or_name, str)):
        raise ArgumentError(f"wrap takes a function or its name, got {fn_or_name!r}")
    names = fn_or_name.__globals__ if isinstance(fn_or_name, FunctionType) else frame.f_globals
    if frame.f_code.co_name != "<module>" and isinstance(fn_or_name, str):
        raise ArgumentError("wrap(name) stands at the top of the module that has the name")
    _wrapped[id(names), name] = names
    return fn_or_name


_DRAWS = frozenset([FUNCTIONS[name] for name in RANDOM])


def _recording(fn):
    """Return a function that becomes a node when it is called with a proxy, or draws random numbers."""

    @functools.wraps(fn, updated=())
    def wrapped(*args, **kwargs):
        found: list[Proxy] = []
        map_aggregate((args, kwargs), lambda x: found.append(x) if isinstance(x, Proxy) else None)
        tracer = found[0].tracer if found else getattr(_active, "tracer", None) if fn in _DRAWS else None
        return fn(*args, **kwargs) if tracer is None else tracer.create_proxy("call_function", fn, args, kwargs)

    wrapped.recorded = fn           # type: ignore[attr-defined]
    return wrapped


class Patches:
    """Temporary values of names."""

    def __init__(self):
        self.undo: list[Callable] = []
        self.patched_namespaces: set[int] = set()

    def item(self, names: dict, name: str, value):
        """Replace an item of a dictionary."""
        if name in names:
            self.undo.append(functools.partial(names.__setitem__, name, names[name]))
        else:
            self.undo.append(functools.partial(names.pop, name, None))
        names[name] = value

    def attribute(self, owner, name: str, value):
        """Replace an attribute of a class."""
        self.undo.append(functools.partial(setattr, owner, name, vars(owner)[name]))
        setattr(owner, name, value)

    def functions(self, names: dict, ids: set[int]):
        """Make functions in a module's globals record nodes."""
        if id(names) in self.patched_namespaces or not ids:
            return
        self.patched_namespaces.add(id(names))
        for name, value in list(names.items()):
            if id(value) in ids and name[:1] != "_":
                self.item(names, name, _recording(value))

    def revert(self):
        """Undo all changes."""
        while self.undo:
            self.undo.pop()()


def patch_wrapped(patches: Patches) -> set[int]:
    """Make functions marked by `wrap` record nodes; return their ids."""
    found = [(names, name, names.get(name, vars(builtins).get(name))) for (_, name), names in _wrapped.items()]
    wrapped = [row for row in found if callable(row[2])]
    for names, name, function in wrapped:
        if not hasattr(function, "recorded"):
            patches.item(names, name, _recording(function))
    return {id(function) for _, _, function in wrapped}


class Tracer(TracerBase):
    """The tracer of programs. Override `is_leaf_module` to choose modules that are not traced into.

    autowrap_modules     modules of Python whose functions become nodes (`math`)
    autowrap_functions   functions that become nodes, as with `wrap`

    `traced_func_name` is the traced method of a module.
    """

    traced_func_name = "forward"

    def __init__(self, autowrap_modules=(math,), autowrap_functions=(), param_shapes_constant: bool = False):
        self._autowrap_function_ids = {id(value) for module in autowrap_modules for name, value in vars(module).items()
                             if callable(value) and name[:1] != "_"} | {id(fn) for fn in autowrap_functions}
        self._autowrap_function_ids |= {id(fn) for fn in _DRAWS}
        self._all_ids = self._autowrap_function_ids           # with the ids from wrap(), during a trace
        self._autowrap_search = (*autowrap_modules, sys.modules[FACE])
        self.param_shapes_constant = param_shapes_constant
        self.root: Module = Module()
        self.submodule_paths: dict[Module, str] = {}
        self.tensor_attrs: dict[Tensor, str] = {}
        self.module_stack: dict[str, tuple] = {}

    # Methods to override.

    def is_leaf_module(self, m: Module, module_qualified_name: str) -> bool:
        """Return whether a call of a module is one node: true for ingot's own layers except Sequential. `module_qualified_name`
        is ignored: only overrides look at it."""
        return f"{type(m).__module__}.".startswith(tuple([f"{p}." for p in _OWN_LAYERS])) and not isinstance(m, Sequential)

    def call_module(self, m: Module, forward: Callable, args: tuple, kwargs: dict) -> Any:
        """Call a module during a trace."""
        path = self.path_of_module(m)
        if self.is_leaf_module(m, path):
            return self.create_proxy("call_module", path, args, kwargs)
        return forward(*args, **kwargs)

    def getattr(self, attr: str, attr_val: Any, parameter_proxy_cache: dict) -> Any:
        """Return an attribute of a module during a trace: parameters and buffers are proxies. `attr` is ignored: only overrides
        look at it."""
        path = self.tensor_attrs.get(attr_val) if isinstance(attr_val, Tensor) else None
        if path is None or not (isinstance(attr_val, Parameter) or self.proxy_buffer_attributes):
            return attr_val
        if path not in parameter_proxy_cache:
            made = self.create_proxy("get_attr", path, (), {})
            parameter_proxy_cache[path] = _ParameterProxy.of(attr_val)(made.node, self) if self.param_shapes_constant else made
        return parameter_proxy_cache[path]

    def path_of_module(self, mod: Module) -> str:
        path = self.submodule_paths.get(mod)
        if path is None:
            path = next((name for name, module in self.root.named_modules() if module is mod), None)
        if path is None:
            raise NameError(f"the {type(mod).__name__} that is called is no submodule of what is traced: keep it in an "
                            f"attribute")
        return path

    def get_fresh_qualname(self, prefix: str) -> str:
        """Return a name that the root does not use."""
        number = 0
        while hasattr(self.root, f"{prefix}{number}"):
            number += 1
        return f"{prefix}{number}"

    def create_arg(self, a: Any) -> Any:
        """Return an argument with nodes; tensors made by the program become attributes of the root."""
        if isinstance(a, Tensor):
            path = self.tensor_attrs.get(a)
            if path is None:
                if isinstance(a, Parameter):
                    raise NameError("a parameter that is no attribute of what is traced is used: keep it in an attribute")
                path = self.tensor_attrs[a] = self.get_fresh_qualname("_tensor_constant")
                setattr(self.root, path, a)
            return self.create_node("get_attr", path, (), {})
        return super().create_arg(a)

    def check_writable(self, a: Any) -> None:
        """Raise if a traced value would be written into a tensor made from constants."""
        if isinstance(a, Tensor) and a not in self.tensor_attrs:
            raise TraceError(f"{users_line()}: a value that is traced is written into a tensor that is made anew at each call, "
                             f"which in the graph would be made once. Make it of the value (x.new_zeros, zeros_like), or do "
                             f"not write in place")

    # Tracing.

    def trace(self, root: Module | Callable, concrete_args: dict[str, Any] | None = None) -> Graph:
        """Return the graph of a module or function. `concrete_args` fixes the values of arguments."""
        root = _plain(root)
        if isinstance(root, Module):
            fn = getattr(type(root), self.traced_func_name, None)
            if fn is None:
                raise ArgumentError(f"{type(root).__name__} has no method {self.traced_func_name!r} (traced_func_name)")
            self.root = root
        else:
            self.root, fn = Module(), root
        self.submodule_paths = {module: name for name, module in self.root.named_modules()}
        self.tensor_attrs = {t: path for path, t in _tensors_of(self.root)}
        self.graph = Graph(tracer_cls=type(self))
        program, args = self.create_args_for_root(fn, isinstance(root, Module), concrete_args)
        with self._at_work(fn):
            result = program(*args)
        self.create_node("output", "output", (self.create_arg(result),), {})
        self.submodule_paths = {}
        return self.graph

    def create_args_for_root(self, root_fn: Callable, is_module: bool, concrete_args=None) -> tuple[Callable, list]:
        """Return the program with named parameters, and its positional arguments with a placeholder each."""
        program = inspect.unwrap(root_fn)
        parameters = list(inspect.signature(program).parameters.values())
        concrete, given = dict(concrete_args or {}), {}
        for p in parameters:
            if is_module and p is parameters[0]:
                if p.kind in _STARS:
                    raise ArgumentError(f"a method that takes its module in *{p.name} cannot be traced: name it (self)")
                given[p.name] = self.root
            else:
                given[p.name] = self._placeholder(_STARS.get(p.kind, "") + p.name, p, concrete)
        if concrete:
            raise ArgumentError(f"concrete_args has {', '.join(concrete)}, which the program does not take")
        if not any(p.kind in _STARS for p in parameters):
            named = {p.name: given.pop(p.name) for p in parameters if p.kind is p.KEYWORD_ONLY}
            return functools.partial(root_fn, **named) if named else root_fn, list(given.values())
        if program is not root_fn or not isinstance(program, FunctionType):
            raise ArgumentError("a decorated function with *args or **kwargs cannot be traced: trace the function in it")
        return _positional(program), [given[name] for name in program.__code__.co_varnames[:len(parameters)]]

    def _placeholder(self, target, parameter, concrete):
        name = parameter.name
        default = () if parameter.default is parameter.empty or target[0] == "*" else (parameter.default,)
        if name not in concrete:
            hint = None if parameter.annotation is parameter.empty else parameter.annotation
            return self.create_proxy("placeholder", target, default, {}, type_expr=hint)
        value = concrete.pop(name)
        if _has_placeholders(value):
            raise ArgumentError(f"concrete_args[{name!r}] has fx.PH in it: containers of traced values are not taken apart. "
                                f"Give the program one argument for each of them")
        node = self.create_proxy("placeholder", target, (value,), {})
        if value is None or isinstance(value, (bool, int, float, str)):
            self.create_proxy("call_function", assert_same, (
                node, value, f"{name} was {value!r} when this program was traced, and has to be"), {})
        return value

    @contextmanager
    def _at_work(self, fn):
        """Record calls of modules, their attributes, and leaf functions as nodes, while a program runs. Traced functions in it
        run as they are."""
        before, patches, cache = getattr(_active, "tracer", None), Patches(), {}     # type: ignore[var-annotated]
        _active.tracer = self
        with _patching, config.override(jit=False):
            try:
                self._patch_modules(patches, cache)
                self._patch_functions(patches, fn)
                yield
            finally:
                patches.revert()
                _active.tracer = before

    @contextmanager
    def _in_module(self, module):
        before, path = self.module_stack, self.submodule_paths.get(module)
        if path:
            self.module_stack = {**before, path: (path, type(module))}
        try:
            yield
        finally:
            self.module_stack = before

    def create_node(self, kind: str, target, args, kwargs, name: str | None = None, type_expr=None) -> Node:
        """Add a node to the graph, with the running modules ("nn_module_stack")."""
        node = super().create_node(kind, target, args, kwargs, name, type_expr)
        if self.module_stack and kind != "placeholder":
            node.meta["nn_module_stack"] = self.module_stack
        return node

    def __deepcopy__(self, memo):
        made = object.__new__(type(self))
        memo[id(self)] = made
        shared = ("_all_ids", "_autowrap_function_ids", "_autowrap_search")
        vars(made).update({name: value if name in shared else copy.deepcopy(value, memo) for name, value in vars(self).items()})
        return made

    def _patch_modules(self, patches, cache):
        call, find = Module.__call__, Module.__getattr__

        def calling(module, *args, **kwargs):
            if getattr(_active, "tracer", None) is not self:
                return call(module, *args, **kwargs)

            def forward(*args, **kwargs):
                patches.functions(getattr(type(module).forward, "__globals__", {}), self._all_ids)
                return call(module, *args, **kwargs)

            with self._in_module(module):
                return self.call_module(module, forward, args, kwargs)

        def finding(module, name):
            found = find(module, name)
            return self.getattr(name, found, cache) if getattr(_active, "tracer", None) is self else found

        patches.attribute(Module, "__call__", calling)
        patches.attribute(Module, "__getattr__", finding)

    def _patch_functions(self, patches, fn):
        ids = self._all_ids = self._autowrap_function_ids | patch_wrapped(patches)
        patches.functions(getattr(inspect.unwrap(fn), "__globals__", {}), ids)
        for module in self._autowrap_search:
            patches.functions(vars(module), ids)


def symbolic_trace(root: Module | Callable, concrete_args: dict[str, Any] | None = None) -> GraphModule:
    """Return a module with the graph of a module or function. `concrete_args` fixes the values of arguments."""
    tracer = Tracer()
    graph = tracer.trace(root, concrete_args)
    name = type(root).__name__ if isinstance(root, Module) else getattr(root, "__name__", "function")
    return GraphModule(tracer.root, graph, name)


def _plain(root: Any) -> Any:
    """Return the module that a traced or compiled one stays; others as they are."""
    while hasattr(type(root), "_plain_module"):
        root = root._plain_module()
    return root


def _tensors_of(root: Module):
    """Iterate over (path, tensor) of a module and those below; parameters and buffers come last and win."""
    for path, module in root.named_modules():
        found = {**{k: v for k, v in vars(module).items() if isinstance(v, Tensor)}, **module._buffers, **module._parameters}
        for name, t in found.items():
            if t is not None:
                yield f"{path}.{name}" if path else name, t


def _has_placeholders(value) -> bool:
    """Return whether a container holds PyTorch's mark of a traced value."""
    found: list = []
    map_aggregate(value, lambda x: found.append(x) if x is PH else None)
    return bool(found) and value is not PH


def _positional(fn: FunctionType) -> Callable:
    """Return the function with plain positional parameters in place of starred ones."""
    code = fn.__code__
    starred = sum(1 for flag in (inspect.CO_VARARGS, inspect.CO_VARKEYWORDS) if code.co_flags & flag)
    plain = code.replace(co_argcount=code.co_argcount + code.co_kwonlyargcount + starred, co_kwonlyargcount=0,
                         co_posonlyargcount=0, co_flags=code.co_flags & ~(inspect.CO_VARARGS | inspect.CO_VARKEYWORDS))
    return FunctionType(plain, fn.__globals__, fn.__name__, None, fn.__closure__)


class _ParameterProxy(Proxy):
    """The proxy of a parameter with known sizes."""

    tensor: Tensor

    @classmethod
    def of(cls, tensor):
        return type("Proxy", (cls,), {"tensor": tensor, "shape": tensor.shape, "ndim": tensor.ndim})

    def size(self, dim=None):
        return self.tensor.size() if dim is None else self.tensor.size(dim)

    def dim(self):
        return self.tensor.ndim

    def numel(self):
        return self.tensor.numel()

    nelement = numel
