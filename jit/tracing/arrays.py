"""NumPy arrays and lists of ints as arguments: those from which a function only makes tensors, or with which it indexes, are
inputs like tensors. So is a list of which it takes the length, the largest or smallest number, or the sum.

    @jit.trace
    def act(observation):
        x = ingot.as_tensor(observation, dtype=ingot.float32)
        return net(x).argmax(-1).numpy()

The uses of an argument are read off the function's bytecode, and that of functions that it passes the argument to. Arrays that
are used in other ways count by content: a recording holds for that content alone. Lists count by their elements then.
"""

import types
from functools import lru_cache
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np

from ...ir import dtype as dt
from ...runtime.api.register.register import FUNCTIONS
from ...runtime.api.tensor_classes.legacy_types import TensorType
from ...runtime.core.tensor import Tensor
from ..bytecode.reads import ARGUMENT, FREE, GLOBAL, MISSING, Chain, follow
from ..bytecode.stack import CONSTANTS, Walk, builds_container, instructions_of, is_lookup
from ..bytecode.user_code import is_user_code, unwrap_function
from ..guards.arg_pytree import ArrayArgument
from ..guards.locations import root_value
from ..python_state.stand_ins import casts_of

_CONVERTERS = tuple([FUNCTIONS[name] for name in ("tensor", "as_tensor", "asarray", "from_numpy")])
_DATA = (0, "data", "obj", "ndarray")               # how they are given it
_LIKE_TENSORS = frozenset((np.ndarray, list, tuple))  # types of which some objects become inputs
_KINDS = ("dtype", "ndim")                          # attributes that are part of what a recording is good for
_AT_LARGE = frozenset(("locals", "vars", "eval", "exec", "_getframe"))
_MOST = 1 << 62                                     # of numbers in lists
_DEEPEST = 4                                        # functions that hand an argument on
_ROOTS = {"LOAD_GLOBAL": GLOBAL, "LOAD_NAME": GLOBAL, "LOAD_DEREF": FREE}


class Constant(NamedTuple):

    """A value that an instruction loads."""
    value: object


class Use(NamedTuple):
    """A call that passes an argument to what a chain leads to, by this position or keyword, perhaps as the only one."""

    chain: Chain
    where: int | str
    is_only: bool = False


SIZES = "sizes"         # as a use: its sizes are read
KEY = "[]"              # as a use: something is indexed with it, which is no list or number if it has dimensions
HELD = "held"           # as a use: it is returned, also in a container, or compared by identity
LENGTH = "len"          # as a use: its length is taken where `len` has a stand-in while a call is recorded
EXTREME = "max"         # as a use: so is its largest or smallest number, or the sum
_NUMBERS_OF = (len, max, min, sum)
_RESULT, _ITEM = ("result", None), ("item of", None)        # steps of chains: calling what they lead to, an item of it
_GIVEN, _HELD = "given", "in a container"       # mark the argument on the stack, and a container that is made with it
_IN_KEY = "in key"                  # one that is a tuple with the argument itself
_MARKS = frozenset((_GIVEN, _HELD, _IN_KEY))


class ArrayArguments:
    """Parameters of a function that take arrays from which it only makes tensors."""

    def __init__(self, fn):
        self._fn = fn
        self._uses: dict = {}       # name of a parameter -> what else it does with it, as `uses_in` says it
        self._looked_at: set = set()    # names of those of which the content counted in a call

    def stand_ins(self, args, kwargs) -> tuple:
        """Return (args, kwargs) with a `ArrayArgument` in place of each such array."""
        given = [x for x in (*args, *kwargs.values()) if type(x) in _LIKE_TENSORS and (is_array(x) or is_index_list(x))]
        if not given:
            return args, kwargs
        arguments = named(self._fn, args, kwargs)
        made: dict = {}
        for x in given:
            names = [name for name, other in arguments.items() if other is x]
            each = [self._of(name, arguments) for name in names]
            if id(x) not in made and None not in each and len(names) == sum([x is other for other in given]):
                made[id(x)] = _stand_in_for(x, set().union(*each))

        def stand_in(x):
            return made.get(id(x)) or x

        return tuple(map(stand_in, args)), {k: stand_in(x) for k, x in kwargs.items()}

    def _of(self, name, arguments):
        if name not in self._uses:
            self._uses[name] = uses_in(unwrap_function(self._fn, ())[0], arguments, name)
        return self._uses[name]

    def why(self, args, kwargs) -> str:
        """Return what to do about arrays that count by content, after a call with another content; empty if there are none."""
        arguments = named(self._fn, args, kwargs)
        new = [name for name, x in arguments.items() if is_array(x)]
        again = [name for name in new if name in self._looked_at]
        self._looked_at.update(new)
        if not again:
            return ""
        name = again[0]
        return (f"{name} is a numpy array with another content, and the function does more with it than to make a tensor of "
                f"it; begin with `{name} = ingot.as_tensor({name})` and compute with that, or pass a tensor")

    def is_outdated(self, args, kwargs) -> bool:
        """Return whether the function would now use its arrays in another way, since names lead elsewhere; adopt the new uses.
        """
        before, self._uses = self._uses, {}
        self.stand_ins(args, kwargs)
        return any(before.get(name, uses) != uses for name, uses in self._uses.items())


def is_array(x) -> bool:
    """Return whether a value is an array that a tensor can share."""
    return type(x) is np.ndarray and x.dtype in dt.BY_NP and x.dtype.isnative and x.flags.aligned


def is_index_list(x) -> bool:
    """Return whether a value is a list or tuple of ints that an array of ints can hold."""
    return type(x) in (list, tuple) and set(map(type, x)) == {int} and min(x) >= -_MOST and max(x) < _MOST


def _stand_in_for(x, uses: set) -> ArrayArgument | None:
    """Return the stand-in of an array or list for its uses, or None if it must be what it is."""
    if type(x) is np.ndarray:
        counts = EXTREME in uses or (KEY in uses and not x.ndim)
        return None if counts else ArrayArgument(x, SIZES in uses or LENGTH in uses)
    if HELD in uses or (KEY in uses and type(x) is tuple):
        return None
    return ArrayArgument(x, SIZES in uses)


def named(fn, args, kwargs) -> dict:
    """Return {name of a parameter: its argument}, as far as a plain function names them."""
    fn, args = unwrap_function(fn, args)
    code = getattr(fn, "__code__", None)
    if code is None:
        return {}
    names = code.co_varnames[: code.co_argcount]
    own = code.co_varnames[: code.co_argcount + code.co_kwonlyargcount]
    return {**dict(zip(names, args)), **{name: value for name, value in kwargs.items() if name in own}}


def uses_in(fn, arguments, name, depth=0) -> set | None:
    """Return the uses of a named argument other than making a tensor of it: SIZES, KEY or nothing; None if there may be any
    use."""
    code = getattr(fn, "__code__", None)
    found = None if code is None else _uses_of(code, name)
    if found is None or depth > _DEEPEST:
        return None
    uses: set = set()
    for use in found:
        more = {use} if type(use) is str else _uses_behind(_value_of(fn, arguments, use.chain), use, depth, fn)
        if more is None:
            return None
        uses |= more
    return uses


def _uses_behind(target, use, depth, caller):
    """Return the uses of a value by what `caller` passes it to."""
    where = use.where
    if where == KEY:
        return {KEY} if _is_plain_tensor(target) else None
    if any(target is function for function in _NUMBERS_OF):
        is_user = is_user_code(caller.__globals__.get("__name__", ""), caller.__code__.co_filename)
        has_cast = is_user and use.is_only and casts_of(caller.__code__).get(target.__name__, False)
        return ({LENGTH} if target is len else {EXTREME}) if has_cast else {SIZES} if target is len else None
    if target is isinstance or ((target in _CONVERTERS or target is Tensor or type(target) is TensorType) and where in _DATA):
        return set()
    target, before = unwrap_function(target, ())
    if not isinstance(target, types.FunctionType):
        return None
    code = target.__code__
    at: Any = where
    if isinstance(where, int):
        at = code.co_varnames[where + len(before)] if where + len(before) < code.co_argcount else None
    elif where not in code.co_varnames[: code.co_argcount + code.co_kwonlyargcount]:
        at = None
    return None if at is None else uses_in(target, named(target, before, {}), at, depth + 1)


def _value_of(fn, arguments, chain):
    """Return what a chain in a function's code leads to at the call. A tensor stands for its items, and for results of its
    methods that are no arrays."""
    if chain.root == GLOBAL:
        start = root_value(fn.__globals__, chain.name)
    elif chain.root == ARGUMENT:
        start = arguments.get(chain.name, MISSING)
    else:
        start = root_value(fn.__closure__[fn.__code__.co_freevars.index(chain.name)], chain.name)
    steps = list(chain.steps)
    while (at := next((i for i, step in enumerate(steps) if step in (_RESULT, _ITEM)), None)) is not None:
        start = _stand_in(follow(start, steps[:at])) if steps[at] == _RESULT else follow(start, steps[:at])
        if not _is_plain_tensor(start):
            return MISSING
        steps = steps[at + 1:]
    return follow(start, steps)


def _stand_in(method):
    """Return the tensor of a bound method that returns no array, else MISSING."""
    if not isinstance(method, types.MethodType) or method.__name__ == "numpy":
        return MISSING
    return method.__self__ if getattr(Tensor, method.__name__, None) is method.__func__ else MISSING


def _is_plain_tensor(x) -> bool:
    """Return whether indexing an object is indexing a tensor."""
    return getattr(type(x), "__getitem__", None) is Tensor.__getitem__


class _Marks(Walk):
    """A walk that marks the argument, chains from other variables, and constants."""

    def __init__(self, code, name, is_given):
        names = code.co_varnames[: code.co_argcount + code.co_kwonlyargcount]
        super().__init__({n: Chain(ARGUMENT, n, ()) for n in names if n != name})
        self._free = code.co_freevars
        if is_given:
            self.variables[name] = _GIVEN

    def marked(self, ins, taken):
        name = ins.opname
        marked = list(map(_is_marked, taken))
        if any(marked) and builds_container(ins, marked):
            return _IN_KEY if ins.opname == "BUILD_TUPLE" and {_HELD, _IN_KEY}.isdisjoint(taken) else _HELD
        if name in _ROOTS and (_ROOTS[name] == GLOBAL or ins.argval in self._free):
            return Chain(_ROOTS[name], ins.argval, ())
        if name in ("LOAD_ATTR", "LOAD_METHOD") and type(taken[0]) is Chain:
            return Chain(taken[0].root, taken[0].name, (*taken[0].steps, ("attr", ins.argval)))
        if name in ("CALL", "CALL_KW") or is_lookup(ins):
            behind = taken[0] if is_lookup(ins) else _callee(taken)
            step = _ITEM if is_lookup(ins) else _RESULT
            return Chain(behind.root, behind.name, (*behind.steps, step)) if type(behind) is Chain else None
        return Constant(ins.argval) if name in CONSTANTS else None


@lru_cache(maxsize=4096)
def _uses_of(code, name) -> tuple | None:
    """Return the uses of an argument in a code object; None if some are not understood."""
    instructions = instructions_of(code)
    if name in code.co_cellvars or not _AT_LARGE.isdisjoint(code.co_names):
        return None
    stored = {n for ins in instructions if "STORE_FAST" in ins.opname for n in _names(ins)}
    is_first, can_end, keywords = True, not _has_handlers(instructions), ()
    walk, found = _Marks(code, name, True), []
    for ins in instructions:
        is_jump = "JUMP" in ins.opname or ins.opname in ("FOR_ITER", "SEND")
        if ins.is_jump_target or is_jump:
            if is_jump and ins.opname.endswith("_NONE"):
                walk.take(1)
            if any(map(_is_marked, walk.stack)):
                return None
            if is_first and can_end and not _is_marked(walk.variables.get(name)):
                return tuple(found)             # it was rebound before the first branch, and is never seen again
            is_first, walk = False, _Marks(code, name, True)
            for other in stored - {name}:
                walk.variables.pop(other, None)
            if is_jump:
                continue
        if ins.opname == "KW_NAMES":
            keywords = code.co_consts[ins.arg]
            continue
        before = list(walk.stack)
        taken = walk.step(ins)
        if any(_is_marked(mark) for n, mark in walk.variables.items() if n != name):
            return None
        if taken is None:
            if any(map(_is_marked, before)) or name in _names(ins):
                return None
            walk.stack = []
        elif any(map(_is_marked, taken)):
            use = _use(ins, taken, keywords)
            if use is None:
                return None
            found += use
        keywords = () if ins.opname.startswith("CALL") else keywords
    return tuple(found)


def _use(ins, taken, keywords) -> list | None:
    """Return the use of the argument by an instruction that takes it."""
    if ins.opname == "LOAD_ATTR":
        return [] if ins.argval in _KINDS else [SIZES] if ins.argval == "shape" else None
    if builds_container(ins, list(map(_is_marked, taken))):
        return []
    if ins.opname in ("IS_OP", "RETURN_VALUE"):
        return [HELD]
    if ins.opname == "STORE_SUBSCR" or is_lookup(ins):
        *others, indexed, key = taken
        if type(indexed) is not Chain or key == _HELD or any(map(_is_marked, others)):
            return None
        return [Use(indexed, KEY)]
    if not {_HELD, _IN_KEY}.isdisjoint(taken):
        return None
    if ins.opname == "CALL_KW" and type(taken[-1]) is Constant:
        keywords, taken = taken[-1].value, taken[:-1]
    elif ins.opname != "CALL":
        return None
    callee = _callee(taken)
    if callee is None:
        return None
    given = taken[2:]
    first = len(given) - len(keywords)
    return [Use(callee, i if i < first else keywords[i - first], len(given) == 1)
            for i, mark in enumerate(given) if mark == _GIVEN]


def _callee(taken) -> Chain | None:
    """Return the chain of the function that a call calls, if there is one."""
    slots = {slot for slot in taken[:2] if slot is not None}
    return next(iter(slots)) if len(slots) == 1 and type(*slots) is Chain else None


def _is_marked(mark) -> bool:
    return type(mark) is str and mark in _MARKS


def _names(ins) -> tuple:
    """Return the variables of an instruction."""
    if "FAST" not in ins.opname:
        return ()
    return ins.argval if isinstance(ins.argval, tuple) else (ins.argval,)


def _has_handlers(instructions) -> bool:
    """Return whether code continues after exceptions, other than by leaving `with`."""
    return any(ins.opname == "PUSH_EXC_INFO" and after.opname != "WITH_EXCEPT_START" for ins, after in pairwise(instructions))
