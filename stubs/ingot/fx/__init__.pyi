"""`ingot.fx`: programs as graphs that Python code reads and changes."""

# Made by `make stubs` from the live package; not edited by hand.

import builtins as _b
import collections.abc as _c
import typing as _t
from ingot import IngotError as _IngotError
from ingot import Tensor as _Tensor
from ingot.fx import experimental as experimental
from ingot.fx import graph as graph
from ingot.fx import graph_module as graph_module
from ingot.fx import immutable_collections as immutable_collections
from ingot.fx import interpreter as interpreter
from ingot.fx import node as node
from ingot.fx import passes as passes
from ingot.fx import proxy as proxy
from ingot.fx import subgraph_rewriter as subgraph_rewriter
from ingot.fx.proxy import TracerBase as _TracerBase
from ingot.fx.subgraph_rewriter import Match as _Match
from ingot.nn import Module as _Module

PH: _b.str

class Graph:
    """A list of nodes with an insertion point. graph = fx.Graph() x = graph.placeholder("x")
    graph.output(graph.call_function(ingot.relu, (x,))) net = fx.GraphModule(nn.Module(), graph)"""
    owning_module: _t.Any
    def __init__(self, owning_module: _t.Any = None, tracer_cls: _t.Any = None, tracer_extras: _t.Any = None) -> None: ...
    def call_function(self, the_function: _t.Any, args: _t.Any = None, kwargs: _t.Any = None,
                      type_expr: _t.Any = None, name: _t.Any = None) -> Node: ...
    def call_method(self, method_name: _b.str, args: _t.Any = None, kwargs: _t.Any = None, type_expr: _t.Any = None) -> Node:
        """Add a call of a method of the first argument."""
    def call_module(self, module_name: _b.str, args: _t.Any = None, kwargs: _t.Any = None, type_expr: _t.Any = None) -> Node:
        """Add a call of a module, by path."""
    def create_node(self, op: _b.str, target: _t.Any, args: _t.Any = None, kwargs: _t.Any = None,
                    name: _b.str | None = None, type_expr: _t.Any = None) -> Node:
        """Add a node at the insertion point (the end, or that of `inserting_before` and `inserting_after`)."""
    def eliminate_dead_code(self, is_impure_node: _t.Any = None) -> _b.bool:
        """Remove unused nodes without side effects; return whether there were any."""
    def erase_node(self, to_erase: Node) -> None:
        """Remove a node without users."""
    def find_nodes(self, *, op: _b.str, target: _t.Any = None, sort: _b.bool = True) -> _b.list[Node]:
        """Return the nodes of a kind, and with a target if given. `sort` is ignored: they are in the order of the graph."""
    def get_attr(self, qualified_name: _b.str, type_expr: _t.Any = None) -> Node:
        """Add a read of a tensor of the module, by path."""
    def graph_copy(self, g: Graph, val_map: _b.dict[Node, Node], return_output_node: _b.bool = False) -> _t.Any:
        """Copy another graph and return its output's argument. `val_map` gets the copies; it may map its placeholders."""
    def inserting_after(self, n: Node | None = None) -> _InsertionPoint:
        """Insert new nodes after a node (default the last), in order, from now on or in a `with` block."""
    def inserting_before(self, n: Node | None = None) -> _InsertionPoint:
        """Insert new nodes before a node (default the first), from now on or in a `with` block."""
    def lint(self) -> None:
        """Raise for duplicate names, nodes used before they run, and targets that the module lacks."""
    def node_copy(self, node: Node, arg_transform: _t.Any = ...) -> Node:
        """Copy a node of any graph, with `arg_transform` applied to the nodes in its arguments."""
    @_b.property
    def nodes(self) -> _Nodes: ...
    def output(self, result: _t.Any, type_expr: _t.Any = None) -> Node: ...
    def output_node(self) -> Node: ...
    def placeholder(self, name: _b.str, type_expr: _t.Any = None, default_value: _t.Any = ...) -> Node:
        """Add an argument, which is required without `default_value`."""
    def print_tabular(self) -> None:
        """Print a table of the nodes."""
    def process_inputs(self, *args: _t.Any) -> _t.Any:
        """Convert arguments for the placeholders."""
    def process_outputs(self, out: _Tensor | _c.Sequence[_Tensor]) -> _t.Any:
        """Convert the result for the caller."""
    def python_code(self, root_module: _b.str = 'self', **options: _t.Any) -> PythonCode:
        """Return the graph as a Python function, with the objects that the code names. It has no comments on shapes and no
        colours, so `options` that ask for them are refused."""

class GraphModule(_Module):
    """A graph as a module."""
    meta: _b.dict[_b.str, _t.Any]
    training: _t.Any
    def __init__(self, root: _Module | _b.dict[_b.str, _t.Any], graph: Graph, class_name: _b.str = 'GraphModule') -> None: ...
    def add_submodule(self, target: _b.str, m: _Module) -> _b.bool:
        """Add a module at a path, with modules on the way; return whether that was possible."""
    @_b.property
    def code(self) -> _b.str:
        """Return the Python code of `forward`."""
    def delete_all_unused_submodules(self) -> None:
        """Remove modules that the graph neither calls nor reads, unless they contain or belong to used ones."""
    def delete_submodule(self, target: _b.str) -> _b.bool:
        """Remove the module at a path; return whether there was one."""
    @_b.property
    def graph(self) -> Graph: ...
    @graph.setter
    def graph(self, value: _t.Any) -> None: ...
    def print_readable(self, print_output: _b.bool = True, include_stride: _b.bool = False,
                       include_device: _b.bool = False, colored: _b.bool = False) -> _b.str:
        """Return the code as a class, with those of submodules; print it by default. `include_stride`, `include_device` and
        `colored` are ignored: nodes have neither layouts nor colours."""
    def recompile(self) -> PythonCode:
        """Generate `forward` again after a change of the graph."""
    def to_folder(self, folder: _t.Any, module_name: _b.str = 'FxModule') -> _t.Any:
        """Raise: ingot writes no code to files that run later."""

class Interpreter:
    """An interpreter of graphs; override `run_node`, or the method of a kind of node (`call_function(target, args,
    kwargs)`)."""
    args_iter: _t.Any
    env: _b.dict[_t.Any, _t.Any]
    extra_traceback: _b.bool
    garbage_collect_values: _b.bool
    graph: _t.Any
    kwargs: _b.dict[_t.Any, _t.Any]
    module: _Module
    name: _b.str
    submodules: _b.dict[_t.Any, _t.Any]
    user_to_last_uses: _b.dict[_t.Any, _t.Any]
    def __init__(self, module: _Module, garbage_collect_values: _b.bool = True, graph: Graph | None = None) -> None: ...
    def boxed_run(self, args_list: _b.list[_t.Any]) -> _t.Any:
        """Run with the arguments of a list, which is cleared."""
    def call_function(self, target: _t.Any, args: _b.tuple[_t.Any, ...], kwargs: _b.dict[_t.Any, _t.Any]) -> _t.Any: ...
    def call_method(self, target: _t.Any, args: _b.tuple[_t.Any, ...], kwargs: _b.dict[_t.Any, _t.Any]) -> _t.Any:
        """Return the result of a method of the first argument."""
    def call_module(self, target: _t.Any, args: _b.tuple[_t.Any, ...], kwargs: _b.dict[_t.Any, _t.Any]) -> _t.Any: ...
    def fetch_args_kwargs_from_env(self, n: Node) -> _b.tuple[_b.tuple[_t.Any, ...], _b.dict[_t.Any, _t.Any]]:
        """Return the arguments of a node, with values."""
    def fetch_attr(self, target: _b.str) -> _t.Any:
        """Return the module's attribute at a path."""
    def get_attr(self, target: _t.Any, args: _b.tuple[_t.Any, ...], kwargs: _b.dict[_t.Any, _t.Any]) -> _t.Any:
        """Return a tensor of the module."""
    def map_nodes_to_values(self, args: _t.Any, n: Node) -> _t.Any:
        """Replace the nodes in arguments by their values."""
    def output(self, target: _t.Any, args: _b.tuple[_t.Any, ...], kwargs: _b.dict[_t.Any, _t.Any]) -> _t.Any:
        """Return the result of the graph."""
    def placeholder(self, target: _t.Any, args: _b.tuple[_t.Any, ...], kwargs: _b.dict[_t.Any, _t.Any]) -> _t.Any:
        """Return the next argument, or its default."""
    def run(self, *args: _t.Any, initial_env: _b.dict[Node, _t.Any] | None = None,
            enable_io_processing: _b.bool = True) -> _t.Any:
        """Run the graph on arguments; `initial_env` has values of nodes that do not run. `enable_io_processing` is ignored:
        graphs take the arguments as they are."""
    def run_node(self, n: Node) -> _t.Any: ...

class Node:
    """One step of a `Graph`."""
    graph: _t.Any
    meta: _b.dict[_t.Any, _t.Any]
    name: _t.Any
    op: _t.Any
    target: _t.Any
    type: _t.Any
    users: _b.dict[_t.Any, _t.Any]
    def __init__(self, graph: _t.Any, name: _t.Any, op: _t.Any, target: _t.Any, args: _t.Any, kwargs: _t.Any,
                 return_type: _t.Any = None) -> None: ...
    @_b.property
    def all_input_nodes(self) -> _b.list[Node]:
        """Return the nodes among the arguments, each once."""
    def append(self, x: Node) -> None:
        """Move a node of the same graph after this one."""
    @_b.property
    def args(self) -> _b.tuple[_t.Any, ...]:
        """Return the positional arguments."""
    @args.setter
    def args(self, value: _t.Any) -> None: ...
    def format_node(self) -> _b.str:
        """Return the node as a line of a listing."""
    def insert_arg(self, idx: _b.int, arg: _t.Any) -> None:
        """Insert an argument before a position."""
    def is_impure(self, impure_random: _b.bool = True) -> _b.bool:
        """Return whether a node has side effects: arguments, the output, in-place writes, random numbers (if `impure_random`),
        and functions marked by `has_side_effect`."""
    @_b.property
    def kwargs(self) -> _b.dict[_b.str, _t.Any]:
        """Return the keyword arguments."""
    @kwargs.setter
    def kwargs(self, value: _t.Any) -> None: ...
    @_b.property
    def next(self) -> Node: ...
    def prepend(self, x: Node) -> None:
        """Move a node of the same graph before this one."""
    @_b.property
    def prev(self) -> Node: ...
    def replace_all_uses_with(self, replace_with: Node, delete_user_cb: _c.Callable[..., _t.Any] = ..., *,
                              propagate_meta: _b.bool = False) -> _b.list[Node]:
        """Replace this node in its users (for which `delete_user_cb` is true) by another one; return them."""
    def replace_input_with(self, old_input: Node, new_input: Node) -> None:
        """Replace one node among the arguments by another."""
    @_b.property
    def stack_trace(self) -> _b.str | None:
        """Return the user's line of this node."""
    @stack_trace.setter
    def stack_trace(self, value: _t.Any) -> None: ...
    def update_arg(self, idx: _b.int, arg: _t.Any) -> None:
        """Replace a positional argument."""
    def update_kwarg(self, key: _b.str, arg: _t.Any) -> None:
        """Replace a keyword argument."""

class Proxy:
    """The stand-in of a node's result. Operators, methods, attributes and functions of tensors return further proxies."""
    node: Node
    tracer: _t.Any
    def __abs__(self, *others: _t.Any) -> _t.Any: ...
    def __add__(self, *others: _t.Any) -> _t.Any: ...
    def __and__(self, *others: _t.Any) -> _t.Any: ...
    def __array__(self, *args: _t.Any, **kwargs: _t.Any) -> _t.Any: ...
    __array_ufunc__: _t.Any
    def __bool__(self) -> _b.bool: ...
    def __call__(self, *args: _t.Any, **kwargs: _t.Any) -> _t.Any: ...
    def __complex__(self, *args: _t.Any, **kwargs: _t.Any) -> _b.complex: ...
    def __contains__(self, *args: _t.Any, **kwargs: _t.Any) -> _b.bool: ...
    def __eq__(self, *others: _t.Any) -> _t.Any: ...
    def __float__(self, *args: _t.Any, **kwargs: _t.Any) -> _b.float: ...
    def __floordiv__(self, *others: _t.Any) -> _t.Any: ...
    def __ge__(self, *others: _t.Any) -> _t.Any: ...
    def __getattr__(self, name: _b.str) -> _t.Any: ...
    def __getitem__(self, *others: _t.Any) -> _t.Any: ...
    def __gt__(self, *others: _t.Any) -> _t.Any: ...
    __hash__: _t.Any
    def __iadd__(self, *others: _t.Any) -> _t.Any: ...
    def __iand__(self, *others: _t.Any) -> _t.Any: ...
    def __ifloordiv__(self, *others: _t.Any) -> _t.Any: ...
    def __ilshift__(self, *others: _t.Any) -> _t.Any: ...
    def __imatmul__(self, *others: _t.Any) -> _t.Any: ...
    def __imod__(self, *others: _t.Any) -> _t.Any: ...
    def __imul__(self, *others: _t.Any) -> _t.Any: ...
    def __index__(self, *args: _t.Any, **kwargs: _t.Any) -> _b.int: ...
    def __init__(self, node: Node, tracer: _TracerBase | None = None) -> None: ...
    def __int__(self, *args: _t.Any, **kwargs: _t.Any) -> _b.int: ...
    def __invert__(self, *others: _t.Any) -> _t.Any: ...
    def __ior__(self, *others: _t.Any) -> _t.Any: ...
    def __ipow__(self, *others: _t.Any) -> _t.Any: ...
    def __irshift__(self, *others: _t.Any) -> _t.Any: ...
    def __isub__(self, *others: _t.Any) -> _t.Any: ...
    def __iter__(self) -> _c.Iterator[_t.Any]: ...
    def __itruediv__(self, *others: _t.Any) -> _t.Any: ...
    def __ixor__(self, *others: _t.Any) -> _t.Any: ...
    def __le__(self, *others: _t.Any) -> _t.Any: ...
    def __len__(self, *args: _t.Any, **kwargs: _t.Any) -> _b.int: ...
    def __lshift__(self, *others: _t.Any) -> _t.Any: ...
    def __lt__(self, *others: _t.Any) -> _t.Any: ...
    def __matmul__(self, *others: _t.Any) -> _t.Any: ...
    def __mod__(self, *others: _t.Any) -> _t.Any: ...
    def __mul__(self, *others: _t.Any) -> _t.Any: ...
    def __ne__(self, *others: _t.Any) -> _t.Any: ...
    def __neg__(self, *others: _t.Any) -> _t.Any: ...
    def __or__(self, *others: _t.Any) -> _t.Any: ...
    def __pos__(self, *others: _t.Any) -> _t.Any: ...
    def __pow__(self, *others: _t.Any) -> _t.Any: ...
    def __radd__(self, *others: _t.Any) -> _t.Any: ...
    def __rand__(self, *others: _t.Any) -> _t.Any: ...
    def __rfloordiv__(self, *others: _t.Any) -> _t.Any: ...
    def __rlshift__(self, *others: _t.Any) -> _t.Any: ...
    def __rmatmul__(self, *others: _t.Any) -> _t.Any: ...
    def __rmod__(self, *others: _t.Any) -> _t.Any: ...
    def __rmul__(self, *others: _t.Any) -> _t.Any: ...
    def __ror__(self, *others: _t.Any) -> _t.Any: ...
    def __rpow__(self, *others: _t.Any) -> _t.Any: ...
    def __rrshift__(self, *others: _t.Any) -> _t.Any: ...
    def __rshift__(self, *others: _t.Any) -> _t.Any: ...
    def __rsub__(self, *others: _t.Any) -> _t.Any: ...
    def __rtruediv__(self, *others: _t.Any) -> _t.Any: ...
    def __rxor__(self, *others: _t.Any) -> _t.Any: ...
    def __setitem__(self, key: _t.Any, value: _t.Any) -> None: ...
    def __sub__(self, *others: _t.Any) -> _t.Any: ...
    def __truediv__(self, *others: _t.Any) -> _t.Any: ...
    def __xor__(self, *others: _t.Any) -> _t.Any: ...
    def keys(self) -> _t.Any:
        """Return the keys of a dictionary value."""

class ProxyableClassMeta(_b.type):
    """Metaclass of classes whose construction with a proxy is a node."""
    def __call__(self, *args: _t.Any, **kwargs: _t.Any) -> _t.Any: ...

class PythonCode(_t.NamedTuple):
    """The source of a function, and its global names."""
    src: _b.str
    globals: _b.dict[_b.str, _t.Any]

class TraceError(_IngotError, _b.ValueError):
    """A program reads a value that is known only at run time."""

class Tracer(_TracerBase):
    """The tracer of programs. Override `is_leaf_module` to choose modules that are not traced into."""
    graph: Graph
    module_stack: _t.Any
    param_shapes_constant: _b.bool
    root: _t.Any
    submodule_paths: _b.dict[_t.Any, _t.Any]
    tensor_attrs: _b.dict[_t.Any, _t.Any]
    def __init__(self, autowrap_modules: _t.Any = ..., autowrap_functions: _t.Any = (),
                 param_shapes_constant: _b.bool = False) -> None: ...
    def call_module(self, m: _Module, forward: _c.Callable[..., _t.Any], args: _b.tuple[_t.Any, ...],
                    kwargs: _b.dict[_t.Any, _t.Any]) -> _t.Any:
        """Call a module during a trace."""
    def check_writable(self, a: _t.Any) -> None:
        """Raise if a traced value would be written into a tensor made from constants."""
    def create_arg(self, a: _t.Any) -> _t.Any:
        """Return an argument with nodes; tensors made by the program become attributes of the root."""
    def create_args_for_root(self, root_fn: _c.Callable[..., _t.Any], is_module: _b.bool,
                             concrete_args: _t.Any = None) -> _b.tuple[_c.Callable[..., _t.Any], _b.list[_t.Any]]:
        """Return the program with named parameters, and its positional arguments with a placeholder each."""
    def create_node(self, kind: _b.str, target: _t.Any, args: _t.Any, kwargs: _t.Any, name: _b.str | None = None,
                    type_expr: _t.Any = None) -> Node:
        """Add a node to the graph, with the running modules ("nn_module_stack")."""
    def get_fresh_qualname(self, prefix: _b.str) -> _b.str:
        """Return a name that the root does not use."""
    def getattr(self, attr: _b.str, attr_val: _t.Any, parameter_proxy_cache: _b.dict[_t.Any, _t.Any]) -> _t.Any:
        """Return an attribute of a module during a trace: parameters and buffers are proxies. `attr` is ignored: only overrides
        look at it."""
    def is_leaf_module(self, m: _Module, module_qualified_name: _b.str) -> _b.bool:
        """Return whether a call of a module is one node: true for ingot's own layers except Sequential. `module_qualified_name`
        is ignored: only overrides look at it."""
    def path_of_module(self, mod: _Module) -> _b.str: ...
    def trace(self, root: _Module | _c.Callable[..., _t.Any], concrete_args: _b.dict[_b.str, _t.Any] | None = None) -> Graph:
        """Return the graph of a module or function. `concrete_args` fixes the values of arguments."""
    traced_func_name: _b.str

class Transformer(Interpreter):
    """An interpreter that builds a new graph: nodes run on proxies, so overridden methods add nodes."""
    new_graph: Graph
    tracer: _t.Any
    def __init__(self, module: GraphModule) -> None: ...
    def call_function(self, target: _t.Any, args: _b.tuple[_t.Any, ...], kwargs: _b.dict[_t.Any, _t.Any]) -> _t.Any: ...
    def call_method(self, target: _t.Any, args: _b.tuple[_t.Any, ...], kwargs: _b.dict[_t.Any, _t.Any]) -> _t.Any: ...
    def call_module(self, target: _t.Any, args: _b.tuple[_t.Any, ...], kwargs: _b.dict[_t.Any, _t.Any]) -> _t.Any: ...
    def get_attr(self, target: _t.Any, args: _b.tuple[_t.Any, ...], kwargs: _b.dict[_t.Any, _t.Any]) -> Proxy: ...
    def placeholder(self, target: _t.Any, args: _b.tuple[_t.Any, ...], kwargs: _b.dict[_t.Any, _t.Any]) -> Proxy: ...
    def run_node(self, n: Node) -> _t.Any:
        """Run one node and copy its metadata."""
    def transform(self) -> GraphModule:
        """Return a module with the new graph."""

def has_side_effect(fn: _c.Callable[..., _t.Any]) -> _c.Callable[..., _t.Any]:
    """Mark a function whose calls must stay without users; also a decorator."""
def map_aggregate(a: _t.Any, fn: _t.Any) -> _t.Any:
    """Apply `fn` to all leaves of nested tuples, lists, dictionaries and slices."""
def map_arg(a: _t.Any, fn: _t.Any) -> _t.Any:
    """Apply `fn` to the nodes in an argument."""
def replace_pattern(gm: GraphModule, pattern: _c.Callable[..., _t.Any] | GraphModule,
                    replacement: _c.Callable[..., _t.Any] | GraphModule) -> _b.list[_Match]:
    """Replace every match of `pattern` by `replacement` (functions of the same arguments), and recompile the module.
    Arguments of a pattern match anything; inner values of a match have no other users."""
def symbolic_trace(root: _Module | _c.Callable[..., _t.Any],
                   concrete_args: _b.dict[_b.str, _t.Any] | None = None) -> GraphModule:
    """Return a module with the graph of a module or function. `concrete_args` fixes the values of arguments."""
def wrap(fn_or_name: _t.Any) -> _t.Any:
    """Record calls of a function as nodes, without tracing into it: a decorator, or the name of a module's global
    (`fx.wrap("len")`)."""

class _InsertionPoint:
    """The insertion point of a graph: before a node, until a `with` block ends."""
    before: _t.Any
    graph: _t.Any
    def __enter__(self) -> _t.Self: ...
    def __exit__(self, *raised: _t.Any) -> None: ...
    def __init__(self, graph: _t.Any, node: _t.Any) -> None: ...

class _Nodes:
    """The nodes of a graph, in order; reversed() starts at the end. Nodes may be erased during iteration."""
    backwards: _b.bool
    graph: _t.Any
    def __init__(self, graph: _t.Any, backwards: _b.bool = False) -> None: ...
    def __iter__(self) -> _c.Iterator[Node]: ...
    def __len__(self) -> _b.int: ...
    def __reversed__(self) -> _Nodes: ...
