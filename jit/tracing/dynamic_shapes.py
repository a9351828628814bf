"""Dynamic shapes: which sizes and numbers of the arguments become symbolic, and when.

Calls that differ in nothing but sizes and numbers are a `Family`. Its first call is recorded with everything fixed. The second
is recorded with symbols for what differs; values that have always been equal share a symbol. A symbolic recording holds under
the conditions that its scope noted, and only after it agreed with a recording for other sizes.
"""

from collections.abc import Callable
from dataclasses import dataclass, field

from ...ir.interrupts import raise_interrupt
from ...ir.symbols.scope import Scope
from ...ir.symbols.substitute import condition_check, function_of, valuer
from ...runtime.core.storage import user_line
from ..errors.errors import TraceError
from ..errors.parameters import identifier, meant, signature_of, wanted_dims
from ..guards.arg_pytree import flatten
from ..guards.exact_values import number_bits
from ..proxies.data_sizes import conditions_before_call, hints_before_call
from .labels import NUMBER, SIZE, Labels, first_failing

MOST_EXAMPLES = 16      # calls that a family remembers
LEAST = 1               # what a symbolic size is at least: a recording says itself where 1 would be something else
MOST_IDLE = 8           # symbolic recordings of a family that no later call used, after which it is not generalised any more
_FEW = "pass numbers as tensors, and keep sizes few (pad)"      # what to do instead
MOST_SYMBOLIC = 64      # and of those that are used


@dataclass(frozen=True)
class Symbols:
    """The symbols of one recording.

    names     {place: name}; a place is ("size", argument, dim) or ("number", position)
    scope     their values now, and the conditions noted
    extents   {place: how its size follows from the symbol}, where it is more than the symbol itself
    """

    names: dict
    scope: Scope
    extents: dict = field(default_factory=dict)

    @staticmethod
    def of(names: dict, shapes, numbers, least=LEAST) -> "Symbols":
        """Return symbols with the values of a call: first all sizes, then the numbers that are floats."""
        return Symbols._with({place: value_at(place, shapes, numbers) for place in names}, names, {}, least)

    @staticmethod
    def of_extents(extents: dict, shapes, least=LEAST) -> "Symbols":
        """Return symbols of {place: extent} with the values that follow from a call's sizes."""
        values = {place: x.named(value_at(place, shapes, ())) for place, x in extents.items()}
        return Symbols._with(values, {place: x.name for place, x in extents.items()}, extents, least)

    @staticmethod
    def _with(values: dict, names: dict, extents: dict, least) -> "Symbols":
        scope = Scope(user_line, least)
        made: dict = {}
        for place, name in sorted(names.items(), key=lambda item: type(values[item[0]]) is float):
            if _differs(made.setdefault(name, values[place]), values[place]):
                raise TraceError(f"dynamic= says that sizes named {name} are equal, but they are {made[name]} and "
                                 f"{values[place]}; give sizes that may differ different names")
            if name not in scope.hints:
                make = scope.number if type(values[place]) is float else scope.size if place[0] == SIZE else scope.count
                make(name, values[place])
        return Symbols(names, scope, extents)

    def shape(self, i, shape) -> tuple | None:
        """Return the shape of an argument with its symbolic sizes; None if it has none."""
        found = tuple([self._size((SIZE, i, d)) if (SIZE, i, d) in self.names else n for d, n in enumerate(shape)])
        return found if any((SIZE, i, d) in self.names for d in range(len(shape))) else None

    def _size(self, place):
        n = self.scope.numbers[self.names[place]]
        return self.extents[place].of(n) if place in self.extents else n

    def symbolic_numbers(self, numbers) -> list:
        """Return the numbers of the arguments, symbolic where they are."""
        return [self.scope.numbers[self.names[NUMBER, i]] if (NUMBER, i) in self.names else n for i, n in enumerate(numbers)]

    def text(self) -> str:
        """Return the symbols and their values as text."""
        return ", ".join([f"{name} = {value}" for name, value in self.hints.items()])

    @property
    def hints(self) -> dict:
        """{name: its value in the call}, without those that are read out of data on the way."""
        return hints_before_call(self.scope)

    def origins_text(self, labels: Labels) -> str:
        """Return the places of the symbols as text."""
        where: dict = {}
        for place, name in self.names.items():
            where.setdefault(name, []).append(labels.of(place))
        return "; ".join([f"{name} is {' and '.join(labelled)}" for name, labelled in where.items()])

    def why_not(self, recorded, call, labels: Labels) -> str:
        """Return in words why a call does not fit a recording of the calls of `recorded`."""
        first: dict = {}
        for place in every_place(*call):
            value, before = value_at(place, *call), value_at(place, *recorded)
            if place not in self.names:
                if _differs(value, before):
                    return f"{labels.of(place)} is {value!r}, and a recording needs {before!r}; {_FEW}"
                continue
            known, text = first.setdefault(self.names[place], (value, labels.of(place)))
            if _differs(known, value):
                return (f"{labels.of(place)} and {text} are {value!r} and {known!r}, and a recording needs them to be equal; "
                        f"{_FEW}")
        values = {name: first[name][0] for name in self.hints}
        names = {name: text for name, (_, text) in first.items()}
        failing = first_failing(conditions_before_call(self.scope), values, names)
        return "" if failing is None else f"a recording needs {failing}; {_FEW}"

    @property
    def has_numbers(self) -> bool:
        """Whether a float of the arguments is a symbol."""
        return any(type(self.scope.hints[name]) is float for name in self.names.values())

    def matcher(self, shapes, numbers) -> Callable:
        """Return a function (shapes, numbers) of a call that gives the values of the names, or None if the recording does not
        apply: other sizes differ, symbols are unequal, or a condition fails."""
        first: dict = {}
        tests = []
        for place, name in self.names.items():
            if name in first:
                tests.append(f"{_text(place)} == {first[name]}")
            else:
                first[name] = _text(place)
                if self.scope.lows[name] is not None:
                    tests.append(f"{_text(place)} >= {self.scope.lows[name]}")
        for i, shape in enumerate(shapes):
            tests += [f"shapes[{i}][{d}] == {n}" for d, n in enumerate(shape) if (SIZE, i, d) not in self.names]
        for i, n in enumerate(numbers):
            if (NUMBER, i) not in self.names:
                if type(n) is float:
                    tests.append(f"numbers[{i}].hex() == {n.hex()!r}" if n == n else
                                 f"number_bits(numbers[{i}]) == {number_bits(n)!r}")
                else:
                    tests.append(f"numbers[{i}] == {n}")
        test = function_of(("shapes", "numbers"), " and ".join(["True", *tests]), {"number_bits": number_bits})
        read = function_of(("shapes", "numbers"), "(" + "".join([f"{first[name]}, " for name in self.hints]) + ")")
        holds = condition_check(conditions_before_call(self.scope), self.hints)

        def match(shapes, numbers):
            if not test(shapes, numbers):
                return None
            values = read(shapes, numbers)
            try:
                return values if holds(*values) else None
            except (ArithmeticError, ValueError) as error:
                raise_interrupt(error, holds, *values)
                return None

        return match


def value_at(place, shapes, numbers):
    """Return the value at a place of a call."""
    return shapes[place[1]][place[2]] if place[0] == SIZE else numbers[place[1]]


def _text(place):
    return f"shapes[{place[1]}][{place[2]}]" if place[0] == SIZE else f"numbers[{place[1]}]"


@dataclass
class Family:
    """Calls that differ in sizes and numbers only.

    examples   (shapes, numbers) of calls that were recorded
    entries    symbolic recordings
    fixed      recordings without symbols
    pinned     places whose very value the function uses
    met_pinned {place: the values for which it did so}
    labels     names of the arguments
    is_open    whether further calls are still generalised
    reason     why not, as text
    """

    examples: list = field(default_factory=list)
    entries: list = field(default_factory=list)
    fixed: list = field(default_factory=list)
    pinned: set = field(default_factory=set)
    met_pinned: dict = field(default_factory=dict)
    labels: Labels = field(default_factory=Labels)
    is_open: bool = True
    reason: str = ""

    def saw(self, shapes, numbers):
        """Remember a call."""
        if (shapes, numbers) not in self.examples:
            self.examples = [*self.examples[1 - MOST_EXAMPLES:], (shapes, numbers)]

    def enter(self, entry, recording, alike) -> list:
        """Add a symbolic recording, and return the fixed ones in `alike` that agree with it. It is known to be good for their
        sizes. (Where one does not agree, a number may be recorded in another way.)"""
        symbols, same = entry.symbols, []
        for fixed in alike if not recording.scope.reads else ():
            values = entry.match(*fixed.call)
            if values is not None and fixed.tree.agrees(recording, valuer(symbols.scope.hints, values)):
                entry.agreed(values)
                same.append(fixed)
        self.entries = [entry, *self.entries]
        self._pin(symbols, recording.scope.pinned)
        if sum(not e.uses for e in self.entries[1:]) >= MOST_IDLE:
            self.close(f"of its recordings with symbolic sizes {MOST_IDLE} were good for one call only")
        elif len(self.entries) > MOST_SYMBOLIC:
            self.is_open, self.reason = False, f"it was recorded {MOST_SYMBOLIC} times with symbolic sizes"
        return same

    def _pin(self, symbols, names):
        """Note the places whose very value a recording uses. A place counts after two values, and not if it is free for
        another one: `if step == 100:` is true once."""
        for place in [place for place, name in symbols.names.items() if name in names]:
            values = self.met_pinned.setdefault(place, set())
            values.add(symbols.scope.hints[symbols.names[place]])
            is_free = any(e.symbols.names.get(place) not in (None, *e.symbols.scope.pinned) for e in self.entries)
            if len(values) > 1 and not is_free:
                self.pinned.add(place)

    def why(self, shapes, numbers) -> str:
        """Return in words why no recording is good for a call; empty if there is none or only its state differs."""
        for entry in self.entries:
            if entry.match(shapes, numbers) is None:
                return entry.symbols.why_not(entry.call, (shapes, numbers), self.labels)
        if self.fixed:
            before = self.fixed[-1].call
            for place in every_place(shapes, numbers):
                if _differs(value_at(place, shapes, numbers), value_at(place, *before)):
                    return (f"{self.labels.of(place)} is {value_at(place, shapes, numbers)!r}, and was recorded as "
                            f"{value_at(place, *before)!r}; it is symbolic from now on, unless dynamic=False")
        return ""

    def drop(self, entry):
        self.entries = [e for e in self.entries if e is not entry]

    def close(self, reason: str):
        """Stop generalising."""
        self.is_open, self.reason = False, reason
        self.entries = []

    def extend(self, changed):
        """Add numbers that every call looks up from now on, with their values in all calls so far."""
        self.examples = [(shapes, (*numbers, *[m.number for m in changed])) for shapes, numbers in self.examples]
        self.labels.add_numbers([str(m.place.chain) for m in changed])
        for entry in (*self.entries, *self.fixed):
            entry.extend(changed)

    def symbolic_origins(self, shapes, numbers, dynamic, own_numbers=None) -> dict:
        """Return {place: name} of what becomes symbolic in a call; empty if nothing does. Numbers after the first `own_numbers`
        are looked up because they were seen to change."""
        if not self.is_open or dynamic is False:
            return {}
        values = {}
        for place in every_place(shapes, numbers):
            value = value_at(place, shapes, numbers)
            if place in self.pinned or (place[0] == SIZE and value < LEAST):
                continue
            told = dynamic is True if place[0] == SIZE else own_numbers is not None and place[1] >= own_numbers
            if told or any(_differs(value, value_at(place, *seen)) for seen in self.examples):
                values[place] = value
        return self._named(values, shapes, numbers)

    def _named(self, values, shapes, numbers):
        """Return one name for places that have always had equal values."""
        names: dict = {}
        groups: dict = {}
        for place, value in values.items():
            history = (type(value), value, *[value_at(place, *seen) for seen in self.examples])
            kind = "n" if place[0] == NUMBER else "s"
            names[place] = groups.setdefault(history, f"{kind}{len(groups)}")
        return names


def _differs(a, b):
    return type(a) is not type(b) or (number_bits(a) != number_bits(b) if type(a) is float else a != b)


def every_place(shapes, numbers):
    """Yield all places of a call."""
    for i, shape in enumerate(shapes):
        for d in range(len(shape)):
            yield SIZE, i, d
    for i in range(len(numbers)):
        yield NUMBER, i


def user_names(dynamic, parameters, call) -> dict:
    """Return {place: name} of the user's `dynamic=`: {parameter, position or path of a tensor: {dim: name}}, a list of dims, or
    True. Sizes of 0 stay fixed."""
    names: dict = {}
    labels, by_path = Labels(parameters, call.key[0][0]), {identifier(key): wish for key, wish in dynamic.items()}
    start = 0
    for key, value in [*enumerate(call.args), *call.kwargs.items()]:
        tensors: list = []
        flatten(value, tensors)
        name = parameters[key].lstrip("*") if type(key) is int and key < len(parameters) else key
        wish = dynamic.get(key, dynamic.get(name))
        for i, t in enumerate(tensors, start):
            label = labels.of_tensor(i)
            dims = wanted_dims(by_path.get(identifier(label), wish), t.ndim, label, TraceError)
            names.update({(SIZE, i, d): size_name for d, size_name in dims.items() if t._a.shape[d] >= LEAST})
        start += len(tensors)
    return names


def check_keys(dynamic: dict, fn):
    """Raise unless the keys of `dynamic=` can be parameters of a function, their positions, or paths in them."""
    signature = signature_of(fn)
    known = [] if signature is None else [*signature.parameters.values()]
    names = [p.name for p in known]
    for key in dynamic if known else ():
        if isinstance(key, int):
            fits = 0 <= key < len(known) or any(p.kind is p.VAR_POSITIONAL for p in known)
        else:
            fits = any(f"{identifier(key)}_".startswith(f"{name}_") for name in names)
            fits = fits or any(p.kind is p.VAR_KEYWORD for p in known)
        if not fits:
            raise TraceError(f"dynamic= names the argument {key!r}, but the parameters are {', '.join(names)}"
                             f"{meant(key, names)}")
