"""Attributes that users give tensors (`p.lr_scale = 2.0`): reads are guarded and writes repeated, as those of other objects.

A tensor that code reaches in an object, container or module existed before. A tensor that may be another one at each call, an
argument or a state input, counts by all attributes that it has.
"""

from typing import Any

from ...runtime.core.composite_tensors import PARTS
from ...runtime.core.state import tls
from ...runtime.core.tensor import Tensor
from ...runtime.interop.tensor_protocols import attributes_of
from ..bytecode.reads import MISSING, follow
from ..errors.errors import TraceError, Verdict
from ..guards.arg_pytree import ByIdentity
from ..guards.known_objects import KnownObjects
from ..guards.locations import StateInputs
from ..side_effects.writes import WriteLog
from .dynamic_attributes import DynamicAttributes
from .read_log import ReadLog

_SIMPLE = (bool, int, float, complex, str, bytes, type(None))


def attributes_seen(t) -> tuple:
    """Return the attributes of a tensor for comparison: numbers and text by value, everything else by identity."""
    return tuple([(name, type(v), repr(v) if type(v) in _SIMPLE else ByIdentity(v)) for name, v in attributes_of(t).items()])


class TensorAttributes:
    """Reads and writes of the attributes of tensors."""

    def __init__(self, verdict: Verdict, known: KnownObjects, inputs: StateInputs, reads: ReadLog, writes: WriteLog,
                 attributes: DynamicAttributes):
        self._verdict, self._known, self._inputs = verdict, known, inputs
        self._reads, self._writes, self._attributes = reads, writes, attributes
        self._met: dict = {}            # id -> tensor that was there before and that code may reach
        self._others: list = []         # (tensor that may be another one at each call, its role, its attributes before)

    def add_arguments(self, tensors):
        for t in tensors:
            if type(t) not in PARTS:
                self._meet_other(t, "an argument")

    def add(self, value):
        """Note a value that is reached: a tensor that the run has not made was there before."""
        if not isinstance(value, Tensor) or type(value) in PARTS or _is_made(value):
            return
        is_held = id(value) in self._inputs.known
        if not is_held:
            self._known.tensors[id(value)] = value
        if id(value) in self._met:
            return
        if is_held:
            self._meet_other(value, f"what {self._inputs.known[id(value)].chain} holds, which is looked up at each call")
        self._met[id(value)] = value
        self.answer_all("a tensor", value)

    def _meet_other(self, t, what):
        self._met[id(t)] = t
        self._others.append((t, what, attributes_seen(t)))

    def _is_other(self, t) -> bool:
        return id(t) in self._known.passed or id(t) in self._inputs.known

    def ask(self, question):
        """Answer the queries of code that starts for all tensors that it may reach."""
        asks_all = question.sets or question.by_name or bool(question.assigned)
        for t in [t for t in self._met.values() if t.__dict__ or asks_all]:
            self._answer(question, "a tensor", t)

    def answer_all(self, text, t):
        for question in self._attributes.log.all():
            self._answer(question, text, t)

    def _answer(self, question, text, t):
        """Guard queried attributes that users have given a tensor, or that are absent; note those that code assigns."""
        if self._is_other(t):
            if question.by_name or not attributes_of(t).keys().isdisjoint(question.names):
                _counts_by_attributes(t)
            return
        for name in t.__dict__.keys() & question.names:
            self.add_read(t, name)
        if question.by_name and id(t) not in self._known.made:
            nowhere = self._attributes.names_in_class(type(t), question.names)[1]
            self._reads.add_absent(text, t, nowhere - t.__dict__.keys())
        for name in question.names if question.sets else question.names & question.assigned:
            if not hasattr(Tensor, name):
                self.add_write(t, name, f"{text}.{name}")

    def is_on_the_way(self, base, steps) -> bool:
        """Return whether a chain reads an attribute of a tensor, and guard one that users have set; its kind is guarded
        elsewhere."""
        for n, (kind, key) in enumerate(steps):
            t = follow(base, steps[:n])
            if isinstance(t, Tensor):
                if kind == "attr" and key in t.__dict__:
                    self.add_read(t, key)
                return True
        return False

    def add_read(self, t, name):
        """Note that the function reads an attribute that a user has given a tensor."""
        if id(t) in self._known.passed:
            self._verdict.refuse(f"it reads the attribute {name} of a tensor that is an argument; pass it as an argument of "
                                 "its own")
        elif id(t) in self._inputs.known:
            _counts_by_attributes(t)
        elif id(t) not in self._known.made and not _is_made(t):
            self._reads.add_attributes("a tensor", t, (name,))

    def add_write(self, t, name, text):
        """Note that the function may give a tensor an attribute."""
        if id(t) not in self._met:
            self.add(t)
        if not (self._is_other(t) or _is_made(t)):
            self._writes.add(t, name, "attr", t.__dict__.get(name, MISSING), text)

    def own_code_reads(self, t, name):
        """Note that ingot reads an attribute of a tensor, which may be missing."""
        self.add(t)
        if name in t.__dict__:
            self.add_read(t, name)
        else:
            self._attributes.query(t, name)

    def own_code_writes(self, t, name):
        self.add_write(t, name, f"a tensor.{name}")

    def check_others(self):
        """Raise if the run gave attributes to tensors that are others at each call."""
        for t, what, before in self._others:
            now = attributes_seen(t)
            if now != before:
                name = next(name for name, *_ in (*now, *before) if name not in _names_alike(now, before))
                raise TraceError(f"this function cannot be traced: it sets the attribute {name} of a tensor that is {what}; "
                                 "return the value instead, or give it a place of its own")


def _counts_by_attributes(t):
    recorder: Any = tls.m.recorder
    recorder.layouts.query(t, attributes_seen)


def _names_alike(now, before) -> set:
    return {name for name, *value in now if [name, *value] in map(list, before)}


def _is_made(t) -> bool:
    link = t.__dict__.get("_traced")
    return link is not None and not link.is_given
