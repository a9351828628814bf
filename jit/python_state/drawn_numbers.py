"""Stand-ins for functions that give a number from outside: draws from random generators, clocks, and counters.

A number becomes an input of the recording, and Python gets a lazy scalar for it. So `if random.random() < 0.5` makes two paths,
and `x * random.random()` one. A clock also ends the segment: a replay reads it when it has computed all that comes before.
Numbers of NumPy's own kinds, and arrays, count by value. A sample, or another order of a list, is an array of positions.
Draws of what is neither a number nor an array are refused.
"""

import _random
import functools
import itertools
import random
import sys
import time
import types
from collections.abc import Callable
from typing import Any

import numpy as np

from ...ir import dtype as dt
from ...ir.source_location import place_of_frame
from ...ir.tracebacks import computes_for_python
from ...runtime.core.storage import user_line
from ...runtime.core.tensor import Tensor, wrap
from ...runtime.state.mode import tls
from ..bytecode.attribute_queries import looks_at_types
from ..guards.frames import is_user, unprofiled
from ..host.host_call import repeat
from ..host.host_numbers import LIMIT, HostNumber, ahead
from ..proxies.lazy_scalars import LazyScalar, forced
from ..proxies.numpy_scalars import fixed
from ..recorder.record import Recorder
from ..recorder.recording import Source

computes_for_python(__name__)

_CLOCKS = [getattr(time, name) for name in ("time", "perf_counter", "monotonic", "process_time", "thread_time", "time_ns",
                                            "perf_counter_ns", "monotonic_ns", "process_time_ns", "thread_time_ns")
           if hasattr(time, name)]
_OF_PYTHON = (
    "random", "getrandbits", "uniform", "triangular", "randint", "randrange", "normalvariate", "gauss", "lognormvariate",
    "expovariate", "gammavariate", "betavariate", "paretovariate", "weibullvariate", "vonmisesvariate", "binomialvariate",
    "seed", "choice", "choices", "sample", "shuffle")
_OF_NUMPY = (
    "beta", "binomial", "chisquare", "choice", "exponential", "f", "gamma", "geometric", "gumbel", "hypergeometric", "integers",
    "laplace", "logistic", "lognormal", "logseries", "negative_binomial", "noncentral_chisquare", "noncentral_f", "normal",
    "pareto", "permutation", "poisson", "power", "rand", "randint", "randn", "random", "random_integers", "random_sample",
    "rayleigh", "seed", "standard_cauchy", "standard_exponential", "standard_gamma", "standard_normal", "standard_t",
    "triangular", "uniform", "vonmises", "wald", "weibull", "zipf")
_OPERANDS = frozenset((int, float, bool, str, bytes, type(None)))
_SEQUENCES = frozenset((list, tuple, str, range))       # of which `choice` takes an item by its number
_ADVICE = "pass it as an argument, or use ingot's random functions"
_stand_ins: dict = {}       # id of a stand-in -> the original
_originals: set = set()     # ids of these


def stand_ins() -> list:
    """Return (function, its stand-in) for clocks, `next`, and classes of generators that were loaded since the last call."""
    numpy: Any = sys.modules.get("numpy.random")
    made: list = [] if _stand_ins else [*[(clock, _reading(clock)) for clock in _CLOCKS], (next, _next),
                                        *_methods(_random.Random, _OF_PYTHON), *_methods(random.Random, _OF_PYTHON)]
    if hasattr(numpy, "Generator") and id(vars(numpy.Generator)["normal"]) not in _originals:
        made += [*_methods(numpy.RandomState, _OF_NUMPY), *_methods(numpy.Generator, _OF_NUMPY)]
        if type(numpy.seed) is not types.MethodType:        # a function, in newer versions
            made.append((numpy.seed, _drawing(vars(numpy.RandomState)["seed"], numpy.rand.__self__)))
    _stand_ins.update([(id(other), original) for original, other in made])
    _originals.update([id(original) for original, _ in made])
    return made


def _methods(kind, names) -> list:
    return [(vars(kind)[name], _drawing(vars(kind)[name])) for name in names if name in vars(kind)]


def gives_numbers(function, args) -> bool:
    """Return whether a function is one of these stand-ins, perhaps bound to a generator, that decides about a call itself."""
    if _stand_ins.get(id(function)) is next:
        return bool(args) and type(args[0]) is itertools.count
    return id(getattr(function, "__func__", function)) in _stand_ins


def draws_by(generator) -> bool:
    """Return whether draws from a generator can be repeated: code of users, and the operating system, may give anything. So may
    a method that an attribute of the generator hides."""
    numpy = sys.modules.get("numpy.random")
    if type(generator) is random.Random:
        return vars(generator).keys() <= {"gauss_next"}
    return type(generator) in (getattr(numpy, "RandomState", None), getattr(numpy, "Generator", None))


def _recording(frame) -> Any:
    """Return the recorder that records the code of a frame, or None. It does not record imports, code that interrupts, and a
    later backward."""
    recorder: Any = tls.m.recorder
    if not isinstance(recorder, Recorder) or recorder.tracker is None or not is_user(frame):
        return None
    is_apart = recorder.tracker.world.apart.depth or recorder.tracker.chains.generators.is_apart
    return None if is_apart else recorder


def _reading(clock: Callable) -> Callable:
    @functools.wraps(clock)
    def read():
        frame = sys._getframe(1)
        recorder = _recording(frame)
        if recorder is None or not recorder.permits("clock"):
            return clock()
        if not recorder.reads.defers:
            recorder.tracker.status.refuse(f"it calls time.{clock.__name__}, which reads the clock, and code that takes no "
                                           "numbers that change; read it outside, and pass the time as an argument")
            return clock()
        recorder.reads.passes()
        kind = int if clock.__name__.endswith("_ns") else float
        return _entered(recorder, HostNumber(clock, None, kind=kind), clock(), frame)

    return read


@functools.wraps(next)
def _next(iterator, *default):
    """Stand-in for `next`: that of an `itertools.count` is read at each call, and moved on at its end."""
    frame = sys._getframe(1)
    recorder = _recording(frame)
    if recorder is None or type(iterator) is not itertools.count or not recorder.tracker.world.is_outside(iterator):
        return next(iterator, *default)
    iterators, value = recorder.tracker.reachable.iterators, ahead(iterator, 0)
    if not recorder.reads.defers or type(value) not in (int, float) or abs(value) >= LIMIT:
        iterators.refuse(recorder.tracker.known.name_of(iterator), place_of_frame(frame))
        return next(iterator)
    if not recorder.permits("counter"):
        return next(iterator)
    value = next(iterator)
    call = HostNumber(ahead, None, (iterator, iterators.moves(iterator)), kind=type(value))
    repeat(recorder, "next", next, (iterator,), {})
    return _entered(recorder, call, value, frame)


def _drawing(method: Callable, bound: Any = None) -> Callable:
    """Return the stand-in for a method of a generator, or for the one of the generator `bound`."""
    @functools.wraps(method)
    def draw(*args, **kwargs):
        frame, (generator, *given) = sys._getframe(1), args if bound is None else (bound, *args)
        recorder = _recording(frame)
        if recorder is None or not recorder.tracker.world.is_outside(generator):
            return method(generator, *given, **kwargs)
        return _Draw(recorder, generator, frame).of(method, given, kwargs)

    return draw


class _Draw:
    """Draw of a recorded function from a generator that was there before."""

    def __init__(self, recorder, generator, frame):
        self._recorder, self._generator, self._frame = recorder, generator, frame

    def of(self, method, args, kwargs):
        """Return the result of a method of the generator, as a number that each replay draws."""
        of_items = self._OF_ITEMS.get(method)
        if of_items is not None:
            return of_items(self, method, args, kwargs)
        args, kwargs = tuple(map(_operand, args)), {name: _operand(x) for name, x in kwargs.items()}
        operands = (*args, *kwargs.values())
        takes_plain = all(map(_may_repeat, operands))
        has_bits = method.__name__ != "getrandbits" or operands[:1] <= (62,)
        if not (takes_plain and has_bits and draws_by(self._generator) and self._may_defer()):
            return self._refused(method, args, kwargs)
        if not self._recorder.permits("random"):
            return method(self._generator, *args, **kwargs)
        return self._drawn(method, args, kwargs)

    def _drawn(self, method, args, kwargs):
        generators = self._recorder.tracker.chains.generators
        is_seed = method.__name__ == "seed"
        call = HostNumber(method, self._generator, args, kwargs)
        value = unprofiled(generators.draw, call)
        number = value.item() if isinstance(value, np.generic) else value       # None of a seed
        if is_seed or (type(number) in (int, float) and not (type(number) is int and abs(number) >= LIMIT)):
            call = HostNumber(method, self._generator, args, kwargs, None if is_seed else type(number))
            entered = _entered(self._recorder, call, number, self._frame)
            return entered if number is value else type(value)(_plain(entered))     # (a kind of NumPy's counts by value)
        if type(value) is np.ndarray and value.dtype in dt.BY_NP:
            call = HostNumber(method, self._generator, args, kwargs, value.dtype)
            return _array(self._recorder, call, value).numpy().copy()
        self._say(method, f" for a {type(value).__name__}")
        return value

    def _choice(self, method, args, kwargs):
        """Return `generator.choice(items)`: it draws the number of the item, and each number makes a path of its own."""
        items, = args if len(args) == 1 and not kwargs else (None,)
        below = vars(random.Random)["_randbelow"]
        if type(items) not in _SEQUENCES or not items or not self._may_defer() or not draws_by(self._generator):
            return self._refused(method, args, kwargs)
        return items[forced(self.of(below, (len(items),), {}))]

    def _positions(self, name, below, *args, **kwargs) -> list:
        """Return what a method of Python's generators gives for the numbers below a count, as lazy scalars."""
        method = vars(random.Random)[name]
        call = HostNumber(_positions, self._generator, (method, below, args, tuple(kwargs.items())), kind=np.dtype(np.int64))
        value = unprofiled(self._recorder.tracker.chains.generators.draw, call)
        drawn = _array(self._recorder, call, value)
        return [LazyScalar(self._recorder, drawn[i], int(n)) for i, n in enumerate(value)]

    def _may_draw_from(self, items) -> bool:
        is_known = type(items) in _SEQUENCES and self._may_defer() and draws_by(self._generator)
        return is_known and self._recorder.permits("random")

    def _sample(self, method, args, kwargs):
        """Return `generator.sample(items, k)`."""
        items, k = (*args, kwargs.get("k"))[:2] if args else (None, None)
        is_known = kwargs.keys() <= {"k"} and len(args) + len(kwargs) == 2 and type(k) is int and self._may_draw_from(items)
        if not is_known or not 0 <= k <= len(items):
            return self._refused(method, args, kwargs)
        return _items_of(items, self._positions("sample", len(items), k))

    def _choices(self, method, args, kwargs):
        """Return `generator.choices(items, weights, k=k)`."""
        items = args[0] if args else None
        names = dict(zip(("weights", "cum_weights"), args[1:])) | kwargs
        named = {name: _operand(x) for name, x in names.items()}
        is_known = len(args) < 3 and named.keys() <= {"weights", "cum_weights", "k"} and all(map(_may_repeat, named.values()))
        if not is_known or not items or not self._may_draw_from(items):
            return self._refused(method, args, kwargs)
        return _items_of(items, self._positions("choices", len(items), **named))

    def _shuffle(self, method, args, kwargs):
        """Do `generator.shuffle(items)`."""
        items, = args if len(args) == 1 and not kwargs else (None,)
        if type(items) is not list or not self._may_draw_from(items):
            return self._refused(method, args, kwargs)
        items[:] = _items_of(items, self._positions("shuffle", len(items)))
        return None

    _OF_ITEMS = {vars(random.Random)[name]: how for name, how in (
        ("choice", _choice), ("sample", _sample), ("choices", _choices), ("shuffle", _shuffle))}

    def _may_defer(self) -> bool:
        """Return whether code takes a lazy scalar. One that a checkpoint saves, its second run would not save again."""
        return self._recorder.reads.defers and tls.m.saved_hooks is None

    def _refused(self, method, args, kwargs):
        self._say(method, "")
        return method(self._generator, *args, **kwargs)

    def _say(self, method, what):
        name = f"{type(self._generator).__module__}.{type(self._generator).__qualname__}.{method.__name__}"
        self._recorder.tracker.status.refuse(f"it calls {name}{what}, whose result changes from call to call; {_ADVICE}")


def _positions(generator, method, below, args, named):
    """Return what a method gives for the numbers below a count, or the order into which it brings them."""
    numbers = list(range(below)) if method.__name__ == "shuffle" else range(below)
    found = method(generator, numbers, *args, **dict(named))
    return np.array(numbers if found is None else found, np.int64)


def _items_of(items, positions) -> list:
    """Return the items at lazy positions: those of a range are numbers, and each position in a list makes a path of its own."""
    if type(items) is range:
        return [items.start + items.step * at if (items.start, items.step) != (0, 1) else at for at in positions]
    return [items[forced(at)] for at in positions]


def _operand(x):
    """Return an operand with which each call draws: a list, whose content counts, as a tuple."""
    return tuple(map(_operand, x)) if type(x) in (list, tuple) else _plain(x)


def _may_repeat(x) -> bool:
    """Return whether each call can draw with an operand."""
    if type(x) is tuple:
        return all(map(_may_repeat, x))
    if isinstance(x, (np.dtype, type)):     # `dtype=`
        return x in (bool, int, float) or isinstance(x, np.dtype) or issubclass(x, np.generic)
    return type(x) in _OPERANDS and not (type(x) is int and abs(x) >= LIMIT)


def _array(recorder, call: HostNumber, value) -> Tensor:
    """Enter an array as an input, and return its tensor."""
    t: Tensor = wrap(call.array(value).copy())
    recorder.inputs.enter(t, Source("number", call))
    return t


def _plain(x):
    """Return an operand, with a number that changes fixed to its value: a replay draws with this one."""
    return fixed(forced(x))


def _entered(recorder, call: HostNumber, value, frame):
    """Enter a number as an input, and return what Python gets for it."""
    t: Tensor = wrap(call.array(value))
    recorder.inputs.enter(t, Source("number", call))
    if call.kind is None:
        return value
    line, reads = user_line() if call.kind is int else None, recorder.reads
    if reads.is_size(line, value):
        return reads.size(t, value, line)
    number = LazyScalar(recorder, t, value, line)
    return number.force() if looks_at_types(frame.f_code) else number
