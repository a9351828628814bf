"""Objects that a recorded call has met, sorted by origin: made by the function, passed to it, or there before."""

from types import FunctionType, MethodType, ModuleType

from ...runtime.core.tensor import Tensor
from ..bytecode.reads import MISSING, follow
from ..bytecode.user_code import attributes_of, is_a, is_user_defined
from ..errors.errors import RecordingStatus
from .arg_pytree import fields_of
from .object_arguments import TakenApart
from .snapshot import is_plain


class ArgumentParts:
    """Containers and objects of which the arguments consist, by id. They are compared at every call, so reads through them
    need no guard; for methods of an object its class is guarded. `taken` are the objects of plain classes among them. Other
    objects that the arguments hold count by identity: what they lead to is guarded like all that the call finds outside."""

    def __init__(self):
        self._ids: set = set()
        self._ends: set = set()
        self.taken = TakenApart()

    def add(self, part):
        self._ids.add(id(part))

    def has(self, x) -> bool:
        return id(x) in self._ids

    def end_at(self, ids):
        """Note the objects that count by identity, by their ids."""
        self._ends |= ids

    def ends_at(self, x) -> bool:
        """Return whether an object counts by identity where an argument holds it."""
        return id(x) in self._ends

    def leads_to(self, base, steps, value) -> bool:
        """Return whether steps lead through parts alone to another part, or to a tensor or number in one."""
        owners = [follow(base, steps[:n]) for n in range(len(steps))]
        is_leaf = is_a(value, Tensor) or is_plain(value) or id(value) in self._ids
        return is_leaf and all(map(self.has_step, owners, steps))

    def has_step(self, x, step) -> bool:
        """Return whether a step leads from a part to what is compared at every call, too."""
        return id(x) in self._ids and (step[0] != "attr" or step[1] in self._fields_of(x))

    def _fields_of(self, x):
        return attributes_of(x) if self.taken.is_apart(x) else fields_of(x)

    def class_with(self, base, steps, value):
        """Return the class of a part if the last step reads one of its methods."""
        owner = follow(base, steps[:-1])
        is_attribute = steps and steps[-1][0] == "attr" and id(owner) in self._ids
        found = getattr(type(owner), steps[-1][1], MISSING) if is_attribute else MISSING
        is_same = found is value or (type(value) is MethodType and found == value)      # each lookup binds a class method anew
        return type(owner) if is_attribute and is_same else None


class KnownObjects:
    """Objects that a recorded call has met, by their ids."""

    def __init__(self, status: RecordingStatus):
        self.status = status
        self.own: set = set()          # the function's own objects: their `__init__` ran for the first time, or they are copies
        self.passed: set = set()        # arguments of the traced function, and tensors in them
        self.received: set = set()         # those of them that the first frame of user code received
        self.bound: set = set()            # ids of what the partials around the traced function bind
        self.parts = ArgumentParts()    # containers and dataclasses of which the arguments consist
        self.outside: dict = {}         # reached objects from before the call: (object, its name, names of its attributes)
        self.visited: dict = {}         # by id: all values from before the call to which code leads, and classes of objects
        self.modules: dict = {}         # modules that ran or were read
        self.tensors: dict = {}         # tensors from before the call, reached on other ways than as arguments
        self.compares = False           # whether code may ask which of two tensors is the other
        self.objects: dict = {}         # containers and arrays from before the call, reached on other ways than as arguments
        self.containers: list = []      # lists, dicts, sets and views of them that were read
        self._alive: list = []          # objects whose ids are in use

    def add_own(self, x):
        if self.was_met(x):         # its `__init__` was called again
            return
        if hasattr(type(x), "__del__") and is_user_defined(type(x)):
            self.status.refuse(f"it makes a {type(x).__name__}, whose __del__ would not run at later calls; do without that "
                                "method, or make the object outside")
        self.own.add(id(x))
        self.keep(x)

    def refuse(self, reason):
        """Note an object with which a call cannot be recorded."""
        self.status.refuse(reason)

    def keep(self, x):
        """Keep an object alive, so that no other one gets its id."""
        self._alive.append(x)

    def add_outside(self, x, text: str):
        self.outside[id(x)] = x, text, tuple(attributes_of(x))

    def existed(self, owner) -> bool:
        """Return whether an object that code has reached was there before the call."""
        return is_a(owner, (type, ModuleType)) or self.was_met(owner) or id(owner) in self.tensors

    def was_met(self, x) -> bool:
        """Return whether an instance was met that was there before the call."""
        return id(x) in self.outside or (id(x) in self.modules and id(x) not in self.own) or id(x) in self.passed

    def name_of(self, owner) -> str:
        if is_a(owner, type):
            return owner.__qualname__
        if id(owner) in self.outside:
            return self.outside[id(owner)][1]
        return owner.__name__ if is_a(owner, (ModuleType, FunctionType)) else type(owner).__name__

    def lacked(self, owner, name) -> bool:
        """Return whether neither an object, when it was reached, nor its class had an attribute."""
        return id(owner) in self.outside and name not in self.outside[id(owner)][2] and not hasattr(type(owner), name)

    def close(self):
        """Drop references that would raise reference counts, which `SoleReference` reads."""
        self.containers, self._alive, self.objects, self.visited = [], [], {}, {}
