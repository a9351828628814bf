"""Graphs of fx: nodes in the order in which they run."""

import builtins
import copy
import keyword
import re
from collections.abc import Iterator
from typing import Any

from ...ir.errors import ArgumentError, IngotError
from .codegen import PythonCode, python_code
from .node import OPS, Node, map_arg, name_of

__all__ = ["Graph", "PythonCode"]


class _Names:
    """The names in use."""

    def __init__(self):
        self.taken: set[str] = set()
        self.counts: dict[str, int] = {}

    def take(self, wish: str) -> str:
        name = re.sub(r"\W", "_", wish) or "_unnamed"
        name = f"_{name}" if name[0].isdigit() else name
        base, number = name, None
        ending = re.match(r"(.*)_(\d+)$", name)
        if ending is not None:
            base, number = ending[1], int(ending[2])
        tried = name
        while tried in self.taken or keyword.iskeyword(tried) or hasattr(builtins, tried) or tried in ("self", "ingot"):
            number = max(self.counts.get(base, 0), number or 0) + 1
            self.counts[base] = number
            tried = f"{base}_{number}"
        self.taken.add(tried)
        return tried


class _Nodes:
    """The nodes of a graph, in order; reversed() starts at the end. Nodes may be erased during iteration."""

    def __init__(self, graph, backwards=False):
        self.graph, self.backwards = graph, backwards

    def __len__(self):
        return self.graph._count

    def __iter__(self) -> Iterator[Node]:
        root = self.graph._root
        node = root._prev if self.backwards else root._next
        while node is not root:
            if not node._erased:
                yield node
            node = node._prev if self.backwards else node._next

    def __reversed__(self):
        return _Nodes(self.graph, not self.backwards)


class _InsertionPoint:
    """The insertion point of a graph: before a node, until a `with` block ends."""

    def __init__(self, graph, node):
        if node.graph is not graph:
            raise ArgumentError(f"{node} is a node of another graph")
        self.graph, self.before = graph, graph._before
        graph._before = node

    def __enter__(self):
        return self

    def __exit__(self, *raised):
        self.graph._before = self.before


class Graph:
    """A list of nodes with an insertion point. graph = fx.Graph() x = graph.placeholder("x")
    graph.output(graph.call_function(ingot.relu, (x,))) net = fx.GraphModule(nn.Module(), graph)"""

    def __init__(self, owning_module=None, tracer_cls=None, tracer_extras=None):
        self._root = Node(self, "", "root", "", (), {})
        self._count = 0
        self._names = _Names()
        self._before: Node = self._root         # the insertion point is before it
        self.owning_module, self._tracer_cls, self._tracer_extras = owning_module, tracer_cls, tracer_extras

    @property
    def nodes(self) -> _Nodes:
        return _Nodes(self)

    # New nodes.

    def create_node(self, op: str, target, args=None, kwargs=None, name: str | None = None, type_expr=None) -> Node:
        """Add a node at the insertion point (the end, or that of `inserting_before` and `inserting_after`)."""
        if op not in OPS:
            raise ArgumentError(f"{op!r} is no kind of node: {', '.join(OPS)}")
        args, kwargs = () if args is None else args, {} if kwargs is None else kwargs
        strangers = []
        map_arg((tuple(args), dict(kwargs)), lambda n: strangers.append(n) if n.graph is not self else None)
        if strangers:
            raise ArgumentError(f"{strangers[0]} is a node of another graph; copy it with graph.node_copy")
        node = Node(self, self._names.take(name or _default_name(op, target)), op, target, args, kwargs, type_expr)
        self._before.prepend(node)
        self._count += 1
        return node

    def placeholder(self, name: str, type_expr=None, default_value: Any = ...) -> Node:
        """Add an argument, which is required without `default_value`."""
        return self.create_node("placeholder", name, () if default_value is ... else (default_value,), type_expr=type_expr)

    def get_attr(self, qualified_name: str, type_expr=None) -> Node:
        """Add a read of a tensor of the module, by path."""
        return self.create_node("get_attr", qualified_name, type_expr=type_expr)

    def call_module(self, module_name: str, args=None, kwargs=None, type_expr=None) -> Node:
        """Add a call of a module, by path."""
        return self.create_node("call_module", module_name, args, kwargs, type_expr=type_expr)

    def call_method(self, method_name: str, args=None, kwargs=None, type_expr=None) -> Node:
        """Add a call of a method of the first argument."""
        return self.create_node("call_method", method_name, args, kwargs, type_expr=type_expr)

    def call_function(self, the_function, args=None, kwargs=None, type_expr=None, name=None) -> Node:
        return self.create_node("call_function", the_function, args, kwargs, name, type_expr)

    def output(self, result, type_expr=None) -> Node:
        return self.create_node("output", "output", (result,), type_expr=type_expr)

    def node_copy(self, node: Node, arg_transform=lambda x: x) -> Node:
        """Copy a node of any graph, with `arg_transform` applied to the nodes in its arguments."""
        args, kwargs = map_arg(node.args, arg_transform), map_arg(node.kwargs, arg_transform)
        made = self.create_node(node.op, node.target, args, kwargs, node.name, node.type)
        made.meta = copy.copy(node.meta)
        return made

    def graph_copy(self, g: "Graph", val_map: dict[Node, Node], return_output_node: bool = False):
        """Copy another graph and return its output's argument. `val_map` gets the copies; it may map its placeholders."""
        for node in g.nodes:
            if node in val_map:
                continue
            if node.op == "output":
                found = map_arg(node.args[0], lambda n: val_map[n])
                return (found, node) if return_output_node else found
            val_map[node] = self.node_copy(node, lambda n: val_map[n])
        return None

    def inserting_before(self, n: Node | None = None):
        """Insert new nodes before a node (default the first), from now on or in a `with` block."""
        return _InsertionPoint(self, self._root.next if n is None else n)

    def inserting_after(self, n: Node | None = None):
        """Insert new nodes after a node (default the last), in order, from now on or in a `with` block."""
        return _InsertionPoint(self, self._root if n is None else n.next)

    # Queries and removal.

    def output_node(self) -> Node:
        found = self.find_nodes(op="output")
        if not found:
            raise ArgumentError("this graph has no output")
        return found[0]

    def find_nodes(self, *, op: str, target=None, sort: bool = True) -> list[Node]:
        """Return the nodes of a kind, and with a target if given. `sort` is ignored: they are in the order of the graph."""
        return [n for n in self.nodes if n.op == op and (target is None or n.target == target)]

    def erase_node(self, to_erase: Node) -> None:
        """Remove a node without users."""
        if to_erase.users:
            raise ArgumentError(f"{to_erase} is used by {', '.join(map(str, to_erase.users))}: have these use another node "
                                f"first (node.replace_all_uses_with)")
        if to_erase.graph is not self:
            raise ArgumentError(f"{to_erase} is a node of another graph")
        if to_erase._erased:
            return
        if self._before is to_erase:
            self._before = to_erase.next
        to_erase._unlink()
        to_erase._erased = True
        self._count -= 1
        to_erase._take((), {})

    def eliminate_dead_code(self, is_impure_node=None) -> bool:
        """Remove unused nodes without side effects; return whether there were any."""
        impure = Node.is_impure if is_impure_node is None else is_impure_node
        before = self._count
        for node in reversed(self.nodes):
            if not node.users and not impure(node):
                self.erase_node(node)
        return self._count < before

    def lint(self) -> None:
        """Raise for duplicate names, nodes used before they run, and targets that the module lacks."""
        seen: set[Node] = set()
        names: set[str] = set()
        for node in self.nodes:
            for used in node.all_input_nodes:
                if used not in seen:
                    raise IngotError(f"{node} uses {used}, which runs after it, or is in another graph")
                if node not in used.users:
                    raise IngotError(f"{used} does not know that {node} uses it")
            if node.name in names:
                raise IngotError(f"two nodes have the name {node.name}")
            seen.add(node)
            names.add(node.name)
            if self.owning_module is not None and node.op in ("get_attr", "call_module"):
                attribute_at(self.owning_module, node.target)

    # Text.

    def python_code(self, root_module: str = "self", **options) -> PythonCode:
        """Return the graph as a Python function, with the objects that the code names. It has no comments on shapes and no
        colours, so `options` that ask for them are refused."""
        if any(options.values()):
            raise ArgumentError(f"python_code writes code without comments or colours, got {options}; leave these out")
        return python_code(self, root_module)

    def __str__(self):
        nodes = list(self.nodes)
        return "\n".join(["graph():", *[f"    {node.format_node()}" for node in nodes]])

    def print_tabular(self) -> None:
        """Print a table of the nodes."""
        head = ("opcode", "name", "target", "args", "kwargs")
        rows = [head, *[(n.op, n.name, name_of(n.target), str(n.args), str(n.kwargs)) for n in self.nodes]]
        widths = [max(len(row[i]) for row in rows) for i in range(len(head))]
        rows.insert(1, tuple("-" * w for w in widths))      # type: ignore[arg-type]
        for row in rows:
            print("  ".join([text.ljust(w) for text, w in zip(row, widths)]).rstrip())

    def process_inputs(self, *args):
        """Convert arguments for the placeholders."""
        return args

    def process_outputs(self, out):
        """Convert the result for the caller."""
        return out

    def __deepcopy__(self, memo):
        made = Graph(tracer_cls=self._tracer_cls, tracer_extras=self._tracer_extras)
        memo[id(self)] = made
        copies: dict[Node, Node] = {}
        for node in self.nodes:
            copies[node] = memo[id(node)] = made.node_copy(node, copies.__getitem__)
            copies[node].meta = {k: v if isinstance(v, Node) else copy.deepcopy(v, memo) for k, v in node.meta.items()}
        return made


def _default_name(op: str, target) -> str:
    name = target if isinstance(target, str) else getattr(target, "__name__", type(target).__name__)
    if name[:2] == name[-2:] == "__" and len(name) > 4:
        name = name[2:-2]
    if op == "placeholder":
        return name.lstrip("*")
    return re.sub(r"(?<=[a-z0-9])([A-Z])", r"_\1", name.replace(".", "_")).lower()


def attribute_at(module, path: str):
    """Return the attribute of a module at a dotted path."""
    found = module
    for i, part in enumerate(path.split(".")):
        if not hasattr(found, part):
            raise IngotError(f"the module has no {'.'.join(path.split('.')[:i + 1])} (looking for {path!r})")
        found = getattr(found, part)
    return found
