"""GraphModule: a graph with its modules and tensors, as a module with generated `forward`."""

import copy
import itertools
import linecache
import weakref
from typing import Any

from ...ir.errors import ArgumentError
from ...runtime.core.tensor import Tensor
from ...runtime.nn import Module, Parameter
from ...runtime.state.structure import Structure
from .codegen import PythonCode
from .graph import Graph
from .node import FACE, map_aggregate, map_arg

__all__ = ["GraphModule"]

_USER_PRESERVED_ATTRIBUTES_KEY = "_user_preserved_attributes"       # key in `meta`: attributes that copies keep
_counter = itertools.count()


class _CodeOnlyModule(Module):
    """A module with the attributes of another one."""

    def __init__(self, body):
        super().__init__()
        self.__dict__.update(body)


class _Ref:
    """A node in the arguments of another one, in a file."""

    def __init__(self, name: str):
        self.name = name


def _copy_attr(from_module: Module, to_module: Module, target: str) -> None:
    *path, name = target.split(".")
    for part in path:
        inner = getattr(from_module, part)
        if inner is getattr(to_module, part, None):
            return                                  # with all that is below it
        if not hasattr(to_module, part):
            setattr(to_module, part, Module())
        from_module, to_module = inner, getattr(to_module, part)
    _assign(getattr(from_module, name), to_module, name)


def _assign(value, module: Module, name: str) -> None:
    if isinstance(value, Tensor) and not isinstance(value, Parameter):
        if name in module._buffers:
            module._buffers[name] = value
        else:
            module.register_buffer(name, value)
    else:
        setattr(module, name, value)


def _assign_at(value, module: Module, target: str) -> None:
    *path, name = target.split(".")
    for part in path:
        if not hasattr(module, part):
            setattr(module, part, Module())
        module = getattr(module, part)
    _assign(value, module, name)


class GraphModule(Module):
    """A graph as a module.

    root    the module with the targets of the graph, or a dictionary of them by path
    graph   the program; after a change assign `graph`, or call `recompile()`

    `forward` is Python code (`code`), so a GraphModule is an ordinary module: with state, gradients, hooks, in `@jit.trace`.
    """

    meta: dict[str, Any]

    def __new__(cls, *args, **kwargs):
        """Make a class for each instance, which has its own `forward`."""
        base = next(c for c in cls.__mro__ if "_is_instance_class" not in vars(c))
        return super().__new__(type(base.__name__, (base,), {"_is_instance_class": True, "__module__": base.__module__}))

    def __init__(self, root: Module | dict[str, Any], graph: Graph, class_name: str = "GraphModule"):
        super().__init__()
        type(self).__name__ = class_name
        named = dict.fromkeys([n.target for n in graph.nodes if n.op in ("get_attr", "call_module")])
        targets = sorted(named, key=lambda target: target.count("."))
        if isinstance(root, Module):
            self.training = root.training
            for target in targets:
                _copy_attr(root, self, target)
        elif isinstance(root, dict):
            for target in targets:
                if target not in root:
                    raise ArgumentError(f"the graph names {target!r}, which the dictionary does not have")
                _assign_at(root[target], self, target)
        else:
            raise ArgumentError(f"GraphModule takes a module or a dictionary as root, got {type(root).__name__}")
        self.meta = dict(root.meta) if isinstance(root, GraphModule) and root is not self else {}
        self.graph = graph

    @property
    def graph(self) -> Graph:
        return self._graph

    @graph.setter
    def graph(self, graph: Graph):
        if not isinstance(graph, Graph):
            raise ArgumentError(f"graph is a fx.Graph, got {type(graph).__name__}")
        self.__dict__["_graph"] = graph
        graph.owning_module = self
        self.recompile()

    @property
    def code(self) -> str:
        """Return the Python code of `forward`."""
        return self._code

    def recompile(self) -> PythonCode:
        """Generate `forward` again after a change of the graph."""
        made = self.graph.python_code("self")
        file = f"<ingot.fx {next(_counter)}>"
        names = dict(made.globals)
        exec(compile(made.src, file, "exec"), names)
        linecache.cache[file] = (len(made.src), None, made.src.splitlines(True), file)      # for tracebacks
        weakref.finalize(self, linecache.cache.pop, file, None)
        self.__dict__["_code"] = made.src
        forward = names.pop("forward")
        forward.__qualname__ = f"{type(self).__name__}.forward"
        type(self).forward = forward                # type: ignore[method-assign]
        Structure.version += 1
        return made

    # Submodules.

    def add_submodule(self, target: str, m: Module) -> bool:
        """Add a module at a path, with modules on the way; return whether that was possible."""
        *path, name = target.split(".")
        module: Module = self
        for part in path:
            if not hasattr(module, part):
                setattr(module, part, Module())
            module = getattr(module, part)
            if not isinstance(module, Module):
                return False
        module.add_module(name, m)
        return True

    def delete_submodule(self, target: str) -> bool:
        """Remove the module at a path; return whether there was one."""
        *path, name = target.split(".")
        module: Module | None = self
        for part in path:
            module = module._modules.get(part) if module is not None else None      # type: ignore[assignment]
        if module is None or name not in module._modules:
            return False
        delattr(module, name)
        return True

    def delete_all_unused_submodules(self) -> None:
        """Remove modules that the graph neither calls nor reads, unless they contain or belong to used ones."""
        used: set[str] = {""}
        for node in self.graph.nodes:
            if node.op in ("call_module", "get_attr"):
                parts = node.target.split(".")
                used.update([".".join(parts[:i + 1]) for i in range(len(parts))])
                if node.op == "call_module":
                    below = self.get_submodule(node.target)
                    used.update([f"{node.target}.{name}" for name, _ in below.named_modules() if name])
        for name in [name for name, _ in self.named_modules() if name not in used]:
            self.delete_submodule(name)

    # Text, copies, files.

    def print_readable(self, print_output: bool = True, include_stride: bool = False, include_device: bool = False,
                       colored: bool = False) -> str:
        """Return the code as a class, with those of submodules; print it by default. `include_stride`, `include_device` and
        `colored` are ignored: nodes have neither layouts nor colours."""
        parts = [_as_class(type(self).__name__, self._code)]
        parts += [_as_class(name, child._code) for name, child in self.named_children() if isinstance(child, GraphModule)]
        text = "\n".join(parts)
        if print_output:
            print(text)
        return text

    def to_folder(self, folder, module_name: str = "FxModule"):
        """Raise: ingot writes no code to files that run later."""
        raise ArgumentError("a GraphModule is kept by pickle, its weights by ingot.save(m.state_dict(), path), and what it "
                            "computes by jit.export")

    def __str__(self):
        return f"{super().__repr__()}\n\n{self._code}\n# more: print_readable(), print(m.graph)"

    def __copy__(self):
        made = GraphModule.__new__(type(self))
        GraphModule.__init__(made, self, copy.deepcopy(self.graph), type(self).__name__)
        made.meta = dict(self.meta)
        return made

    def __deepcopy__(self, memo):
        made = GraphModule.__new__(type(self))
        memo[id(self)] = made
        state = copy.deepcopy({k: v for k, v in self.__dict__.items() if k != "_graph"}, memo)
        return _restored(made, state, copy.deepcopy(self.graph, memo), type(self).__name__)

    def __reduce__(self):
        base = next(c for c in type(self).__mro__ if "_is_instance_class" not in vars(c))
        state = {k: v for k, v in self.__dict__.items() if k not in ("_graph", "_code")}
        return rebuild_graph_module, (base, state, _as_data(self.graph), type(self).__name__)

    __reduce_ex__ = lambda self, protocol: self.__reduce__()

    def __setstate__(self, state):
        self.__dict__.update(state)


def _restored(module, state, graph, name):
    module.__dict__.update(state)
    type(module).__name__ = name
    module.graph = graph
    return module


def _as_data(graph: Graph) -> list[tuple]:
    """Return a graph as plain data without code, a row per node."""
    def refer(a):
        return map_arg(a, lambda n: _Ref(n.name))

    return [(n.op, n.name, n.target, refer(n.args), refer(n.kwargs), n.type, n.stack_trace) for n in graph.nodes]


def rebuild_graph_module(base, state, rows, name):
    """Rebuild a pickled module."""
    graph, nodes = Graph(), {}          # type: ignore[var-annotated]

    def find(a):
        return nodes[a.name] if isinstance(a, _Ref) else a

    for op, own, target, args, kwargs, kind, line in rows:
        args, kwargs = map_aggregate(args, find), map_aggregate(kwargs, find)
        nodes[own] = graph.create_node(op, target, args, kwargs, own, kind)
        if line is not None:
            nodes[own].stack_trace = line
    made = base.__new__(base)
    Module.__init__(made)
    Module.__setstate__(made, state)
    return _restored(made, {}, graph, name)


def _as_class(name: str, code: str) -> str:
    body = "\n".join([f"    {line}" if line else line for line in code.splitlines()])
    return f"class {name}({FACE}.nn.Module):\n{body}\n"
