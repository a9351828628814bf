"""Programs that read Python state where names do not show it, and what changes that state between calls.

A row is name: (setup, body of the traced function of x, change). A body is an expression, or statements with a return; if it is
empty, the setup makes `fn` itself. A row is made by several roads: names of the setup are variables of a closure or of a
module, or the latter's values are handed to a function, of which an inner function has them."""

import ast
import linecache
from textwrap import dedent, indent

import ingot
from ingot import nn
from passed_object_programs import HANDED

ROADS = ("closure", "global", "handed_in")

IMPORTS = """
import array, collections, contextvars, copy, difflib, enum, fractions, functools, json, logging, operator, os, pickle, pprint
import string, sys, textwrap, threading, types, weakref
from dataclasses import dataclass, field
from types import SimpleNamespace
import numpy as np
import ingot
from ingot import nn
"""


class Layers(nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = nn.ModuleList([nn.ReLU(), nn.Sigmoid()])
        self.table = nn.ModuleDict({"a": nn.ReLU(), "b": nn.Sigmoid()})
        self.weights = nn.ParameterList([nn.Parameter(ingot.ones(3))])
        for layer in self.layers:
            layer.scale = 2.0

    def forward(self, x):
        for layer in self.layers:
            x = layer(x) + 1
        for name in self.table:
            x = x + len(name)
        for w in self.weights:
            x = x * (w + 1)
        return x


PROGRAMS = {
    # Containers and iteration.
    "list_len": ("l = [1, 2]", "x * len(l)", "l.append(1)"),
    "list_sum": ("l = [1.0, 2.0]", "x * sum(l)", "l.append(1.0)"),
    "list_iter": ("l = [1.0, 2.0]", "for v in l: x = x * v\nreturn x", "l.append(3.0)"),
    "nested": ("l = {'a': [{'b': (1.0, [2.0])}]}", "x * l['a'][0]['b'][1][0]", "l['a'][0]['b'][1][0] = 5.0"),
    "tuple_inner": ("l = [2.0]; t = (l, 1)", "x * t[0][0]", "l[0] = 3.0"),
    "nparr": ("a = np.array([2.0])", "x * float(a[0])", "a[0] = 3.0"),
    "nparr_attr": ("s = SimpleNamespace(a=np.array([2.0]))", "x * float(s.a.sum())", "s.a[0] = 3.0"),
    "nparr_in_list": ("s = [np.array([2.0])]", "x * float(s[0].sum())", "s[0][0] = 3.0"),
    "arr": ("a = array.array('d', [2.0])", "x * a[0]", "a[0] = 3.0"),
    "barr": ("a = bytearray([2])", "x * a[0]", "a[0] = 3"),
    "memview": ("b = bytearray([2]); m = memoryview(b)", "x * m[0]", "b[0] = 3"),
    "arr_whole": ("a = array.array('d', [2.0])", "x * len(a)", "a.append(3.0)"),
    "barr_whole": ("a = bytearray(b'a')", "x * sum(a)", "a.append(3)"),
    "memview_whole": ("b = bytearray([2]); m = memoryview(b)", "x * sum(m)", "b[0] = 3"),
    "of_c": ("import ctypes\na = (ctypes.c_double * 2)(2.0, 3.0)", "x * sum(a)", "a[0] = 3.0"),
    "bytes_in_memory": ("import io\nf = io.BytesIO(b'ab')", "x * len(f.getvalue())", "f.write(b'abc')"),
    "text_in_memory": ("import io\nf = io.StringIO('2.0')", "x * float(f.getvalue())", "f.write('3')"),
    "user_list": ("a = collections.UserList([2.0])", "x * len(a)", "a.append(3.0)"),
    "user_dictionary": ("a = collections.UserDict(k=2.0)", "x * sum(a.values())", "a['q'] = 3.0"),
    "view_of_a_dictionary": ("d = {'k': 2.0}; a = types.MappingProxyType(d)", "x * len(a)", "d['q'] = 3.0"),
    "queue": ("import queue\nq = queue.Queue(); q.put(1)", "x * q.qsize()", "q.put(2)"),
    "event": ("e = threading.Event()", "x * (2 if e.is_set() else 3)", "e.set()"),
    "event_of_an_object": ("s = SimpleNamespace(e=threading.Event())", "x * (2 if s.e.is_set() else 3)", "s.e.set()"),
    "event_of_a_module": ("m = nn.Identity(); m.e = threading.Event()", "m(x) * (2 if m.e.is_set() else 3)", "m.e.set()"),
    "event_in_a_module": ("""
        class Stoppable(nn.Module):
            def __init__(self):
                super().__init__()
                self.stop = threading.Event()
            def forward(self, x): return x * (2 if self.stop.is_set() else 3)
        fn = Stoppable()""", "", "fn.stop.set()"),
    "events_in_a_list": ("l = [threading.Event()]", "for e in l: x = x * (2 if e.is_set() else 3)\nreturn x", "l[0].set()"),
    "closed_file": (
        "import io\nf = io.BytesIO(b'ab')", "x * (2 if f.closed else 3)", "f.close()"),
    "semaphore": ("s = threading.Semaphore(2)", "x * s._value", "s.release()"),
    "settings": (
        "import configparser\nc = configparser.ConfigParser(); c.read_string('[s]\\nk=2.0')",
        "x * c.getfloat('s', 'k')", "c['s']['k'] = '3.0'"),
    "deq": ("a = collections.deque([2.0])", "x * a[0]", "a.appendleft(3.0)"),
    "counter": ("a = collections.Counter('ab')", "x * a['a']", "a.update('aa')"),
    "chainmap": ("d = {'k': 2.0}; a = collections.ChainMap({}, d)", "x * a['k']", "d['k'] = 3.0"),
    "default_dictionary": ("a = collections.defaultdict(lambda: 2.0, {'q': 2.0})", "x * a['q']", "a['q'] = 3.0"),
    "userlist": ("u = collections.UserList([2.0])", "x * u[0]", "u[0] = 3.0"),
    "userdict": ("u = collections.UserDict(k=2.0)", "x * u['k']", "u['k'] = 3.0"),
    "mappingproxy": ("d = {'k': 2.0}; p = types.MappingProxyType(d)", "x * p['k']", "d['k'] = 3.0"),
    "dictview": ("d = {'k': 2.0}; v = d.values()", "x * sum(v)", "d['k'] = 3.0"),
    "rangeobj": ("s = SimpleNamespace(r=range(2))", "x * len(s.r)", "s.r = range(3)"),
    "setobj": ("s = {1, 2}", "x * len(s)", "s.add(3)"),
    "list_sub": ("class C(list): pass\nc = C([2.0])", "x * c[0]", "c[0] = 3.0"),
    "dict_sub": ("class C(dict): pass\nc = C(k=2.0)", "x * c['k']", "c['k'] = 3.0"),
    "list_sub_iter": ("class C(list): pass\nc = C([2.0])", "for v in c: x = x * v\nreturn x", "c[0] = 3.0"),
    "list_sub_grows": ("class C(list): pass\nc = C([2.0])", "x * sum(c)", "c.append(3.0)"),
    "dict_sub_iter": ("class C(dict): pass\nc = C(k=2.0)", "for v in c.values(): x = x * v\nreturn x", "c['k'] = 3.0"),
    "set_sub_iter": ("class C(set): pass\nc = C([2.0])", "for v in c: x = x * v\nreturn x", "c.add(3.0)"),
    "list_sub_held": ("class C(list): pass\ns = SimpleNamespace(c=[C([2.0])])", "for c in s.c:\n    for v in c: x = x * v\n"
                      "return x", "s.c[0][0] = 3.0"),
    "dict_sub_makes": ("""
        class C(dict):
            def __getitem__(s, k): return SimpleNamespace(v=super().__getitem__(k))
        c = C(k=2.0)""", "x * c['k'].v", "dict.__setitem__(c, 'k', 3.0)"),
    "ordered_sub_makes": ("""
        class C(collections.OrderedDict):
            def __getitem__(s, k): return [super(C, s).__getitem__(k)]
        c = C(k=2.0)""", "x * c['k'][0]", "c['k'] = 3.0"),
    "list_sub_makes": ("""
        class C(list):
            def __iter__(s): return iter([SimpleNamespace(v=v) for v in list.__iter__(s)])
        c = C([2.0])""", "for o in c: x = x * o.v\nreturn x", "c[0] = 3.0"),
    "dict_sub_attr": ("class C(dict): __getattr__ = dict.__getitem__\nc = C(k=2.0)", "x * c.k", "c['k'] = 3.0"),
    "attribute_set_later": (
        "class Config(dict): __getattr__ = dict.get\nc = Config(k=2.0)", "x * c.k if c.flag else x + 1", "c['flag'] = True"),
    "namedt": (
        "P = collections.namedtuple('P', 'a b'); s = SimpleNamespace(p=P(2.0, [1.0]))",
        "x * s.p.a * s.p.b[0]", "s.p.b[0] = 4.0"),
    "dictcomp": ("d = {'a': 1.0, 'b': 2.0}", "x * sum({k: v * 2 for k, v in d.items()}.values())", "d['b'] = 7.0"),
    "sorted_": ("l = [3.0, 2.0]", "x * sorted(l)[0]", "l.append(1.0)"),
    "maxl": ("l = [3.0, 2.0]", "x * max(l)", "l.append(9.0)"),
    "mapl": ("l = [3.0, 2.0]", "x * sum(map(float, l))", "l.append(9.0)"),
    "itemgetter": ("l = [3.0, 2.0]; g = operator.itemgetter(0)", "x * g(l)", "l[0] = 9.0"),
    "gen_arg": ("l = [1.0, 2.0]", "x * sum(v * v for v in l)", "l.append(3.0)"),
    "zip_": ("l = [1.0, 2.0]; m = [3.0, 4.0]", "x * sum(a * b for a, b in zip(l, m))", "m[1] = 9.0"),
    "walrus": ("l = [2.0]", "x * v if (v := l[0]) > 1 else x", "l[0] = 3.0"),
    "try_except": ("d = {}", "try: return x * d['k']\nexcept KeyError: return x * 2", "d['k'] = 3.0"),
    "match_": ("s = SimpleNamespace(mode={'t': 'a'})", """
        match s.mode:
            case {"t": "a"}: return x * 2
            case _: return x * 3""", "s.mode['t'] = 'b'"),

    # Attributes of objects.
    "slots": ("class G: __slots__ = ('k',)\ng = G(); g.k = 2.0", "x * g.k", "g.k = 3.0"),
    "str_sub": ("class C(str): pass\nc = C('a'); c.k = 2.0", "x * c.k", "c.k = 3.0"),
    "tensor_attr": ("t = ingot.ones(3); t.k = 2.0", "x * t.k", "t.k = 3.0"),
    "param_attr": ("t = nn.Parameter(ingot.ones(3)); t.k = 2.0", "x * t * t.k", "t.k = 3.0"),
    "attributes_of_tensors_in_a_loop": ("""
        weights = [ingot.ones(3), ingot.ones(3) * 2]
        for w in weights: w.factor = 2.0""", "for w in weights: x = x * w * w.factor\nreturn x", "weights[1].factor = 3.0"),
    "inst_dict": ("s = SimpleNamespace(k=2.0)", "x * s.__dict__['k']", "s.k = 3.0"),
    "vars_": ("s = SimpleNamespace(q=2.0)", "x * vars(s)['q']", "s.q = 3.0"),
    "getat": ("s = SimpleNamespace(q=2.0); n = ['q']", "x * getattr(s, n[0])", "s.q = 3.0"),
    "name_of_two": ("s = SimpleNamespace(q=2.0); n = ['q']", "x * getattr(s, n[0] if len(n) else 'r', 5.0)", "s.q = 3.0"),
    "names_of_a_module": (
        "m = types.ModuleType('m'); exec('k = 2.0', vars(m)); n = ['k']", "x * m.k * getattr(m, n[0])", "m.k = 3.0"),
    "hasat": ("s = SimpleNamespace()", "x * 2 if hasattr(s, 'q') else x * 3", "s.q = 1"),
    "ternary_str": ("s = SimpleNamespace(mode='a')", "x * 2 if s.mode == 'a' else x * 3", "s.mode = 'b'"),
    "attribute_getter": ("class Box: k = 2.0\nh = Box(); g = operator.attrgetter('k')", "x * g(h)", "h.k = 3.0"),
    "weak_reference": ("class Box: k = 2.0\nh = Box(); w = weakref.ref(h)", "x * w().k if h else x", "h.k = 3.0"),
    "json_": ("s = SimpleNamespace(t='{\"k\":2.0}')", "x * json.loads(s.t)['k']", "s.t = '{\"k\":3.0}'"),
    "frac": ("s = SimpleNamespace(t=fractions.Fraction(1, 2))", "x * float(s.t)", "s.t = fractions.Fraction(1, 3)"),
    "enum_dict": ("""
        class E(enum.Enum): A = 1; B = 2
        t = {E.A: 2.0, E.B: 5.0}; s = SimpleNamespace(e=E.A)""", "x * t[s.e]", "s.e = E.B"),
    "enum_name": ("""
        class E(enum.Enum): A = 1; Bb = 2
        s = SimpleNamespace(e=E.A)""", "x * (3 if hasattr(s.e, 'width') else len(s.e.name))", "s.e = E.Bb"),
    "dc": ("""
        @dataclass
        class C:
            k: float = 2.0
            l: list = field(default_factory=lambda: [1.0])
        c = C()""", "x * c.k * c.l[0]", "c.l[0] = 3.0"),
    "frozen_inner": ("@dataclass(frozen=True)\nclass C: l: list\nc = C([2.0])", "x * c.l[0]", "c.l[0] = 3.0"),
    "monkey_F": ("F = SimpleNamespace(relu=ingot.relu)", "F.relu(x)", "F.relu = lambda x: x * 7"),

    # Objects of libraries, whose code reads their attributes.
    "call_of_a_polynomial": ("p = np.poly1d([1.0, 2.0])", "x * float(p(2.0))", "p.coeffs[0] = 3.0"),
    "call_of_a_series": ("p = np.polynomial.Chebyshev([1.0, 2.0])", "x * float(p(2.0))", "p.coef[0] = 3.0"),
    "template": ("t = string.Template('$v')", "x * len(t.substitute(v='aaa'))", "t.template = '$v$v'"),
    "template_sub": ("class T(string.Template): pass\nt = T('$v')", "x * len(t.safe_substitute(v='aaa'))",
                     "t.template = '$v$v'"),
    "wrapper_sub": ("class W(textwrap.TextWrapper): pass\nw = W(width=7)", "x * len(w.wrap('aaa bbb ccc ddd'))",
                    "w.width = 15"),
    "object_in_an_object": (
        "f = logging.Formatter('%(message)s')", "x * len(f.format(logging.LogRecord('a', 1, 'b', 1, 'hh', (), None)))",
        "f._style._fmt = '%(message)s!'"),
    "object_of_c_in_an_object": (
        "from xml.etree import ElementTree\nt = ElementTree.ElementTree(ElementTree.fromstring('<a><b>2.0</b></a>'))",
        "x * float(t.find('b').text)", "t.find('b').text = '3.0'"),
    "context_of_numbers": ("import decimal\nc = decimal.Context(prec=4)", "x * float(c.divide(decimal.Decimal(1), 3))",
                           "c.prec = 2"),
    "object_given_to_a_method": ("f = difflib.Differ(); l = [['a'], ['b', 'a']]", "x * len(list(f.compare(*l)))",
                                 "l[1].append('c')"),
    "text_of_a_dictionary": ("d = {'a': SimpleNamespace(v=[1])}", "x * len(repr(d))", "d['a'].v.append(2)"),
    "formatted_dictionary": ("d = {'a': SimpleNamespace(v=[1])}", "x * len(f'{d}')", "d['a'].v.append(2)"),
    "printed_dictionary": ("d = {'a': SimpleNamespace(v=[1])}", "x * len(pprint.pformat(d))", "d['a'].v.append(2)"),
    "pickled_list": ("l = [SimpleNamespace(v=SimpleNamespace(w=1))]", "x * len(pickle.dumps(l))", "l[0].v.w = 10 ** 9"),
    "equal_dictionaries": ("a, b = [{'k': SimpleNamespace(v=1)} for _ in range(2)]", "x * 2 if a == b else x * 3",
                           "b['k'].v = 2"),

    # Classes and their methods.
    "type_attr": ("class C: k = 2.0\nc = C()", "x * type(c).k", "C.k = 3.0"),
    "class_attr_via_self": ("""
        class C:
            k = 2.0
            def f(s, x): return x * s.__class__.k
        c = C()""", "c.f(x)", "C.k = 3.0"),
    "nested_cls": ("class A:\n    class B: k = 2.0", "x * A.B.k", "A.B.k = 3.0"),
    "meta": ("""
        class M(type):
            @property
            def k(cls): return cls._k
        class C(metaclass=M): _k = 2.0""", "x * C.k", "C._k = 3.0"),
    "isinst": ("""
        class A: pass
        class B: pass
        s = SimpleNamespace(o=A())""", "x * 2 if isinstance(s.o, A) else x * 3", "s.o.__class__ = B"),
    "super_attr": ("""
        class A:
            k = 2.0
            def f(s, x): return x * s.k
        class B(A):
            def f(s, x): return super().f(x) + 1
        b = B()""", "b.f(x)", "A.f = lambda s, x: x * 9"),
    "super_k": ("""
        class A: k = 2.0
        class B(A):
            def f(s, x): return x * super().k
        b = B()""", "b.f(x)", "A.k = 5.0"),
    "a_method_of_objects_in_a_loop": ("""
        class Item:
            def of(self, x): return x * 2
        items = [Item(), Item()]""", "for item in items: x = item.of(x)\nreturn x", "Item.of = lambda self, x: x * 5"),
    "constants_of_classes_in_a_loop": (
        "class Item: weight = 2.0\nitems = [Item(), Item()]", "x * sum(item.weight for item in items)", "Item.weight = 5.0"),
    "prop_other": ("""
        h = SimpleNamespace(k=2.0)
        class G:
            @property
            def k(s): return h.k
        g = G()""", "x * g.k", "h.k = 3.0"),
    "cached_prop": ("""
        class C:
            def __init__(s): s.v = 2.0
            @functools.cached_property
            def k(s): return s.v
        c = C()""", "x * c.k", "c.v = 3.0; c.__dict__.pop('k', None)"),
    "descriptor": ("""
        class D:
            def __get__(s, o, t): return o.v * 2
        class G:
            k = D()
            def __init__(s): s.v = 2.0
        g = G()""", "x * g.k", "g.v = 3.0"),
    "getattr_obj": ("""
        class G:
            def __init__(s): s.d = {"k": 2.0}
            def __getattr__(s, n): return s.__dict__["d"][n]
        g = G()""", "x * g.k", "g.d['k'] = 3.0"),
    "getitem_obj": ("""
        class G:
            def __init__(s): s.d = {"k": 2.0}
            def __getitem__(s, n): return s.d[n]
        g = G()""", "x * g['k']", "g.d['k'] = 3.0"),
    "dunder_len": ("""
        class C:
            n = 2
            def __len__(s): return s.n
        c = C()""", "x * len(c)", "c.n = 3"),
    "dunder_bool": ("""
        class C:
            n = True
            def __bool__(s): return s.n
        c = C()""", "x * 2 if c else x * 3", "c.n = False"),
    "dunder_iter": ("""
        class C:
            def __init__(s): s.l = [2.0]
            def __iter__(s): return iter(s.l)
        c = C()""", "for v in c: x = x * v\nreturn x", "c.l.append(3.0)"),
    "dunder_contains": ("""
        class C:
            def __init__(s): s.l = {1}
            def __contains__(s, v): return v in s.l
        c = C()""", "x * 2 if 1 in c else x * 3", "c.l.clear()"),
    "dunder_eq": ("""
        class C:
            k = 2
            def __eq__(s, o): return s.k == o
            __hash__ = None
        c = C()""", "x * 2 if c == 2 else x * 3", "c.k = 3"),
    "dunder_mul": ("""
        class C:
            k = 2.0
            def __rmul__(s, o): return o * s.k
            def __mul__(s, o): return o * s.k
        c = C()""", "c * x", "c.k = 3.0"),
    "dunder_float": ("""
        class C:
            k = 2.0
            def __float__(s): return s.k
        c = C()""", "x * float(c)", "c.k = 3.0"),

    # Functions and their variables.
    "closure_cell": ("k = 2.0", "x * k", "nonlocal k; k = 3.0"),
    "global_del": ("k = 2.0", "try: return x * k\nexcept NameError: return x * 7", "nonlocal k; del k"),
    "default_list": ("l = [2.0]\ndef fn(x, l=l): return x * l[0]", "", "l[0] = 3.0"),
    "fdefaults": ("def f(x, k=2.0): return x * k", "f(x)", "f.__defaults__ = (3.0,)"),
    "fcode": ("def f(x): return x * 2\ndef h(x): return x * 3", "f(x)", "f.__code__ = h.__code__"),
    "fattr": ("def f(x): return x * f.k\nf.k = 2.0", "f(x)", "f.k = 3.0"),
    "a_function_that_was_loaded_again": ("""
        def helper(x): return x * 2
        def edited(x, k=3.0): return x * k
        """, "helper(x)", "helper.__code__, helper.__defaults__ = edited.__code__, edited.__defaults__"),
    "itself_loaded_again": ("", "x * 2", "fn.__code__ = (lambda x: x * 3).__code__"),
    "inner_def": ("s = {'k': 2.0}", "def g(y): return y * s['k']\nreturn g(x)", "s['k'] = 3.0"),
    "lambda_in_list": ("fs = [lambda x: x * 2]", "fs[0](x)", "fs[0] = lambda x: x * 3"),
    "star_args": ("l = [2.0, 3.0]\ndef g(x, a, b): return x * a * b", "g(x, *l)", "l[0] = 5.0"),
    "star_kw": ("d = {'a': 2.0, 'b': 3.0}\ndef g(x, a, b): return x * a * b", "g(x, **d)", "d['a'] = 5.0"),
    "partial_kw": ("d = {'k': 2.0}; p = functools.partial(lambda x, d: x * d['k'], d=d)", "p(x)", "d['k'] = 3.0"),
    "partial_obj": ("s = SimpleNamespace(k=2.0); p = functools.partial(lambda s, x: x * s.k, s)", "p(x)", "s.k = 3.0"),
    "lru": ("""
        s = SimpleNamespace(k=2.0)
        @functools.lru_cache
        def get(): return s.k""", "x * get()", "s.k = 3.0; get.cache_clear()"),
    "odd_name": ("s = SimpleNamespace(); setattr(s, 'k-1', 2.0)", "x * getattr(s, 'k-1')", "setattr(s, 'k-1', 3.0)"),
    "keyword_name": ("s = SimpleNamespace(); setattr(s, 'if', 2.0)", "x * getattr(s, 'if')", "setattr(s, 'if', 3.0)"),
    "own_copy": ("""
        class C: pass
        s = C(); s.k = 2.0; s.old = 3.0
        def moved(t):
            for name in list(t.__dict__):
                if name == 'old': t.new = getattr(t, name); delattr(t, name)
            return t""", "t = moved(copy.deepcopy(s))\nreturn x * t.k * t.new", "s.k = 3.0"),
    "singledisp": ("@functools.singledispatch\ndef g(x): return x * 2", "g(x)", "g.register(ingot.Tensor, lambda x: x * 3)"),

    # The process, the thread, imports.
    "environ": ("os.environ['QQ'] = '2'", "x * float(os.environ['QQ'])", "os.environ['QQ'] = '3'"),
    "environ_get": ("os.environ['QR'] = '2'", "x * float(os.environ.get('QR'))", "os.environ['QR'] = '3'"),
    "getenv": ("os.environ['QT'] = '2'", "x * float(os.getenv('QT'))", "os.environ['QT'] = '3'"),
    "ctxvar": ("c = contextvars.ContextVar('c', default=2.0)", "x * c.get()", "c.set(3.0)"),
    "ctxvar_reset": (
        "c = contextvars.ContextVar('c', default=2.0); get = lambda: c.get()",
        "t = c.set(5.0); y = x * get(); c.reset(t); return y * get()", "c.set(3.0)"),
    "tlocal": ("c = threading.local(); c.k = 2.0", "x * c.k", "c.k = 3.0"),
    "mod_attr": ("m = sys.modules['mm'] = types.ModuleType('mm'); m.k = 2.0", "import mm\nreturn x * mm.k", "m.k = 3.0"),
    "mod_from": ("m = sys.modules['mn'] = types.ModuleType('mn'); m.k = 2.0", "from mn import k\nreturn x * k", "m.k = 3.0"),

    # Modules, hooks, optimizers.
    "modlist": ("m = nn.ModuleList([nn.Identity()])", "for l in m: x = l(x) * 2\nreturn x", "m.append(nn.Identity())"),
    "mod_buffer_list": ("m = nn.Identity(); m.w = [2.0]", "m(x) * m.w[0]", "m.w[0] = 3.0"),
    "mod_attr_obj": ("m = nn.Identity(); m.cfg = SimpleNamespace(k=2.0)", "m(x) * m.cfg.k", "m.cfg.k = 3.0"),
    "mod_forward": ("m = nn.Identity()", "m(x) * 2", "m.forward = lambda x: x * 7"),
    "mod_hook": ("m = nn.Identity()", "m(x) * 2", "m.register_forward_hook(lambda m, i, o: o * 5)"),
    "a_second_hook": (
        "m = nn.ReLU(); m.register_forward_hook(lambda m, i, o: o + 1)",
        "m(x)", "m.register_forward_hook(lambda m, i, o: o * 5)"),
    "a_hook_of_a_child": ("fn = Layers()", "", "fn.layers[1].register_forward_pre_hook(lambda m, i: i[0] * 5)"),
    "hooks_cleared": ("m = nn.ReLU(); m.register_forward_hook(lambda m, i, o: o + 1)", "m(x)", "m._forward_hooks.clear()"),
    "a_hook_removed": ("m = nn.ReLU(); handle = m.register_forward_hook(lambda m, i, o: o + 1)", "m(x)", "handle.remove()"),
    "hooks_of_a_sequence": (
        "fn = nn.Sequential(nn.ReLU(), nn.Sequential(nn.ReLU()))", "", "fn[1][0].register_forward_hook(lambda m, i, o: o * 5)"),
    "modes_of_children": ("fn = nn.Sequential(nn.ReLU(), nn.Sequential(nn.Dropout(1.0)))", "", "fn[1][0].eval()"),
    "layers_appended": ("fn = Layers()", "", "fn.layers.append(nn.Tanh())"),
    "layers_replaced": ("fn = Layers()", "", "fn.layers[0] = nn.Tanh()"),
    "layers_removed": ("fn = Layers()", "", "del fn.layers[0]"),
    "dictionary_of_layers": ("fn = Layers()", "", "fn.table.update({'more': nn.Tanh()})"),
    "dictionary_of_layers_popped": ("fn = Layers()", "", "fn.table.pop('b')"),
    "parameters_appended": ("fn = Layers()", "", "fn.weights.append(nn.Parameter(ingot.ones(3) * 5))"),
    "children_by_their_table": ("fn = Layers()", "", "fn.layers._modules.update({'0': nn.Tanh()})"),
    "parameters_by_their_table": ("fn = nn.Linear(3, 3)", "", "fn._parameters['bias'] = None"),
    "copied_children_by_their_table": ("fn = copy.deepcopy(Layers())", "", "fn.layers._modules.update({'0': nn.Tanh()})"),
    "an_attribute_of_layers_in_a_loop": (
        "net = Layers()", "for layer in net.layers: x = x * layer.scale\nreturn x", "net.layers[1].scale = 7.0"),
    "opt_group": (
        "o = ingot.optim.SGD([nn.Parameter(ingot.ones(3))], lr=0.5)",
        "x * o.param_groups[0]['lr']", "o.param_groups[0].update(lr=0.7)"),
    **HANDED,
}


def text_of(name, road):
    """A program as Python text, at the end of which `fn` and `change` are global names."""
    setup, body, change = (dedent(part).strip() for part in PROGRAMS[name])
    if body:
        body = body if "return" in body else f"return {body}"
        setup += "\ndef fn(x):\n" + indent(_handed_in(setup, body) if road == "handed_in" else body, "    ")
    parts = f"{setup}\ndef change():\n" + indent(change, "    ")
    if road != "closure":
        return IMPORTS + parts.replace("nonlocal ", "global ")
    return IMPORTS + "def make():\n" + indent(f"{parts}\nreturn fn, change", "    ") + "\nfn, change = make()"


def _handed_in(setup, body):
    """A body that runs in an inner function, whose variables from around it are parameters of the function that makes it."""
    if "NameError" in body:         # of the name itself
        return body
    made, used = ([*ast.walk(ast.parse(text))] for text in (setup, f"def fn(x):\n{indent(body, '    ')}"))
    stored = {n.id for n in used if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store)}
    names = {n.id for n in made if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store)} - stored
    names = ", ".join(sorted(names & {n.id for n in used if isinstance(n, ast.Name)}))
    return (f"def work({names}):\n    def inner(x):\n{indent(body, '        ')}\n    return inner\nreturn work({names})(x)")


def program(name, road):
    """A function of a tensor, and what changes something that it reads."""
    file, text = f"<program {name}, {road}>", text_of(name, road)
    linecache.cache[file] = (len(text), None, text.splitlines(True), file)   # errors show the line
    names = {"__name__": f"{__name__}.{name}", "Layers": Layers}
    exec(compile(text, file, "exec"), names)
    return names["fn"], names["change"]
