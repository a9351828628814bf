"""Attributes that users give tensors (`p.lr_scale = 2.0`): a recorded run reads and writes them as those of other objects.

Which tensors there were is known when code first reaches them: those that objects, containers and modules hold. Tensors that
are others at each call, arguments and what lies in places that are looked up, count by all the attributes that they have.
"""

from typing import Any

from ...runtime.core.composite_tensors import PARTS
from ...runtime.core.state import tls
from ...runtime.core.tensor import Tensor
from ...runtime.interop.tensor_protocols import attributes_of
from ..bytecode.reads import MISSING, follow
from ..errors.errors import TraceError
from ..guards.arg_pytree import ByIdentity

_SIMPLE = (bool, int, float, complex, str, bytes, type(None))


def attributes_seen(t) -> tuple:
    """The attributes of a tensor, to be compared: numbers and text by value, everything else as it is."""
    return tuple([(name, type(v), repr(v) if type(v) in _SIMPLE else ByIdentity(v)) for name, v in attributes_of(t).items()])


class TensorAttributes:
    """The part of a watch that follows them.

    _met      {id: tensor that was there before and that code may reach}
    _others   [(tensor that is another one at each call, what it is, its attributes before)]
    """

    def __init__(self):
        self._met: dict = {}
        self._others: list = []

    def _gets_tensors(self: Any, tensors):
        """The tensors among the arguments."""
        for t in tensors:
            if type(t) not in PARTS:
                self._meet_other(t, "an argument")

    def _note_tensor(self: Any, value):
        """A tensor is reached; unless the run has made it, it was there before."""
        if not isinstance(value, Tensor) or type(value) in PARTS or _is_made(value):
            return
        is_held = id(value) in self.held.known
        if not is_held:
            self.tensors[id(value)] = value
        if id(value) in self._met:
            return
        if is_held:
            self._meet_other(value, f"what {self.held.known[id(value)].chain} holds, which is looked up at each call")
        self._met[id(value)] = value
        for kind, names in self._questions.items():
            self._answer_tensor(kind._replace(names=names), "a tensor", value)

    def _meet_other(self: Any, t, what):
        self._met[id(t)] = t
        self._others.append((t, what, attributes_seen(t)))

    def _is_other(self: Any, t) -> bool:
        return id(t) in self.passed or id(t) in self.held.known

    def _ask_tensors(self: Any, question):
        """Takes in what code that starts asks of tensors."""
        asks_all = question.sets or question.by_name or bool(question.assigned)
        for t in [t for t in self._met.values() if t.__dict__ or asks_all]:
            self._answer_tensor(question, "a tensor", t)

    def _answer_tensor(self: Any, question, text, t):
        """Attributes that users have given, or give, a tensor, and those that code has asked for and that are not there."""
        if self._is_other(t):
            if question.by_name or not attributes_of(t).keys().isdisjoint(question.names):
                _counts_by_attributes(t)
            return
        for name in t.__dict__.keys() & question.names:
            self._note_own(t, name)
        if question.by_name and id(t) not in self.made:
            self._note_lack(text, t, self._names_in_class(type(t), question.names)[1] - t.__dict__.keys())
        for name in question.names if question.sets else question.names & question.assigned:
            if not hasattr(Tensor, name):
                self._note_own_write(t, name, f"{text}.{name}")

    def _through_tensor(self: Any, base, steps) -> bool:
        """Whether a chain reads an attribute of a tensor: its kind is guarded where the tensor comes in, what users have put
        there here."""
        for n, (kind, key) in enumerate(steps):
            t = follow(base, steps[:n])
            if isinstance(t, Tensor):
                if kind == "attr" and key in t.__dict__:
                    self._note_own(t, key)
                return True
        return False

    def _note_own(self: Any, t, name):
        """The function reads an attribute that a tensor has got from the user."""
        if id(t) in self.passed:
            self._refuse(f"it reads the attribute {name} of a tensor that is an argument; pass it as an argument of its own")
        elif id(t) in self.held.known:
            _counts_by_attributes(t)
        elif id(t) not in self.made and not _is_made(t):
            self._note_attributes("a tensor", t, (name,))

    def _note_own_write(self: Any, t, name, text):
        """The function may give a tensor an attribute of the user's."""
        if id(t) not in self._met:
            self._note_tensor(t)
        if not (self._is_other(t) or _is_made(t)):
            self._note_target(t, name, "attr", t.__dict__.get(name, MISSING), text)

    def own_code_reads(self: Any, t, name):
        """Ingot reads an attribute of a tensor, which may be missing."""
        self._note_tensor(t)
        if name in t.__dict__:
            self._note_own(t, name)
        else:
            self.asks_for(t, name)

    def own_code_writes(self: Any, t, name):
        """Ingot gives a tensor an attribute."""
        self._note_own_write(t, name, f"a tensor.{name}")

    def _check_others(self: Any):
        """Raises if the run gave tensors attributes that are others at each call."""
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
    """Whether the run itself has made a tensor."""
    link = t.__dict__.get("_traced")
    return link is not None and not link.is_given
