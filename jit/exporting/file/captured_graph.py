"""The recorded graph of a program, before any pass, with the module call of each operation and requested signatures."""

from dataclasses import dataclass

from ....ir.errors import FileError, IngotError
from ....ir.graph.graph import Graph, Node, Value
from ....ir.graph.printer import value_names
from ....ir.graph.text import parse
from ....ir.graph.verify import verify_at
from ....ir.ops import load_all
from ....ir.source_location import module_of
from ....passes.rewrite import pass_manager
from ....passes.schedule.specialize_shapes import bind_graph
from ....runtime.cpu.graph import machine_passes
from ...errors.errors import ExportError
from ..capture import treespec
from ..capture.module_calls import RECORDED, CallSignature, ModuleCall
from ..capture.prepare import without_unused
from . import archive


@dataclass(frozen=True)
class RecordedGraph:
    """Graph of a program as recorded. Its inputs are arguments, then written buffers, then `weights` by name.

    calls        {name of a call: ModuleCall}, in order
    signatures   {name of a call: CallSignature}
    aliases      {path: canonical path of the same module or tensor}
    """

    graph: Graph
    weights: tuple
    calls: dict
    signatures: dict
    aliases: dict

    @classmethod
    def of(cls, model) -> "RecordedGraph":
        reader = model._reader
        entry = reader.manifest.get("recorded")
        if entry is None:
            raise ExportError(f"{reader.name} has no graph as it was recorded; programs of ingot.export.export have one")
        with archive.guarded(reader.name):
            load_all()
            graph = parse(reader.text(RECORDED))
            model.check_graph(graph, [model.weights[name]._a for name in entry["weights"]], {}, RECORDED)
            signatures = _signatures(entry, graph)
            return cls(graph, tuple(entry["weights"]), _calls(entry["calls"]), signatures, _aliases(entry["aliases"]))

    def is_for(self, model, variant, sizes: dict) -> bool:
        """Return whether another recording, with some sizes of 1 or 0, is equal to this one at these sizes."""
        names = list(model.weights)
        count = len(model.signature.inputs)
        own, other = ((self.graph, self.weights), (model.graph_of(variant), [names[i] for i in variant.weights]))
        return _at_sizes(*own, count, sizes) == _at_sizes(*other, count, sizes)

    def home_of(self, node: Node) -> str:
        name = module_of(node.line)
        return name if name in self.calls else ""

    def around(self, name: str) -> list:
        """Return the names of a call and its enclosing calls, outermost first."""
        found: list = []
        while name:
            found.insert(0, name)
            name = self.calls[name].parent
        return found

    def live(self) -> set:
        """Return the nodes that results, or the arguments and results of calls with signatures, depend on."""
        stack = [*self.graph.results, *[v for s in self.signatures.values() for v in (*s.takes, *s.gives)]]
        found: set = set()
        while stack:
            node = stack.pop().node
            if node is not None and node not in found:
                found.add(node)
                stack += [x for x in node.inputs if type(x) is Value]
        return found


def _at_sizes(graph, weights, count, sizes) -> tuple | None:
    """Return a key of a graph at some sizes, to compare; None if it does not take them."""
    try:
        verify_at(graph, sizes)
        bound = bind_graph(graph, {name: sizes[name] for name in graph.names}) if graph.symbols else graph
        graph, used = without_unused(pass_manager.run(bound, machine_passes.PORTABLE), dict.fromkeys(weights), count)
    except IngotError:
        return None
    return graph.key, tuple(used)


def _calls(data) -> dict:
    calls: dict = {}
    for name, (path, kind, parent) in data.items():
        if not all(type(x) is str for x in (path, kind, parent)) or (parent and parent not in calls):
            raise FileError("the calls of modules are damaged")
        calls[name] = ModuleCall(path, kind, parent)
    return calls


def _signatures(entry, graph) -> dict:
    known = {name: v for v, name in value_names(graph).items()}
    signatures = {}
    for name, (arguments, takes, results, gives) in entry["signatures"].items():
        treespec.check(arguments, len(takes))
        treespec.check(results, len(gives))
        if name not in entry["calls"] or not {*takes, *gives} <= set(known):
            raise FileError("the signatures of modules are damaged")
        signatures[name] = CallSignature(arguments, tuple([known[n] for n in takes]), results, tuple([known[n] for n in gives]))
    return signatures


def _aliases(data) -> dict:
    if not all(type(x) is str for pair in data.items() for x in pair):
        raise FileError("the names of modules are damaged")
    return dict(data)
