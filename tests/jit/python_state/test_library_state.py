"""State that libraries read and change by themselves: the command line, streams, the error that a caller handles, references.

Each program is a module with a function `fn`, as in `attacks_broken.py`; `turn(i)` changes state before call i. A trace gives
eager's results, or raises `TraceError`.
"""

import contextlib
import fractions
import math
import multiprocessing
import sys
import traceback
import zoneinfo

import numpy as np
import pytest

import ingot
from attacks_broken import parsed
from fuzzed_modules.life import compare
from ingot import jit, nn

IMPORTS = """
import abc, argparse, calendar, collections, concurrent.futures, copyreg, csv, decimal, fractions, functools, getopt
import importlib.metadata, io, multiprocessing, operator, os, pickle, pprint, queue, random, weakref, zoneinfo
from unittest import mock
class Holder: pass
"""

FOLLOWED = parsed(r"""
### stored_methods_of_a_set
seen = {1}
table, listed = {'add': seen.add}, [seen.add]
def made(add):
    def inner(x): add(4); return x
    return inner
inner = made(seen.add)
def fn(x): table['add'](2); listed[0](3); return inner(x) * 2
def turn(i): seen.clear(); seen.add(1)
### flags_that_decimals_raise
told = []
decimal.getcontext().clear_flags()
def fn(x): return x * float(decimal.Decimal(1) / 3)
def turn(i): told.append(str(decimal.getcontext().flags)); decimal.getcontext().clear_flags()
### flags_that_are_cleared
told, context = [], decimal.Context()
def fn(x): context.clear_flags(); return x * 2
def turn(i): told.append(str(context.flags)); context.flags[decimal.Inexact] = bool(i % 2)
### factory_of_a_table
table = collections.defaultdict(int)
def fn(x): return x * 2, table['k']
def turn(i): table.clear(); table.default_factory = (int, float)[i % 2]
### names_of_a_dtype
kind = np.dtype([('a', 'f4'), ('b', 'f4')])
records = np.zeros(2, kind)
def fn(x): return x * 2, str(kind), list(kind.fields), repr(records)
def turn(i): kind.names = (('a', 'b'), ('c', 'd'))[i % 2]
### method_that_is_called_with_keywords
class Scaled:
    rate = 1.
    def by(self, k=1.): return self.rate * k
scaled, call = Scaled(), operator.methodcaller('by', k=2.)
def fn(x): return x * call(scaled)
def turn(i): scaled.rate = i // 2 + 1.
### default_arguments_of_a_parser
def fn(x):
    p = argparse.ArgumentParser(); p.add_argument('--k', type=float, default=1.)
    return x * p.parse_args().k, len(p.format_usage())
def turn(i): sys.argv = ['a' * i] if i % 2 else ['a', '--k', str(i + 1)]
### width_of_a_help_text
def fn(x):
    p = argparse.ArgumentParser(prog='a')
    for k in range(9): p.add_argument(f'--long{k}')
    return p.format_help()
def turn(i): os.environ['COLUMNS'] = str(20 + 15 * i)
### order_of_options
os.environ.pop('POSIXLY_CORRECT', None)
def fn(x): return x * len(getopt.gnu_getopt(['a', '-k'], 'k')[1])
def turn(i):
    if i == 3: os.environ['POSIXLY_CORRECT'] = '1'
### codes_of_pickles
class Coded: pass
o = Coded()
def fn(x): return x * len(pickle.dumps(o, 4))
def turn(i):
    if i == 2: copyreg.add_extension(__name__, 'Coded', 240)
    if i == 4: copyreg.remove_extension(__name__, 'Coded', 240)
### files_of_time_zones
def fn(x):
    try: return x * len(zoneinfo.ZoneInfo('Europe/Berlin').key)
    except Exception: return -x
def turn(i):
    zoneinfo.ZoneInfo.clear_cache()
    zoneinfo.reset_tzpath([] if i % 2 else None)
### names_in_a_polynomial
p = np.polynomial.Polynomial([1, 2, 3])
def fn(x): return str(p), f'{p}'
def turn(i): np.polynomial.set_default_printstyle('ascii' if i % 2 else 'unicode')
### text_of_masked_values
m = np.ma.array([1., 2, 3], mask=[0, 1, 0])
def fn(x): return str(m)
def turn(i): np.ma.masked_print_option.set_display('-' * (i + 1))
### result_of_a_future
f = concurrent.futures.Future()
def fn(x): return x * (f.result() if f.done() else 1)
def turn(i):
    if i == 3: f.set_result(7)
### event_of_processes
e = multiprocessing.Event()
def fn(x): return x * e.is_set()
def turn(i):
    if i == 3: e.set()
### name_of_the_process
def fn(x): return multiprocessing.current_process().name
def turn(i): multiprocessing.current_process().name = 'n' * i
### room_in_a_queue
q = queue.Queue()
def fn(x): return x * q.full() + q.unfinished_tasks
q.put(1)
def turn(i): q.maxsize = i % 3
### attributes_that_modules_lack
for m in (sys, math, ingot): vars(m).pop('zz', None)
def fn(x): return hasattr(sys, 'zz'), getattr(math, 'zz', 1), hasattr(ingot, 'zz'), hasattr(fractions.Fraction, 'zz')
def turn(i): vars([math, sys, math, ingot, sys, sys][i]).update(zz=i)
### names_in_a_module
for m in (sys, math, ingot): vars(m).pop('zz', None)
def fn(x): return 'zz' in dir(sys), 'zz' in vars(math)
def turn(i):
    if i == 2: sys.zz = 1
    if i == 4: math.zz = 1
### class_of_a_library_that_is_abstract
def fn(x): return isinstance(fractions.Fraction, abc.ABCMeta), isinstance(Counter, abc.ABC)
### copied_generator
h = Holder(); h.r = random.Random(3)
def fn(x): return x * copy.deepcopy(h).r.random()
def turn(i): h.r.random()
### copied_buffers
h = Holder(); h.b = bytearray(b'abc'); h.s = io.StringIO('q'); h.a = np.arange(3.)
def fn(x): c = copy.deepcopy(h); return x * c.b[0] * len(c.s.getvalue()) * c.a[0]
def turn(i): h.b[0] = i; h.s.write('a'); h.a[0] = i
### bare_raise_in_a_handler
k = 1
def fails():
    try: raise ValueError(k)
    except ValueError: raise
def fn(x):
    try: fails()
    except ValueError as e: return x * e.args[0]
def turn(i):
    global k
    k = i
### first_day_that_is_set
def fn(x): calendar.setfirstweekday(3)
def after(i, result): seen.append(calendar.firstweekday()); calendar.setfirstweekday(0)
seen = []
### reduction_that_is_set
def fn(x): copyreg.pickle(Holder, lambda h: (int, (3,)))
def after(i, result): seen.append(copyreg.dispatch_table.pop(Holder, None) is None)
seen = []
### attributes_of_a_partial
p = functools.partial(int); p.k = 1
def fn(x): p.sum = x.sum(); return x * p.k + getattr(p, 'z', 3)
def turn(i):
    p.k = i
    if i == 3: p.z = 5
def after(i, result): seen.append(p.sum); p.sum = 0
seen = []
### attributes_of_modules_and_classes
def fn(x):
    math.zz = ingot.zz = x.sum()
    fractions.Fraction.zz = nn.Linear.zz = len(seen)
    setattr(np, 'zz', x.sum().item())
def after(i, result): seen.append((math.zz, ingot.zz, fractions.Fraction.zz, nn.Linear.zz, np.zz))
seen = []
### entry_of_loaded_modules
def fn(x): sys.modules['zz'] = math
def turn(i): sys.modules.pop('zz', None)
def after(i, result): seen.append('zz' in sys.modules)
seen = []
""")

REFUSED = parsed(r"""
### wrapper_from_outside
part = functools.partial(int)
def fn(x): functools.update_wrapper(part, Holder); return x
### help_of_a_parser
def fn(x): argparse.ArgumentParser(prog='a').print_help()
### pretty_printer
def fn(x): pprint.PrettyPrinter().pprint([1])
### writer_of_csv
def fn(x): csv.writer(sys.stdout).writerow([1])
### json_in_a_stream
def fn(x): json.dump([1], sys.stdout)
### write_to_a_stream
def fn(x): sys.stdout.write('a')
### writes_by_map
def fn(x): list(map(sys.stdout.write, 'ab'))
### clock_of_numpy
def fn(x): return np.datetime64('now')
### clock_in_an_array
def fn(x): return np.array(['today'], dtype='M8[D]')
### clock_in_a_cast
a = np.array(['now'])
def fn(x): return a.astype('M8[s]')
### reference_with_a_callback
o, kept = Holder(), []
def fn(x): kept.append(weakref.ref(o, kept.remove))
### finaliser
o = Holder()
def fn(x): weakref.finalize(o, print)
### count_of_references
o, kept = Holder(), []
def fn(x): return weakref.getweakrefcount(o)
def turn(i): kept.append(weakref.ref(o, int))
### copied_iterator
h = Holder(); h.it = iter(range(100))
def fn(x): return x * next(copy.deepcopy(h).it)
def turn(i): next(h.it)
### pickled_iterator
h = Holder(); h.it = iter(range(100))
def fn(x): return x * next(pickle.loads(pickle.dumps([h]))[0].it)
def turn(i): next(h.it)
### module_with_an_iterator
net = nn.Linear(3, 1); net.it = iter(range(100))
def fn(x): return x * next(copy.deepcopy(net).it)
def turn(i): next(net.it)
### exit_stack_that_gets_a_callback
stack, log = contextlib.ExitStack(), []
def fn(x): stack.callback(lambda: None)
### patch_that_stays
def fn(x): mock.patch.object(Holder, 'k', 5, create=True).start()
### function_of_the_module_that_is_wrapped
def g(): pass
def fn(x): functools.wraps(fn)(g)
### queue_of_processes
q = multiprocessing.SimpleQueue()
def fn(x): return x * q.get()
def turn(i): q.put(i)
### pipe
a, b = multiprocessing.Pipe()
def fn(x): return x * b.poll()
def turn(i):
    if i == 3: a.send(i)
### distributions_that_are_installed
def fn(x): return len([*importlib.metadata.distributions()])
""")


@pytest.fixture(autouse=True)
def libraries_stay(monkeypatch):
    """Put back what programs change of the process."""
    monkeypatch.setattr(sys, "argv", sys.argv)
    monkeypatch.setenv("COLUMNS", "80")
    monkeypatch.setenv("POSIXLY_CORRECT", "")
    monkeypatch.delenv("POSIXLY_CORRECT")
    printed, name = np.get_printoptions(), multiprocessing.current_process().name
    yield
    for module in (sys, math, ingot, np):
        vars(module).pop("zz", None)
    for cls in (fractions.Fraction, nn.Linear):
        if "zz" in vars(cls):
            del cls.zz      # type: ignore[attr-defined]
    zoneinfo.reset_tzpath()
    np.set_printoptions(**{**printed, "legacy": False})
    np.polynomial.set_default_printstyle("unicode")
    np.ma.masked_print_option.set_display("--")
    multiprocessing.current_process().name = name


@pytest.mark.parametrize("name", FOLLOWED)
def test_state_of_libraries_is_followed(name):
    verdict, _ = compare(IMPORTS + FOLLOWED[name])
    assert verdict.kind == "same", verdict


@pytest.mark.parametrize("name", REFUSED)
def test_acts_of_libraries_are_refused(name):
    verdict, _ = compare(IMPORTS + REFUSED[name])
    assert verdict.kind == "refused" and verdict.call == 0, verdict


def by_exc_info(x):
    return x * (5 if sys.exc_info()[0] is None else len(sys.exc_info()[1].args))


def by_text(x):
    return x * len(traceback.format_exc())


def by_a_bare_raise(x):
    try:
        raise
    except RuntimeError:
        return x
    except ValueError as error:
        return x * error.args[0]


def by_context(x):
    try:
        int("a")
    except ValueError as error:
        return x * (1 if error.__context__ is None else 5)


@contextlib.contextmanager
def asking():
    yield sys.exc_info()[0] is None


def in_a_context_manager(x):
    with asking() as is_free:
        return x * (2 if is_free else 3)


@pytest.mark.filterwarnings("ignore:.*runs as it is")
@pytest.mark.parametrize("fn", [by_exc_info, by_text, by_a_bare_raise, by_context, in_a_context_manager])
def test_the_error_that_a_caller_handles(fn):
    traced = jit.trace(fn)
    for i in range(9):
        x = ingot.ones(2) * i
        try:
            if i % 3:
                raise ValueError(*range(i))
            assert traced(x).tolist() == fn(x).tolist()
        except ValueError:
            assert traced(x).tolist() == fn(x).tolist(), i
    assert 1 <= traced.stats()["compiles"] <= 2
