"""Log of module calls in an exported run, from which `export.unflatten` rebuilds modules.

It tells which call each operation belongs to, and the arguments and results of calls whose signatures are requested.
"""

import re
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, NamedTuple

from ....ir.errors import ArgumentError
from ....ir.graph.graph import Graph
from ....ir.graph.printer import value_names
from ....runtime.nn.base.hooks import GLOBAL, register_module_forward_hook
from ....runtime.nn.base.module import Module
from ....runtime.state.structure import add_hook
from . import treespec

RECORDED = "recorded.txt"       # the member of a file with the graph before any pass


class ModuleCall(NamedTuple):
    """One call: the module's path, its class, and the name of the enclosing call (empty for the outermost)."""

    path: str
    kind: str
    parent: str


class CallSignature(NamedTuple):
    """Arguments and results of a call: structures, and the graph values of their tensors, in order."""

    arguments: dict
    takes: tuple
    results: dict
    gives: tuple


class ModuleCalls:
    """Log of module calls.

    calls        {name of a call: ModuleCall}, in order
    signatures   {name: CallSignature} for modules at `signature_paths`
    aliases      {path: canonical path of the same module or tensor}
    tensors      {name: tensor}: parameters and buffers of the exported module, if it is one
    """

    def __init__(self, holders=(), signature_paths=()):
        self.calls: dict = {}
        self.signatures: dict = {}
        self.aliases: dict = {}
        self.tensors: dict = {}
        self.signature_paths = frozenset(signature_paths)
        self._known: dict = {}            # by id of a module: (the module, its path, base of its call names)
        self._counts: dict = {}           # by base of call names
        self._around: list = []           # (module, name, arguments if the signature is kept) of calls under way
        for prefix, holder in holders:
            if isinstance(holder, Module):
                self._note(prefix, holder)
        missing = self.signature_paths - {path for _, path, _ in self._known.values()} - set(self.aliases)
        if missing:
            raise ArgumentError(f"there is no module at {', '.join(sorted(missing))}, whose signature is to be kept")
        self.signature_paths |= {self.aliases[path] for path in self.signature_paths & set(self.aliases)}

    def _note(self, prefix, holder):
        tensors: dict = {}
        if not prefix:
            self.tensors = dict((*holder.named_parameters(), *holder.named_buffers()))
        for below, module in holder.named_modules(remove_duplicate=False):
            path = f"{prefix}.{below}".strip(".")
            known = self._known.setdefault(id(module), (module, path, _name(path if prefix else type(holder).__name__, path)))
            if known[1] != path:
                self.aliases[path] = known[1]
            for table in (module._parameters, module._buffers):
                for key, t in table.items():
                    name = f"{path}.{key}".strip(".")
                    if t is not None and tensors.setdefault(id(t), name) != name:
                        self.aliases[name] = tensors[id(t)]

    @property
    def current(self) -> str:
        return self._around[-1][1] if self._around else ""

    @contextmanager
    def heard(self, value_of) -> Iterator[None]:
        """Log module calls inside; `value_of` maps a tensor to its graph value."""
        thread = threading.get_ident()

        def enter(module, args, kwargs):
            if threading.get_ident() == thread:
                took = self._described((args, kwargs), value_of) if self._has_signature(module) else None
                self._around.append((module, self._entered(module), took))

        def leave(module, args, kwargs, result):
            if threading.get_ident() == thread and self._around and self._around[-1][0] is module:
                _, name, took = self._around.pop()
                if took is not None:
                    self.signatures[name] = CallSignature(*took, *self._described(result, value_of))

        handles = (add_hook(GLOBAL.forward_pre, enter, marks=[GLOBAL.with_kwargs]),
                   register_module_forward_hook(leave, with_kwargs=True, always_call=True))
        try:
            yield
        finally:
            for handle in handles:
                handle.remove()

    def _has_signature(self, module) -> bool:
        known = self._known.get(id(module))
        return known is not None and known[1] in self.signature_paths

    def _entered(self, module) -> str:
        """Log a call that begins, and return its name. Calls of unknown modules belong to the call around them."""
        if id(module) not in self._known:
            return self.current
        _, path, name = self._known[id(module)]
        count = self._counts[name] = self._counts.get(name, -1) + 1
        name = f"{name}@{count}" if count else name
        kind = type(module)
        self.calls[name] = ModuleCall(path, f"{kind.__module__}.{kind.__qualname__}", self.current)
        return name

    def move_to(self, values: dict):
        """Replace the graph values of signatures by those in `values`."""
        new = lambda old: tuple([values[v] for v in old])
        self.signatures = {name: s._replace(takes=new(s.takes), gives=new(s.gives)) for name, s in self.signatures.items()}

    def as_json(self, graph: Graph) -> dict:
        """Return the log as data for the manifest, with values named as in the graph's text."""
        names = value_names(graph)
        signatures = {name: [s.arguments, [names[v] for v in s.takes], s.results, [names[v] for v in s.gives]]
                      for name, s in self.signatures.items()}
        return {"calls": {name: list(call) for name, call in self.calls.items()}, "signatures": signatures,
                "aliases": self.aliases}

    @staticmethod
    def _described(x, value_of) -> tuple:
        tensors: list = []
        found = treespec.describe(x, tensors, [])
        return found, tuple([value_of(treespec.as_tensor(t)) for t in tensors])


def _name(root: str, path: str) -> str:
    """Return the base of a module's call names: its path, after the class of an unnamed root."""
    whole = root if not path or root == path else f"{root}.{path}"
    return re.sub(r"\s", "_", whole)


def path_with(aliases: dict, path: str, ends_below) -> str | Any:
    """Return the first of a path and its aliases that `ends_below` accepts, or None."""
    return next((p for p in (path, *[a for a, of in aliases.items() if of == path]) if ends_below(p)), None)
