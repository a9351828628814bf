"""Programs in which functions hand on objects that were there before, and other functions read these: rows as in
`hidden_programs.py`."""

from textwrap import dedent

_C = "class C:\n    def __init__(self, w): self.w = w\n"        # for objects
_G = _C + "c = C(2.0)\ndef get(): return c"
_D = """
@dataclass
class C:
    w: float = 2.0
    l: list = field(default_factory=lambda: [2.0])
c = C()
def get(): return c
"""

HANDED = {
    "given_by_getter": (_C + "c = C(2.0)\ndef get(): return c", "x * get().w", "c.w = 3.0"),
    "given_by_default": (_C + "def get(c=C(2.0)): return c", "x * get().w", "get().w = 3.0"),
    "given_with_others": (
        _C + "l = [C(2.0), C(3.0)]\ndef get(): return l[:]",
        "a, b = get()\nreturn x * a.w + b.w", "l[1].w = 4.0"),
    "given_in_a_loop": (
        _C + "l = [C(2.0), C(3.0)]\ndef get(): return tuple(l)",
        "for c in get(): x = x * c.w\nreturn x", "l[1].w = 4.0"),
    "given_in_dict": (_C + "c = C(2.0)\ndef get(): return {'a': {'b': c}}", "x * get()['a']['b'].w", "c.w = 3.0"),
    "given_by_generator": (
        _C + "l = [C(2.0), C(3.0)]\ndef get(): yield from l",
        "for c in get(): x = x * c.w\nreturn x", "l[1].w = 4.0"),
    "given_by_next": (_C + "l = [C(2.0), C(3.0)]\ndef get(): yield from l", "x * next(get()).w", "l[0].w = 4.0"),
    "given_by_lambda": (_C + "c = C(2.0)\nget = lambda: c", "x * get().w", "c.w = 3.0"),
    "given_by_partial": (_C + "c = C(2.0)\ndef get(a): return c\nget = functools.partial(get, 1)", "x * get().w", "c.w = 3.0"),
    "given_by_cache": (_C + "c = C(2.0)\n@functools.lru_cache\ndef get(): return c\nget()", "x * get().w", "c.w = 3.0"),
    "given_by_cache_of_keys": (
        _C + "@functools.cache\ndef get(name): return C(2.0)\nget('a'); get('b')",
        "x * get('b').w", "get('b').w = 3.0"),
    "given_by_cache_at_first": (
        _C + "@functools.cache\ndef get(name): return C(2.0)", "x * get('b').w", "get('b').w = 3.0"),
    "dictionary_by_cache_at_first": (
        "@functools.lru_cache(2)\ndef get(name): return {'k': 2.0}", "x * get('b')['k']", "get('b')['k'] = 3.0"),
    "cache_that_is_cleared": (
        "s = SimpleNamespace(k=2.0)\n@functools.lru_cache\ndef get(): return s.k\nget()",
        "x * get()", "s.k = 3.0; get.cache_clear()"),
    "given_by_property": (
        _C + "c = C(2.0)\nclass R:\n    @property\n    def p(self): return c\nr = R()",
        "x * r.p.w", "c.w = 3.0"),
    "given_by_class_method": (
        _C + "class R:\n    c = C(2.0)\n    @classmethod\n    def get(cls): return cls.c",
        "x * R.get().w", "R.c.w = 3.0"),
    "singleton": ("""
        class S:
            one = None
            def __new__(cls):
                if cls.one is None:
                    cls.one = object.__new__(cls)
                    cls.one.w = 2.0
                return cls.one
        S()""",
        "x * S().w", "S().w = 3.0"),
    "given_by_item": (_C + "c = C(2.0)\nclass R:\n    def __getitem__(self, i): return c\nr = R()", "x * r[0].w", "c.w = 3.0"),
    "given_by_iteration": (
        _C + "l = [C(2.0)]\nclass R:\n    def __iter__(self): return iter(l)\nr = R()",
        "for c in r: x = x * c.w\nreturn x", "l[0].w = 3.0"),
    "given_by_own_next": (
        _C + dedent("""
            l = [C(2.0)]
            class R:
                def __init__(self): self.n = 0
                def __iter__(self): return self
                def __next__(self):
                    if self.n: raise StopIteration
                    self.n = 1
                    return l[0]"""),
        "for c in R(): x = x * c.w\nreturn x", "l[0].w = 3.0"),
    "given_by_getattr": (
        _C + "c = C(2.0)\nclass R:\n    def __getattr__(self, name): return c\nr = R()",
        "x * r.anything.w", "c.w = 3.0"),
    "given_by_context": (
        _C + "c = C(2.0)\nclass R:\n    def __enter__(self): return c\n    def __exit__(self, *e): pass\nr = R()",
        "with r as m: return x * m.w", "c.w = 3.0"),
    "given_by_contextlib": (
        _C + "import contextlib\nc = C(2.0)\n@contextlib.contextmanager\ndef get(): yield c",
        "with get() as m: return x * m.w", "c.w = 3.0"),
    "given_by_call": (_C + "c = C(2.0)\nclass R:\n    def __call__(self): return c\nr = R()", "x * r().w", "c.w = 3.0"),
    "given_by_getter_of_getter": (_C + "c = C(2.0)\ndef one(): return c\ndef get(): return one()", "x * get().w", "c.w = 3.0"),
    "given_by_inner": (_C + "c = C(2.0)\ndef make():\n    def get(): return c\n    return get", "x * make()().w", "c.w = 3.0"),
    "given_in_an_object": (_C + "c = C(2.0)\nclass R:\n    def __init__(self, c): self.c = c", "x * R(c).c.w", "c.w = 3.0"),
    "taken_in_an_object": (
        _C + "c = C(2.0)\nclass R:\n    def __init__(self, c): self.c = c\ndef use(x, r): return x * r.c.w",
        "use(x, R(c))", "c.w = 3.0"),
    "taken_in_a_list": (_C + "c = C(2.0)\ndef use(x, l): return x * l[0].w", "use(x, [c])", "c.w = 3.0"),
    "taken_as_varargs": (_C + "c = C(2.0)\ndef use(x, *l): return x * l[0].w", "use(x, c)", "c.w = 3.0"),
    "taken_as_keywords": (_C + "c = C(2.0)\ndef use(x, **l): return x * l['a'].w", "use(x, a=c)", "c.w = 3.0"),
    "taken_by_name": (_C + "c = C(2.0)\ndef use(x, *, c): return x * c.w", "use(x, c=c)", "c.w = 3.0"),
    "taken_in_dict_of_lists": (_C + "c = C(2.0)\ndef use(x, l): return x * l['a'][0].w", "use(x, {'a': [c]})", "c.w = 3.0"),
    "given_with_attributes": (_C + "c = C(C(2.0))\ndef get(): return c", "x * get().w.w", "c.w.w = 3.0"),
    "given_and_replaced": (_C + "c = C(C(2.0))\ndef get(): return c", "x * get().w.w", "c.w = C(3.0)"),
    "given_with_new_attribute": (_C + "c = C(2.0)\ndef get(): return c", "x * getattr(get(), 'v', 2.0)", "c.v = 3.0"),
    "given_with_hasattr": (_C + "c = C(2.0)\ndef get(): return c", "x * 2 if hasattr(get(), 'v') else x + 1", "c.v = 3.0"),
    "given_tensor_attribute": (_C + "c = C(ingot.ones(3))\ndef get(): return c", "x * get().w", "c.w = ingot.ones(3) * 2"),
    "given_method": (_C + "c = C(2.0)\nc.m = lambda x: x * 2\ndef get(): return c", "get().m(x)", "c.m = lambda x: x * 3"),
    "class_with_another_attribute_instead": (
        "class S: w = 2.0\ns = S()\ndef get(): return s", "x * getattr(get(), 'v', 2.0)", "del S.w; S.v = 3.0"),
    "given_class": ("class S: w = 2.0\ndef get(): return S", "x * get().w", "S.w = 3.0"),
    "class_of_object": ("class S: w = 2.0\ns = S()", "x * type(s).w", "S.w = 3.0"),
    "class_of_given": ("class S: w = 2.0\ns = S()\ndef get(): return s", "x * type(get()).w", "S.w = 3.0"),
    "class_attribute_of_given": ("class S: w = 2.0\ns = S()\ndef get(): return s", "x * get().w", "S.w = 3.0"),
    "given_module": ("m = types.ModuleType('m'); m.w = 2.0\ndef get(): return m", "x * get().w", "m.w = 3.0"),
    "given_import": (
        "sys.modules['cfg_x'] = m = types.ModuleType('cfg_x'); m.w = 2.0\nimport importlib",
        "x * importlib.import_module('cfg_x').w", "m.w = 3.0"),
    "given_namespace": ("s = SimpleNamespace(w=2.0)\ndef get(): return s", "x * get().w", "s.w = 3.0"),
    "given_dataclass": ("@dataclass\nclass D:\n    w: float = 2.0\nd = D()\ndef get(): return d", "x * get().w", "d.w = 3.0"),
    "given_slots": ("class D:\n    __slots__ = ('w',)\nd = D(); d.w = 2.0\ndef get(): return d", "x * get().w", "d.w = 3.0"),
    "given_net": ("n = nn.Linear(3, 3); n.scale = 2.0\ndef get(): return n", "x * get().scale", "n.scale = 3.0"),
    "given_net_mode": ("n = nn.Dropout(0.5).eval()\ndef get(): return n", "x * 2 if get().training else x + 1", "n.train()"),
    "given_enum": ("class E(enum.Enum):\n    A = 1\nE.A.w = 2.0\ndef get(): return E.A", "x * get().w", "E.A.w = 3.0"),
    "given_list": ("l = [2.0]\ndef get(): return l", "x * get()[0]", "l[0] = 3.0"),
    "given_dict": ("d = {'k': 2.0}\ndef get(): return d", "x * get()['k']", "d['k'] = 3.0"),
    "given_by_dict_get": (_C + "d = {'k': C(2.0)}\ndef get(k): return d.get(k)", "x * get('k').w", "d['k'].w = 3.0"),
    "given_by_max": (_C + "l = [C(2.0), C(3.0)]\ndef get(): return max(l, key=lambda c: c.w)", "x * get().w", "l[0].w = 4.0"),
    "given_by_recursion": (_C + "c = C(2.0)\ndef get(n): return get(n - 1) if n else c", "x * get(3).w", "c.w = 3.0"),
    "kept_by_thread": (
        "t = threading.local(); t.c = SimpleNamespace(w=2.0)\ndef get(): return t.c",
        "x * get().w", "t.c.w = 3.0"),
    "kept_by_context": (
        "v = contextvars.ContextVar('v'); v.set(SimpleNamespace(w=2.0))\ndef get(): return v.get()",
        "x * get().w", "v.get().w = 3.0"),
    "kept_weakly": (_C + "c = C(2.0)\nr = weakref.ref(c)\ndef get(): return r()", "x * get().w if c else x", "c.w = 3.0"),
    "kept_by_proxy": (_C + "c = C(2.0)\nr = weakref.proxy(c)", "x * r.w if c else x", "c.w = 3.0"),
    "given_proxy": (_C + "c = C(2.0)\nr = weakref.proxy(c)\ndef get(): return r", "x * get().w if c else x", "c.w = 3.0"),
    "caught": (
        _C + "class E(Exception): pass\ne = E(); e.w = 2.0\ndef get(): raise e",
        "try: get()\nexcept E as found: return x * found.w", "e.w = 3.0"),
    "copied": (_C + "c = C(2.0)\ndef get(): return copy.copy(c)", "x * get().w", "c.w = 3.0"),
    "copied_and_changed": (_C + "c = C(2.0)", "d = copy.copy(c)\nd.w = d.w + 1\nreturn x * d.w", "c.w = 3.0"),
    "copied_deeply": (
        _C + "c = C(C(2.0))\ndef get(): return copy.deepcopy(c)",
        "d = get()\nd.w.w += 1\nreturn x * d.w.w", "c.w.w = 3.0"),
    "replaced": ("""
        import dataclasses
        @dataclass(frozen=True)
        class D:
            w: float = 2.0
            v: float = 1.0
        d = [D()]
        def get(): return dataclasses.replace(d[0], v=2.0)""",
        "x * get().w", "d[0] = D(3.0)"),

    # Attributes whose names stand in patterns, texts and tables, or nowhere.
    "pattern": (_G, "match get():\n    case C(w=v): return x * v", "c.w = 3.0"),
    "pattern_by_place": (_G + "\nC.__match_args__ = ('w',)", "match get():\n    case C(v): return x * v", "c.w = 3.0"),
    "pattern_that_fits_no_more": (_G, "match get():\n    case C(w=2.0): return x * 2\nreturn x * 7", "c.w = 3.0"),
    "pattern_that_fits_now": (_G, "match get():\n    case C(q=v): return x * v\nreturn x * 7", "c.q = 3.0"),
    "pattern_of_another_class": (
        _G, "match get():\n    case C(): return x * 2\nreturn x * 7", "c.__class__ = type('D', (), {})"),
    "format": (_G, "x * float('{0.w}'.format(get()))", "c.w = 3.0"),
    "format_map": (_G, "x * float('{c.w:.1f}'.format_map({'c': get()}))", "c.w = 3.0"),
    "getter_made_here": (_G, "x * max(map(operator.attrgetter('w'), [get()]))", "c.w = 3.0"),
    "getter_of_a_path": (_G + "\nc.d = C(2.0)", "x * operator.attrgetter('d.w')(get())", "c.d.w = 3.0"),
    "table": (_G, "x * dict(get().__dict__)['w']", "c.w = 3.0"),
    "table_by_key": (_G, "x * get().__dict__['w']", "c.w = 3.0"),
    "table_of_the_class": (_G + "\nC.v = 2.0", "x * type(get()).__dict__['v']", "C.v = 3.0"),
    "plain_getter": (_G, "x * object.__getattribute__(get(), 'w')", "c.w = 3.0"),
    "members": (_G, "import inspect\nreturn x * dict(inspect.getmembers(get()))['w']", "c.w = 3.0"),
    "fields_as_dict": (_D, "from dataclasses import asdict\nreturn x * asdict(get())['w']", "c.w = 3.0"),
    "fields_as_tuple": (_D, "from dataclasses import astuple\nreturn x * astuple(get())[1][0]", "c.l[0] = 3.0"),
    "lack_is_caught": (_G, "try: return x * get().q\nexcept AttributeError: return x * 7", "c.q = 3.0"),
    "lack_is_caught_with_all": (_G, "try: return x * get().q\nexcept: return x * 7", "c.q = 3.0"),
    "lack_is_caught_by_a_caller": (
        _G + "\ndef read(): return get().q", "try: return x * read()\nexcept Exception: return x * 7", "c.q = 3.0"),
    "lack_is_suppressed": (
        "import contextlib\n" + _G,
        "with contextlib.suppress(AttributeError): return x * get().q\nreturn x * 7", "c.q = 3.0"),
    "variable_set_while_its_reader_runs": (_G, """
        def read():
            yield 1
            yield found.w
        found = None
        steps = read()
        next(steps)
        found = get()
        return x * next(steps)""", "c.w = 3.0"),
}
