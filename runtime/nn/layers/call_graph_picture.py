"""The graph of one call of a module, put together from the operators that ran: for looking at."""

from typing import Any

from ....ir.graph.graph import Builder, Graph, Value, live_nodes
from ...core.storage import user_line
from ...core.tensor import Tensor

__all__ = ["WatchedGraph"]


class WatchedGraph:
    """Takes in operators as they run. Each tensor stands for the value that it was given last; tensors that nobody made are
    inputs, named as `names` says."""

    def __init__(self, name: str, names: dict):
        self.builder = Builder(name)
        self.names = names                  # by id of tensor
        self.values: dict[int, Value] = {}
        self.seen: list[Any] = []           # keeps the tensors, so that no id is used twice
        self.groups: dict[str, list] = {}

    def _enter(self, t: Tensor, value: Value):
        self.seen.append(t)
        self.values[id(t)] = value

    def value_of(self, t: Tensor) -> Value:
        """What a tensor stands for."""
        if id(t) not in self.values:
            self._enter(t, self.builder.input(self.names.get(id(t), "x"), t.aval))
        return self.values[id(t)]

    def saw(self, op, args, params, out, group: str):
        """An operator ran inside of the module named `group`."""
        self.builder.line = user_line()
        start = len(self.builder.nodes)
        made = self.builder.append(op, [self.value_of(a) if isinstance(a, Tensor) else a for a in args], params)
        pairs = zip(out, made) if type(out) is tuple else ((out, made),)
        for t, value in pairs:
            self._enter(t, value)
        if group:
            self.groups.setdefault(group, []).extend(self.builder.nodes[start:])

    def became(self, t: Tensor, source):
        """A tensor holds from now on what another one does."""
        if isinstance(source, Tensor) and source.aval == t.aval:
            self._enter(t, self.value_of(source))

    def finish(self, results) -> tuple:
        """(graph, nodes by module), of what the results need."""
        outputs = [self.values[id(t)] for t in results if id(t) in self.values]
        whole = self.builder.finish(outputs)
        live = live_nodes(whole)
        last = Builder(whole.name)
        used = {x for n in live for x in n.inputs if type(x) is Value} | set(outputs)
        env: dict = {v: last.input(v.name, v.aval) for v in whole.inputs if v in used}
        copies = {}
        for n in whole.nodes:
            if n in live:
                copies[n] = last.copy(n, [env[x] if type(x) is Value else x for x in n.inputs])
                env.update(zip(n.outputs, copies[n].outputs))
        graph: Graph = last.finish([env[v] for v in outputs])
        groups = {name: kept for name, nodes in self.groups.items() if (kept := [copies[n] for n in nodes if n in live])}
        return graph, groups
