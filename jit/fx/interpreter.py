"""Interpreter: runs a graph node by node, with methods to override."""

from typing import Any

from ...ir.errors import ArgumentError
from ...runtime.nn import Module
from ...runtime.state.switches import question
from .graph import Graph, attribute_at
from .graph_module import GraphModule
from .node import Node, map_arg
from .proxy import Proxy, TracerBase

__all__ = ["Interpreter", "Transformer"]


# Traces ask these again at each call: graphs may be edited at any time.

@question
def graph_of(module: Module) -> Graph | None:
    """Return the graph of a module, if it has one."""
    return getattr(module, "graph", None)


@question
def steps_of(graph: Graph) -> dict[Node, tuple]:
    """Return {node: what it does} of a graph, in order."""
    return {node: (node.op, node.target, node.args, node.kwargs) for node in graph.nodes}


class Interpreter:
    """An interpreter of graphs; override `run_node`, or the method of a kind of node (`call_function(target, args, kwargs)`).

    garbage_collect_values   whether values are dropped after their last use
    graph                    a graph in place of the module's

    Each method gets `target`, `args` and `kwargs`, and those that its kind of node does not have are ignored: all methods are
    called alike.
    """

    def __init__(self, module: Module, garbage_collect_values: bool = True, graph: Graph | None = None):
        self.module = module
        self.submodules = dict(module.named_modules())
        found = graph if graph is not None else graph_of(module)
        if found is None:
            raise ArgumentError(f"an Interpreter runs a GraphModule, got {type(module).__name__}: see fx.symbolic_trace")
        self.graph: Graph = found
        self.env: dict[Node, Any] = {}
        self.garbage_collect_values = garbage_collect_values
        self.args_iter: Any = iter(())
        self.kwargs: dict[str, Any] = {}
        self.name, self.extra_traceback = "Interpreter", True
        last: dict[Node, Node] = {}
        for node in steps_of(self.graph):
            for used in node.all_input_nodes:
                last[used] = node
        self.user_to_last_uses: dict[Node, list[Node]] = {}
        for used, user in last.items():
            self.user_to_last_uses.setdefault(user, []).append(used)

    def run(self, *args, initial_env: dict[Node, Any] | None = None, enable_io_processing: bool = True) -> Any:
        """Run the graph on arguments; `initial_env` has values of nodes that do not run. `enable_io_processing` is ignored:
        graphs take the arguments as they are."""
        self.env = dict(initial_env or {})
        before, self.args_iter = self.args_iter, iter(args)
        try:
            return self._run_nodes()
        finally:
            self.args_iter = before     # (so that a trace has no iterator to make again)

    def _run_nodes(self) -> Any:
        for node in steps_of(self.graph):
            if node in self.env:
                continue
            try:
                value = self.env[node] = self.run_node(node)
            except Exception as error:
                if self.extra_traceback:
                    _add_node_to_error(error, node)
                raise
            for used in self.user_to_last_uses.get(node, ()) if self.garbage_collect_values else ():
                self.env.pop(used, None)
            if node.op == "output":
                return value
        return None

    def boxed_run(self, args_list: list) -> Any:
        """Run with the arguments of a list, which is cleared."""
        args = tuple(args_list)
        args_list.clear()
        return self.run(*args)

    def run_node(self, n: Node) -> Any:
        args, kwargs = self.fetch_args_kwargs_from_env(n)
        return getattr(self, n.op)(n.target, args, kwargs)

    def placeholder(self, target, args: tuple, kwargs: dict) -> Any:
        """Return the next argument, or its default."""
        if target.startswith("**"):
            return {}
        if target.startswith("*"):
            return tuple(self.args_iter)
        try:
            return next(self.args_iter)
        except StopIteration:
            if args:
                return args[0]
            raise ArgumentError(f"the argument {target!r} is missing") from None

    def get_attr(self, target, args: tuple, kwargs: dict) -> Any:
        """Return a tensor of the module."""
        return self.fetch_attr(target)

    def call_function(self, target, args: tuple, kwargs: dict) -> Any:
        return target(*args, **kwargs)

    def call_method(self, target, args: tuple, kwargs: dict) -> Any:
        """Return the result of a method of the first argument."""
        return getattr(args[0], target)(*args[1:], **kwargs)

    def call_module(self, target, args: tuple, kwargs: dict) -> Any:
        return self.fetch_attr(target)(*args, **kwargs)

    def output(self, target, args: tuple, kwargs: dict) -> Any:
        """Return the result of the graph."""
        return args[0]

    def fetch_attr(self, target: str) -> Any:
        """Return the module's attribute at a path."""
        return attribute_at(self.module, target)

    def fetch_args_kwargs_from_env(self, n: Node) -> tuple[tuple, dict]:
        """Return the arguments of a node, with values."""
        return self.map_nodes_to_values(n.args, n), self.map_nodes_to_values(n.kwargs, n)

    def map_nodes_to_values(self, args, n: Node) -> Any:
        """Replace the nodes in arguments by their values."""
        def value(used):
            if used not in self.env:
                raise ArgumentError(f"{n} uses {used}, which has no value: call graph.lint()")
            return self.env[used]

        return _plain(map_arg(args, value))


def _plain(a):
    if isinstance(a, tuple):
        return type(a)(*map(_plain, a)) if hasattr(a, "_fields") else type(a)(map(_plain, a))
    if isinstance(a, list):
        return [*map(_plain, a)]
    return {k: _plain(v) for k, v in a.items()} if isinstance(a, dict) else a


def _add_node_to_error(error: Exception, node: Node):
    """Add the running node to the message of an error, once."""
    if not any("While executing" in note for note in getattr(error, "__notes__", ())):
        line = f"\nOriginal line: {node.stack_trace}" if node.stack_trace else ""
        error.add_note(f"While executing {node.format_node()}{line}")


class _Rewriting(TracerBase):
    def __init__(self, graph: Graph):
        self.graph = graph


class Transformer(Interpreter):
    """An interpreter that builds a new graph: nodes run on proxies, so overridden methods add nodes."""

    def __init__(self, module: GraphModule):
        super().__init__(module)
        self.new_graph = Graph(tracer_cls=module.graph._tracer_cls)
        self.tracer = _Rewriting(self.new_graph)

    def placeholder(self, target, args: tuple, kwargs: dict) -> Proxy:
        return self.tracer.create_proxy("placeholder", target, args, {})

    def get_attr(self, target, args: tuple, kwargs: dict) -> Proxy:
        return self.tracer.create_proxy("get_attr", target, args, kwargs)

    def call_module(self, target, args: tuple, kwargs: dict) -> Any:
        return self.tracer.create_proxy("call_module", target, args, kwargs)

    def call_function(self, target, args: tuple, kwargs: dict) -> Any:
        return self.tracer.create_proxy("call_function", target, args, kwargs)

    def call_method(self, target, args: tuple, kwargs: dict) -> Any:
        return self.tracer.create_proxy("call_method", target, args, kwargs)

    def run_node(self, n: Node) -> Any:
        """Run one node and copy its metadata."""
        made = super().run_node(n)
        if isinstance(made, Proxy):
            made.node.meta = {**n.meta, **{k: v for k, v in made.node.meta.items() if k not in n.meta}}
            made.node.type = n.type if made.node.type is None else made.node.type
        return made

    def transform(self) -> GraphModule:
        """Return a module with the new graph."""
        result = self.run(enable_io_processing=False)
        if result is not None:
            self.new_graph.output(self.tracer.create_arg(result))
        return GraphModule(self.module, self.new_graph, type(self.module).__name__)
