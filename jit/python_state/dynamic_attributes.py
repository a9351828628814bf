"""Which attributes the user's code asks for by names: whether there is one, one that may be missing, all that there are."""

import types
from typing import Any

from ...runtime.core.tensor import Tensor
from ...runtime.nn.base.module import Module
from ..bytecode.reads import MISSING
from ..guards.absence import Keys
from ..guards.instances import attributes_of, is_users_space
from .implicit_reads import known_in_class


class AskedByName:
    """The part of a watch that hears of it. What is there is guarded as everything that code reads; what is missing here, for
    no bytecode tells a name that is computed."""

    def asks_for(self: Any, owner, name):
        """Code asks an object for an attribute that may be missing."""
        if type(name) is str and self._was_before(owner):
            lay = self.casts.lift()
            self._note_name(owner, name)
            self.casts.lay(lay)

    def lists(self: Any, owner, with_classes: bool):
        """Code asks for the names of all attributes, of those that classes give, too."""
        if self.held.is_symbolic and not with_classes:
            self._fix()                 # the values are read on ways past symbolic numbers
        if not self._was_before(owner) or isinstance(owner, Tensor):
            return
        lay = self.casts.lift()
        place = "keys", id(owner), with_classes
        self.readings.setdefault(place, Keys(owner, self._text_of(owner), with_classes))
        self.casts.lay(lay)

    def _was_before(self: Any, owner) -> bool:
        """Whether an object that code has reached was there before the call."""
        if isinstance(owner, (type, types.ModuleType)):
            return is_users_space(owner)
        return id(owner) in self.outside or id(owner) in self.modules or id(owner) in self.tensors

    def _text_of(self: Any, owner) -> str:
        if isinstance(owner, type):
            return owner.__qualname__
        return self.outside[id(owner)][1] if id(owner) in self.outside else getattr(owner, "__name__", type(owner).__name__)

    def _note_name(self: Any, owner, name):
        kind, text = owner if isinstance(owner, type) else type(owner), self._text_of(owner)
        own = attributes_of(owner)
        is_missing = not hasattr(kind, name)
        if is_missing:
            self._note_lack(kind.__qualname__, kind, {name})
        elif known_in_class(kind, name):
            self._note_attributes(kind.__qualname__, kind, (name,))
        if isinstance(owner, (type, Module)):        # (a module is compared as a whole)
            return
        if name not in own:
            self._note_lack(text, owner, {name})
            if not is_missing and isinstance(getattr(kind, name), types.MemberDescriptorType):
                self._note_attribute(text, owner, name, MISSING)
        elif not isinstance(owner, Tensor):
            self._note_attribute(text, owner, name, own[name])
