"""Places where state lives: the definition, the expressions that read it, the statements that write and delete it.

In templates, $n is a fresh name, $v the first value and $w the next one. Several reads or writes stand on lines of their own.
"""

from typing import NamedTuple

KINDS = {
    "number": ("1", "2", "0.5", "3", "2.0", "-1", "0", "True", "1.0", "-0.0", "np.float32(1.5)", "np.int64(2)", "False"),
    "text": ("'sin'", "'tanh'", "'abs'", "'neg'"),
    "sequence": ("[1, 2]", "[2, 1, 0.5]", "(1, 2)", "(2, 1.0)", "deque([1, 2], maxlen=3)", "[1, True]", "[]", "[[1], [2]][0]",
                 "range(3)", "array.array('d', [1.0, 2.0])", "[2]", "UserList([1, 2])"),
    "mapping": ("{'a': 1, 'b': 2.0}", "{'b': 2.0, 'a': 1}", "OrderedDict(a=1, b=2)", "defaultdict(int, a=1)", "Counter('aab')",
                "{'a': True}", "{'a': 2, 'b': 1, 'c': 0.5}", "ChainMap({'a': 1}, {'b': 2})", "{}", "UserDict(a=1)"),
    "set": ("{1, 2}", "{2}", "{2.0, 3}", "frozenset({1, 2})", "set()", "{True, 2}"),
    "tensor": ("ingot.ones(3)", "ingot.arange(3.0)", "ingot.full((3,), 2.0)", "ingot.tensor(1.5)", "ingot.tensor([1, 2, 3])",
               "ingot.ones(3, requires_grad=True)", "ingot.arange(6.0)[::2]", "ingot.ones(3, dtype=ingot.float64)"),
    "array": ("np.arange(3.0)", "np.ones(3, 'f')", "np.array([1, 2, 3])", "np.arange(6.0)[::2]", "np.array(2.0)"),
    "function": ("lambda t: t * 2", "lambda t: t + 1", "ingot.tanh", "ingot.relu", "operator.neg", "double", "nn.Tanh()",
                 "functools.partial(scaled, k=2)", "functools.partial(scaled, k=3)", "Thing(2).scale"),
    "object": ("Thing(1)", "Thing(2.0)", "Other(1)", "Record(1)", "Record(1, 'sin')", "Pair(1, 2.0)", "Slotted(2)"),
    "nothing": ("None", "None", "0", "()"),
}


class Place(NamedTuple):
    """A value that code reads by one of `reads`; statements of `writes` and `deletes` change it."""

    kind: str
    reads: tuple
    writes: tuple
    deletes: tuple


_TEXT = """
### variable
$n = $v
--- reads
$n
globals()['$n']
(lambda: $n)()
--- writes
$n = $w
globals()['$n'] = $w
### attribute
$n = Plain($v)
$n_get = operator.attrgetter('a')
$n_of = functools.partial(getattr, $n, 'a')
--- reads
$n.a
$n.a
getattr($n, 'a')
getattr($n, 'a', 7.0)
vars($n)['a']
$n.__dict__['a']
$n.__dict__.get('a', 0.5)
$n_get($n)
$n_of()
$n.get()
$n.own()
--- writes
$n.a = $w
setattr($n, 'a', $w)
$n.__dict__['a'] = $w
$n.put($w)
$n = Plain($w)
--- deletes
del $n.a
delattr($n, 'a')
### class_attribute
class $nBase:
    a = $v
    def get(self): return self.a
    def own(self): return type(self).a
    @classmethod
    def of_class(cls): return cls.a
    @staticmethod
    def of_base(): return $nBase.a
class $nSub($nBase):
    def get(self): return super().get()
$n = $nSub()
$n_get = $n.get
--- reads
$n.a
$n.get()
$n.own()
$n.of_class()
$n.of_base()
$nSub.a
$n_get()
super($nSub, $n).a
--- writes
$nBase.a = $w
$nSub.a = $w
$n.a = $w
--- deletes
del $nSub.a
del $n.a
del $nBase.a
### slot
class $nSlots:
    __slots__ = ('a', 'b')
    def __init__(self, a): self.a = a
$n = $nSlots($v)
--- reads
$n.a
getattr($n, 'a', 7.0)
operator.attrgetter('a')($n)
$nSlots.a.__get__($n)
--- writes
$n.a = $w
$nSlots.a.__set__($n, $w)
$n = $nSlots($w)
--- deletes
del $n.a
### dataclass
@dataclass
class $nData:
    a: object = None
    b: list = field(default_factory=list)
$n = $nData($v)
--- reads
$n.a
dataclasses.asdict($n)['a']
dataclasses.replace($n, b=[]).a
dataclasses.astuple($n)[0]
[getattr($n, f.name) for f in dataclasses.fields($n)][0]
--- writes
$n.a = $w
$n = $nData($w)
$n = dataclasses.replace($n, a=$w)
### namespace
$n = NS(a=$v)
--- reads
$n.a
vars($n)['a']
getattr($n, 'a', 7.0)
--- writes
$n.a = $w
$n.__dict__.update(a=$w)
--- deletes
del $n.a
### property
class $nProp:
    def __init__(self, a): self._a = a
    @property
    def a(self): return self._a
    @a.setter
    def a(self, value): self._a = value
$n = $nProp($v)
--- reads
$n.a
$n._a
$nProp.a.fget($n)
getattr($n, 'a')
--- writes
$n.a = $w
$n._a = $w
$nProp.a = property(lambda self: $w)
### missing_attribute
class $nDyn:
    def __init__(self, a): self.d = {'a': a}
    def __getattr__(self, name):
        try: return self.__dict__['d'][name]
        except KeyError: raise AttributeError(name)
$n = $nDyn($v)
--- reads
$n.a
getattr($n, 'a')
getattr($n, 'a', 7.0)
$n.d['a']
--- writes
$n.d['a'] = $w
$n.a = $w
$n.d = {'a': $w}
--- deletes
del $n.d['a']
del $n.a
### every_attribute
class $nEach:
    def __init__(self, a): self.a = a
    def __getattribute__(self, name): return object.__getattribute__(self, name)
$n = $nEach($v)
--- reads
$n.a
getattr($n, 'a', 7.0)
--- writes
$n.a = $w
--- deletes
del $n.a
### descriptor
class $nDesc:
    def __set_name__(self, owner, name): self.name = '_' + name
    def __get__(self, obj, owner=None): return self if obj is None else getattr(obj, self.name)
    def __set__(self, obj, value): setattr(obj, self.name, value)
class $nHolder:
    a = $nDesc()
$n = $nHolder()
$n.a = $v
--- reads
$n.a
$n._a
$nHolder.__dict__['a'].__get__($n)
--- writes
$n.a = $w
$n._a = $w
--- deletes
del $n._a
### shared_descriptor
class $nDesc:
    def __init__(self): self.values = {}
    def __get__(self, obj, owner=None): return self.values.get('a')
    def __set__(self, obj, value): self.values['a'] = value
class $nHolder:
    a = $nDesc()
$n = $nHolder()
$n.a = $v
--- reads
$n.a
vars($nHolder)['a'].values['a']
--- writes
$n.a = $w
vars($nHolder)['a'].values['a'] = $w
### cached_property
class $nLate:
    def __init__(self, a): self._a = a
    @functools.cached_property
    def a(self): return self._a
$n = $nLate($v)
--- reads
$n.a
--- writes
$n._a = $w
$n.a = $w
--- deletes
del $n.a
### item_method
class $nItems:
    def __init__(self, **d): self.d = d
    def __getitem__(self, k): return self.d[k]
    def __contains__(self, k): return k in self.d
    def __len__(self): return len(self.d)
    def __iter__(self): return iter(self.d)
    def __call__(self): return self.d['a']
$n = $nItems(a=$v)
$n_call = $n.__call__
--- reads
$n['a']
$n()
$n_call()
[$n[k] for k in $n][0]
($n['a'] if 'a' in $n else 3)
operator.itemgetter('a')($n)
--- writes
$n.d['a'] = $w
$n.d = {'a': $w}
--- deletes
del $n.d['a']
### item
$n = {'a': $v, 'z': 5}
$n_get = $n.get
$n_item = $n.__getitem__
--- reads
$n['a']
$n['a']
$n.get('a')
$n.get('a', 3)
operator.itemgetter('a')($n)
operator.methodcaller('get', 'a')($n)
[v for k, v in $n.items() if k == 'a'][0]
next(v for k, v in $n.items() if k == 'a')
{**$n}['a']
dict($n)['a']
($n | {})['a']
list($n.values())[0]
(lambda a=4, **others: a)(**$n)
$n.setdefault('a', 4)
copy.copy($n)['a']
ChainMap({}, $n)['a']
($n['a'] if 'a' in $n else 3)
list(map($n.get, ['a']))[0]
types.MappingProxyType($n)['a']
$n_get('a')
$n_get('a', 3)
$n_item('a')
functools.partial($n.get, 'a')()
--- writes
$n['a'] = $w
$n.update(a=$w)
$n = {'a': $w}
$n = dict($n, a=$w)
$n['a'] = $w; $n['z'] = $n.pop('z', 1)
--- deletes
del $n['a']
$n.pop('a')
$n.clear()
$n['a'] = $n.pop('a')
### ordered_item
$n = OrderedDict(z=5, a=$v)
--- reads
$n['a']
list($n.values())[-1]
$n.get('a', 3)
$n[next(reversed($n))]
--- writes
$n['a'] = $w
$n.update(a=$w)
--- deletes
$n.move_to_end('z')
$n.popitem()
del $n['a']
### default_item
$n = defaultdict(lambda: 2.5, a=$v)
--- reads
$n['a']
$n.get('a', 3)
($n['a'] if 'a' in $n else 3)
--- writes
$n['a'] = $w
$n.default_factory = lambda: $w
--- deletes
del $n['a']
### element
$n = [$v, 5]
$n_item = $n.__getitem__
--- reads
$n_item(0)
$n[0]
$n[-2]
next(iter($n))
[t for t in $n][0]
(lambda t, *others: t)(*$n)
tuple($n)[0]
list(zip($n, [0]))[0][0]
list(enumerate($n))[0][1]
operator.itemgetter(0)($n)
list(reversed($n))[-1]
[*$n][0]
$n[:1][0]
list(itertools.islice($n, 1))[0]
$n.copy()[0]
--- writes
$n[0] = $w
$n[:1] = [$w]
$n.insert(0, $w)
$n = [$w]
$n = [$w] + $n[1:]
$n.append($w)
--- deletes
del $n[0]
$n.pop(0)
$n.reverse()
$n.clear()
### queued
$n = deque([$v, 5])
--- reads
$n[0]
list($n)[0]
next(iter($n))
--- writes
$n[0] = $w
$n.appendleft($w)
--- deletes
$n.popleft()
$n.rotate(1)
$n.reverse()
### in_a_tuple
$n = ($v, 5)
--- reads
$n[0]
(lambda t, *others: t)(*$n)
next(iter($n))
--- writes
$n = ($w, 5)
$n = ($w,) + $n[1:]
### named_tuple
$n = Pair($v, 5)
--- reads
$n.first
$n[0]
$n._asdict()['first']
getattr($n, 'first')
--- writes
$n = Pair($w, 5)
$n = $n._replace(first=$w)
### deep
$n = {'cfg': NS(parts=[Plain($v)])}
--- reads
$n['cfg'].parts[0].a
[p.a for p in $n['cfg'].parts][0]
copy.deepcopy($n)['cfg'].parts[0].a
$n.get('cfg').parts[-1].get()
--- writes
$n['cfg'].parts[0].a = $w
$n['cfg'].parts[0] = Plain($w)
$n['cfg'] = NS(parts=[Plain($w)])
$n['cfg'].parts.insert(0, Plain($w))
$n = {'cfg': NS(parts=[Plain($w)])}
--- deletes
$n['cfg'].parts.clear()
del $n['cfg']
### free_variable
def $nMake():
    a = $v
    def get(): return a
    def put(value):
        nonlocal a
        a = value
    return get, put
$n, $n_put = $nMake()
--- reads
$n()
$n.__closure__[0].cell_contents
list(map(lambda _: $n(), [0]))[0]
--- writes
$n_put($w)
$n.__closure__[0].cell_contents = $w
### default
def $n(a=$v): return a
--- reads
$n()
$n.__defaults__[0]
--- writes
$n.__defaults__ = ($w,)
def $n(a=$w): return a
### keyword_default
def $n(*, a=$v): return a
--- reads
$n()
--- writes
$n.__kwdefaults__ = {'a': $w}
$n.__kwdefaults__['a'] = $w
### function_attribute
def $n(): return $n.a
$n.a = $v
--- reads
$n()
$n.a
getattr($n, 'a', 7.0)
--- writes
$n.a = $w
--- deletes
del $n.a
### constant_of_code
def $n(): return $v
--- reads
$n()
--- writes
$n.__code__ = (lambda: $w).__code__
$n = lambda: $w
### context
$n = contextvars.ContextVar('$n')
$n.set($v)
--- reads
$n.get()
$n.get(3)
--- writes
$n.set($w)
### partial
def $nOf(*args, a=3): return args[0] if args else a
$n = functools.partial($nOf, a=$v)
--- reads
$n()
$n.keywords['a']
--- writes
$n.keywords['a'] = $w
$n = functools.partial($nOf, $w)
### module_attribute
class $nNet(nn.Module):
    def __init__(self):
        super().__init__()
        self.a = $v
    def get(self): return self.a
    def forward(self): return self.a
$n = $nNet()
$n_get = $n.get
--- reads
$n.a
$n.get()
$n()
$n_get()
getattr($n, 'a', 7.0)
--- writes
$n.a = $w
setattr($n, 'a', $w)
$n.eval(); $n.a = $w
--- deletes
del $n.a
### user_dict
$n = UserDict(a=$v)
--- reads
$n['a']
$n.get('a', 3)
$n.data['a']
--- writes
$n['a'] = $w
$n.data = {'a': $w}
--- deletes
del $n['a']
### chain_map
$n = ChainMap({}, {'a': $v})
--- reads
$n['a']
$n.get('a', 3)
$n.maps[1]['a']
--- writes
$n['a'] = $w
$n.maps[1]['a'] = $w
--- deletes
$n.maps.pop(0)
$n.maps.reverse()
### remembered
$n_source = [$v]
@functools.lru_cache(maxsize=None)
def $n(k=0): return $n_source[k]
--- reads
$n()
$n(0)
--- writes
$n_source[0] = $w
$n_source[0] = $w; $n.cache_clear()
### weakly
$n_owner = Plain($v)
$n = weakref.ref($n_owner)
--- reads
$n().a
--- writes
$n_owner.a = $w
$n().a = $w
### of_thread
$n = threading.local()
$n.a = $v
--- reads
$n.a
getattr($n, 'a', 7.0)
--- writes
$n.a = $w
--- deletes
del $n.a
### metaclass
class $nMeta(type):
    @property
    def a(cls): return cls._a
class $n(metaclass=$nMeta):
    _a = $v
--- reads
$n.a
--- writes
$n._a = $w
### bound_method
class $nOwner:
    def __init__(self, a): self.a = a
    def get(self): return self.a
$n_owner = $nOwner($v)
$n = $n_owner.get
--- reads
$n()
$n.__self__.a
types.MethodType($nOwner.get, $n_owner)()
--- writes
$n_owner.a = $w
$n_owner = $nOwner($w)
$nOwner.get = lambda self: $w
### slotted_parent
class $nBase:
    def get(self): return self.a
class $n_:
    a = $v
class $nSub($nBase, $n_): pass
$n = $nSub()
--- reads
$n.get()
$n.a
--- writes
$n_.a = $w
$nBase.a = $w
$nSub.a = $w
--- deletes
del $nBase.a
del $nSub.a
### registry
$n = {}
def $n_register(name):
    def enter(fn):
        $n[name] = fn
        return fn
    return enter
@$n_register('a')
def $n_first(): return $v
--- reads
$n['a']()
next(iter($n.values()))()
--- writes
$n['a'] = lambda: $w
$n_register('a')(lambda: $w)
### iterated_class
class $nRange:
    def __init__(self, a): self.a = a
    def __iter__(self):
        yield self.a
$n = $nRange($v)
--- reads
next(iter($n))
[t for t in $n][0]
list($n)[0]
(lambda *a: a[0])(*$n)
--- writes
$n.a = $w
### imported
$n = sys.modules['fuzzed_$n'] = types.ModuleType('fuzzed_$n')
$n.a = $v
def $n_from():
    from fuzzed_$n import a
    return a
def $n_whole():
    import fuzzed_$n
    return fuzzed_$n.a
def $n_named():
    import fuzzed_$n as m
    return getattr(m, 'a')
--- reads
$n_from()
$n_whole()
$n_named()
$n.a
sys.modules['fuzzed_$n'].a
importlib.import_module('fuzzed_$n').a
--- writes
$n.a = $w
setattr($n, 'a', $w)
--- deletes
del $n.a
### with_context
class $nContext:
    a = $v
    def __enter__(self): return self.a
    def __exit__(self, *error): return False
$n = $nContext()
def $n_get():
    with $n as a:
        return a
--- reads
$n_get()
--- writes
$n.a = $w
$nContext.a = $w
"""


def _lines(text):
    return tuple(line for line in text.split("\n") if line)


def _parsed(text):
    name, _, body = text.partition("\n")
    definition, _, others = body.partition("--- reads\n")
    reads, _, others = others.partition("--- writes\n")
    writes, _, deletes = others.partition("--- deletes\n")
    return name, (definition, _lines(reads), _lines(writes), _lines(deletes))


HOLDERS = dict(map(_parsed, _TEXT.split("### ")[1:]))
