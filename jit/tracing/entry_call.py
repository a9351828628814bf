"""Quick calls: one generated function for calls like the last one.

A call is plain if it takes tensors, arrays, numbers and guarded objects, one native call or captured graph computes, and it
returns tensors or values read out of tensors: it writes nothing and needs no gradient. The generated function checks all that
the recording relies on (arguments, captured tensors, cached values of weights, guards, conditions on numbers), allocates the
results, and enters native code or a replay. It returns MISS for a call that is not plain. `run_quick_call` returns MISS where
it raises, too: the full path reports the error. Arguments may share memory, since
nothing is written; which of them are one and the same belongs to the kind of call.
"""

from types import MethodType
from typing import Any

import numpy as np

from ...ir import config
from ...ir.interrupts import raise_interrupt
from ...runtime.core.composite_tensors import PARTS
from ...runtime.core.device_array import DeviceArray
from ...runtime.core.node import Leaf
from ...runtime.core.tensor import Tensor, class_for
from ...runtime.state.mode import OPEN_PROFILES, Defaults, tls
from ...runtime.state.structure import Structure
from ..bytecode.user_code import is_a
from ..guards.arg_pytree import NUMBER, ArrayArgument
from ..guards.exact_values import ByIdentity, number_bits
from ..guards.guard_code import tests_of
from ..guards.references import Reference, holding_weakly, is_passed
from ..proxies.numpy_scalars import KINDS
from .cache_entry import sharing
from .dynamic_shapes import SIZE

_NUMBERS = (int, float)
MISS = object()
MOST = 8        # functions written for one kind of call; then the full path is taken


def quick_call(entry, symbols, call):
    """Return a function of the arguments of a call that was just replayed: its result, or MISS for a call of another kind. None
    if the call was not plain."""
    finish, key, leaves = entry.tree.first.finish, call.key, call.leaves
    if finish is None or not entry.tensors.is_simple or entry.same_objects or finish.template.effects or entry.locks:
        return None
    if not has_plain_arguments(call) or not is_good_for_numbers(entry, call):
        return None
    if not (shares_nothing(key[1]) or is_only_repeated(leaves)) or key[3] is not None:
        return None
    if not all(_is_plain_array(t._a) for t in leaves):
        return None
    if not all([t._a.flags.c_contiguous for t, *_ in entry.tensors.captured.values()]):  # noqa: C419
        return None
    plain = entry.tree.single_segment(symbols)
    if plain is None or not _is_bound_by_sizes(entry):
        return None
    return _Writer(entry, call).function(*plain)


def run_quick_call(quick, args):
    """Return the result of a quick call; MISS if it fails."""
    try:
        return quick(args)
    except Exception as error:
        raise_interrupt(error, quick, args)
        return MISS


def shares_nothing(sharing) -> bool:
    """Return whether tensors share no memory, by the result of `sharing`."""
    return sharing is None or not (sharing[1] or sharing[2])


def is_only_repeated(leaves) -> bool:
    """Return whether tensors share memory only because some of them are given twice."""
    different = list({id(t): t for t in leaves}.values())
    return len(different) < len(leaves) and shares_nothing(sharing(different))


def _is_plain_array(a) -> bool:
    """Return whether an array is row-major, and NumPy's or on a device."""
    return a.flags.carray if type(a) is np.ndarray else type(a) is DeviceArray and class_for(a) is Tensor and a.is_contiguous


def has_plain_arguments(call) -> bool:
    """Return whether each argument is a tensor, an array that stands for one, a number, or an object compared by identity, and
    looked-up locations hold only numbers."""
    if call.kwargs or not all(kind in _NUMBERS for kind in call.key[0][2] or ()):
        return False
    _, ((_, specs), _) = call.key[0][0]
    return all(_is_leaf(x) or (_is_itself(spec, x) and type(x) not in KINDS) for x, spec in zip(call.args, specs))


def _is_itself(spec, x) -> bool:
    """Return whether a spec stands for a number, or for this very object."""
    if isinstance(spec, ByIdentity):
        return spec.value is x
    return type(spec) is tuple and (spec[1] is x or spec == (NUMBER, type(x)))


def is_good_for_numbers(entry, call) -> bool:
    """Return whether a recording is known to hold for all numbers that meet its conditions: it agreed for two values of each,
    or the call's own values are checked."""
    if entry.symbols is None:
        return not call.locations
    numbers = {name for place, name in entry.symbols.names.items() if place[0] != SIZE}
    return all(name not in numbers or (len(seen) > 1 and entry.symbols.scope.lows[name] is None)
               for name, seen in zip(entry.symbols.hints, entry.compared))


def _is_bound_by_sizes(entry) -> bool:
    """Return whether compiled code is bound to no numbers but sizes, which belong to the kind of call."""
    sizes = {name for place, name in (entry.symbols.names if entry.symbols is not None else {}).items() if place[0] == SIZE}
    return getattr(entry.tree.first.work.job, "names", frozenset()) <= sizes


def _is_leaf(x) -> bool:
    return (is_a(x, Tensor) and type(x) not in PARTS) or (type(x) is ArrayArgument and type(x.array) is np.ndarray)


class _Writer:
    """Writer of the function for one entry and one kind of arguments."""

    def __init__(self, entry, call):
        self.entry, self.args, self.locations, key = entry, call.args, call.locations, call.key
        self.shapes, self.numbers = call.shapes, call.numbers
        self.grad, self.inference = key[2], key[4][2]
        self.names: dict[str, Any] = {
            "tls": tls, "Defaults": Defaults, "dtype": key[4][0], "device": key[4][1],
            "overridden": config.overridden, "settings": config.overridden.settings,
            "profiles": OPEN_PROFILES, "MISS": MISS, "Tensor": Tensor, "new": Tensor.__new__, "Leaf": Leaf,
            "Structure": Structure, "ndarray": np.ndarray, "DeviceArray": DeviceArray, "same": is_same,
            "Method": MethodType}

    def function(self, inputs, ready, positions):
        """Return the function that calls what is `ready` on `inputs` (numbers of arguments, or captured tensors), and returns
        the results at `positions`."""
        compiled, derived, variant = ready
        constant = [] if derived is None else derived.arrays()
        with holding_weakly(self.entry.passed):
            guards = tests_of(self.entry.guards.values(), self.names)
        tests = [*self._mode(), *self._captured(), *guards]
        if derived is not None:                  # a list of its own until a weight is written
            tests.append(f"{self._name(derived.arrays)}() is {self._name(constant)}")
        checked_natively = [x for x in inputs if type(x) is int] if hasattr(compiled.run, "parts") else []
        lines = [f"if len(args) != {len(self.args)}: return MISS", *self._arguments(checked_natively), *self._numbers(variant),
                 f"if not ({' and '.join(tests)}): return MISS", *self._compute(inputs, constant, compiled, variant),
                 *self._results(positions)]
        body = "\n".join([f"        {line}" for line in lines])
        source = f"def make({', '.join(self.names)}):\n    def quick(args):\n        m = tls.m\n{body}\n    return quick\n"
        space: dict = {"__name__": __name__}
        exec(compile(source, "<quick>", "exec"), space)
        return space["make"](**self.names)

    def _name(self, value):
        name = f"v{len(self.names)}"
        self.names[name] = value
        return name

    def _is_another(self, x, text) -> str:
        """Write whether an argument is another object. Each lookup of a method makes one."""
        with holding_weakly(self.entry.passed):
            if not is_passed(x):
                return f"{text} is not {self._name(x)}"
        same = f"{self._name(Reference(x).of)}()"
        return f"{text} is not {same}" if type(x) is not MethodType else f"{text}.__class__ is not Method or {text} != {same}"

    def _mode(self):
        return [f"not m.told and m.autocast is None and m.grad is {self.grad} and m.inference is {self.inference}",
                "overridden.settings is settings",      # None stands for those of the process, which stay
                "not profiles and Defaults.dtype is dtype and Defaults.device == device"]

    def _arguments(self, checked_natively):
        """Write the checks of the arguments; native code itself checks dtype and order of the arrays in `checked_natively`."""
        lines, leaves = [], 0
        if self.args:
            lines.append(f"{''.join([f'x{i}, ' for i in range(len(self.args))])}= args")
        for i, x in enumerate(self.args):
            if type(x) in _NUMBERS:
                lines.append(f"if x{i}.__class__ is not {type(x).__name__}: return MISS")
                continue
            if not _is_leaf(x):
                lines.append(f"if {self._is_another(x, f'x{i}')}: return MISS")
                continue
            t, n = x.tensor if type(x) is ArrayArgument else x, leaves
            leaves += 1
            before = [k for k in range(i) if self.args[k] is x]
            if before:
                lines += [f"if x{i} is not x{before[0]}: return MISS", f"a{n} = x{i}._a"]
                continue
            others = [f"x{i} is x{k}" for k in range(i) if _is_leaf(self.args[k])]
            if others:
                lines.append(f"if {' or '.join(others)}: return MISS")      # the function may depend on their identity
            lines += self._leaf(i, n, t, is_array=t is not x) + self._memory(n, t._a, n in checked_natively)
        return lines

    def _leaf(self, i, n, t, is_array) -> list:
        """Write the checks of an argument that is a tensor, or an array with the tensor `t` over it; set `a{n}`."""
        apart = self.entry.apart_objects if is_array else self.entry.tensors.apart
        lines = [f"if id(x{i}) in {self._name(apart)}: return MISS"] if apart else []
        if is_array:
            return [*lines, f"if x{i}.__class__ is not ndarray: return MISS", f"a{n} = x{i}"]
        lines += [f"if x{i}.__class__ is not {self._name(type(t))} or not ({_node_test(f'x{i}', t)}): return MISS",
                  f"a{n} = x{i}._a"]
        methods = self.entry.tensors.questions.methods.get(n)
        if methods:
            lines.append(f"if x{i}.__dict__ and not {self._name(methods)}.isdisjoint(x{i}.__dict__): return MISS")
        return lines

    def _memory(self, n, a, is_checked_natively) -> list:
        """Write the checks of the shape, dtype and order of the array `a{n}`."""
        lines, dtype = [f"if a{n}.shape != {self._name(a.shape)}: return MISS"], self._name(a.dtype)
        if type(a) is DeviceArray:
            lines.append(f"if a{n}.__class__ is not DeviceArray or a{n}.dtype is not {dtype} or not a{n}.is_contiguous or "
                         f"a{n}.kind != {a.kind!r} or a{n}.memory.device != {a.device}: return MISS")
        elif not is_checked_natively:
            lines.append(f"if a{n}.__class__ is not ndarray or a{n}.dtype is not {dtype} or not a{n}.flags.carray: "
                         "return MISS")
        return lines

    def _captured(self):
        """Write the checks of captured tensors. Hooks of leaves do not count, as the call needs no gradient."""
        tests = []
        for t, *_ in self.entry.tensors.captured.values():
            name, is_leaf = self._name(t), type(t._node) is Leaf
            same = f"({name}._node is {self._name(t._node)} or {_node_test(name, t)})" if is_leaf else _node_test(name, t)
            tests.append(f"{name}._a is {self._name(t._a)} and {same}")
        return tests

    def _numbers(self, variant):
        """Write the checks of numbers, and what follows from them: values of the symbols, and arrays for native code."""
        names = [f"x{i}" for i, x in enumerate(self.args) if type(x) in _NUMBERS]
        lines, symbols = [], self.entry.symbols
        for k, place in enumerate(self.locations):
            value = place.value()
            lines += [f"n{k} = {self._name(place.value)}()", f"if n{k}.__class__ is not {type(value).__name__}: return MISS"]
            names.append(f"n{k}")
        if symbols is None:
            return [*lines, *[f"if not same({text}, {self._name(x)}): return MISS" for text, x in zip(names, self.numbers)]]
        given = "".join([f"{text}, " for text in names])
        lines += [f"symbols = {self._name(self.entry.match)}({self._name(self.shapes)}, ({given}))",
                  "if symbols is None: return MISS"]
        if variant is not None:
            lines += [f"if not {self._name(variant.holds)}(*symbols): return MISS"] if not variant.is_sure else []
            lines.append(f"early, late = {self._name(variant.numbers)}(symbols)")
        return lines

    def _compute(self, inputs, constant, compiled, variant):
        arrays = [f"a{x}" if type(x) is int else self._name(x._a) for x in inputs]
        early, late = ([], []) if variant is None else (
            [f"{name}[{i}]" for i in range(len(kinds))] for name, kinds in (("early", variant.early), ("late", variant.late)))
        arrays += [*early, *map(self._name, constant), *late]
        if not compiled.is_native:
            replay = self._name(compiled.last[1].replay)
            return [f"found = {replay}([{', '.join(arrays)}])", "if found is None: return MISS"]
        parts = getattr(compiled.run, "parts", None)
        if parts is None:
            return [f"found = {self._name(compiled.run)}([{', '.join(arrays)}])"]
        entry, address, arenas, make, shapes = parts
        made, empty = [f"r{i}" for i in range(len(shapes))], self._name(make)
        results = [f"{r} = {empty}({self._name(shape)}, {self._name(dtype)})" for r, (shape, dtype) in zip(made, shapes)]
        call, where = f"{self._name(entry)}({address}, arena, {', '.join([*arrays, *made])})", self._name(arenas)
        if arenas.size == 0:
            self.names["arena"] = arenas.take()
            lines = [*results, call]
        else:
            lines = [f"arena = {where}.take()", *results, call, f"{where}.give(arena)"]
        return [*lines, f"found = ({', '.join(made)},)"] if len(made) > 1 else [*lines, f"found = ({made[0]},)"]

    def _results(self, positions):
        lines, finish = [], self.entry.tree.first.finish
        for i, ((at, back), (_, output)) in enumerate(zip(positions, finish.outputs)):
            transpose = "" if back is None else f".transpose({back})"
            lines += [f"t{i} = new(Tensor)", f"t{i}._a = found[{at}]{transpose}", f"t{i}._node = t{i}._shared = None"]
            if output.version:
                lines.append(f"t{i}._own_storage().version = {output.version}")
        made = ", ".join([f"t{i}" for i in range(len(positions))])
        template = finish.template
        symbols = ", symbols" if template.has_symbols else ""
        return [*lines, "return t0" if template.is_single else f"return {self._name(template.give)}([{made}]{symbols})"]


def is_same(a, b) -> bool:
    """Return whether two numbers of one type are the same: zeros have signs, and nan is nan."""
    return a is b or (a == b if type(a) is int else a.hex() == b.hex() and (a == a or number_bits(a) == number_bits(b)))


def _node_test(name, t) -> str:
    """Return the source of the check that a tensor's history is of the same kind as that of `t`."""
    if t._node is None:
        return f"{name}._node is None"
    if type(t._node) is not Leaf:
        return f"{name}._node is not None and {name}._node.__class__ is not Leaf"
    return f"{name}._node.__class__ is Leaf and not {name}._node.hooks and not {name}._node.post_hooks"
