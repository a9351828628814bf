"""Tracebacks of common mistakes: short, with the user's line last, whoever reads them."""

import ast
import asyncio
import concurrent.futures
import contextlib
import functools
import gc
import importlib.util
import io
import logging
import os
import pickle
import re
import signal
import subprocess
import sys
import threading
import traceback
import warnings
import weakref
from pathlib import Path

import pytest

import ingot
from ingot import jit, nn
from ingot.ir import config
from ingot.ir.error_texts.shown_errors import _show_of_thread, shortened
from ingot.ir.errors import IngotError, ShapeError
from ingot.ir.tracebacks import entries_of, is_own
from ingot.nn import functional as F
from ingot.runtime.state.messages import warn
from mistakes import MISTAKES
from traceback_programs import HEAD, PROGRAMS

ROOT = Path(ingot.__file__).parent
MOST = 12       # lines
IN_PROCESSES = {"dataset_worker"}       # programs that start other processes, which import the program again


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("mistakes")


def written(folder, name, text):
    file = folder / f"{name}.py"
    file.write_text(text)
    return file


def raised(file) -> BaseException:
    """Return the exception that a program raises."""
    try:
        exec(compile(file.read_text(), str(file), "exec"), {"__name__": "__main__", "__file__": str(file)})
    except Exception as error:
        error.__traceback__ = error.__traceback__.tb_next       # without this frame
        return error
    raise AssertionError("the program raises nothing")


def shown(error) -> str:
    """Return what an uncaught exception prints."""
    text = io.StringIO()
    with contextlib.redirect_stderr(text):
        sys.excepthook(type(error), error, error.__traceback__)
    return text.getvalue()


def lines_of(text) -> list:
    """Return the lines of code, with their file, that a traceback names."""
    return re.findall(r'^  File "(.*)", line (\d+)', text, re.MULTILINE)


def check(text, file):
    """Check that a traceback is short, and ends in the line that is marked in the program."""
    assert len(text.rstrip("\n").splitlines()) <= MOST, text
    last, number = lines_of(text)[-1]
    assert last == str(file), text
    assert "# here" in file.read_text().splitlines()[int(number) - 1], text
    assert str(ROOT / "runtime") not in text.partition("(raised inside")[0], text


def run(*command, **environment):
    done = subprocess.run([sys.executable, *map(str, command)], capture_output=True, text=True, timeout=120,
                          env={**os.environ, "COLUMNS": "200", **environment})
    return done.stdout + done.stderr


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", sorted(PROGRAMS.keys() - IN_PROCESSES))
def test_a_mistake_shows_the_line_that_made_it(folder, name):
    file = written(folder, name, PROGRAMS[name])
    error = raised(file)
    text = shown(error)
    check(text, file)
    with config.override(traceback="full"):
        whole = raised(file)
        assert shown(whole)         # which explains a call that Python refused
    assert type(whole) is type(error)
    assert str(whole) == str(error)
    assert len(whole.args) == len(error.args)
    assert len(entries_of(whole.__traceback__)) >= len(entries_of(error.__traceback__))


def test_at_least_62_mistakes_are_tried():
    assert len(PROGRAMS) >= 62


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("mistake", MISTAKES, ids=lambda m: m.name)
def test_a_mistake_with_a_message_of_its_own_prints_few_lines(folder, mistake, monkeypatch):
    monkeypatch.chdir(folder)
    file = written(folder, mistake.name.replace("/", " "), mistake.source)
    text = shown(raised(file))
    assert len(text.rstrip("\n").splitlines()) <= MOST, text
    assert lines_of(text)[-1][0] == str(file), text


@pytest.mark.parametrize("name", ["matmul_operator", "dataset_worker"])
def test_a_script_shows_as_little(folder, name):
    file = written(folder, name, PROGRAMS[name])
    check(run(file), file)


def test_the_switch_shows_all_frames(folder):
    file = written(folder, "switch", PROGRAMS["matmul_operator"])
    assert len(lines_of(run(file, INGOT_TRACEBACK="full"))) > 5


# Errors of other processes.

WORKERS = {        # the body of a dataset's `__getitem__`, and more arguments of the loader
    "operator": ("return ingot.ones(2, 3) @ ingot.ones(2, i + 2)  # here", ""),
    "helpers": ("return one({})", ""),
    "library": ("return json.loads('{')  # here", ""),
    "cause": ("try:\n            {}['a']\n        except KeyError as e:\n            raise ValueError('b') from e  # here", ""),
    "network": ("return nn.Sequential(nn.Linear(3, 4))(ingot.ones(2))  # here", ""),
    "notes": ("e = ValueError('no')\n        e.add_note('first')\n        e.add_note('second')\n        raise e  # here", ""),
    "collate": ("return i", ", collate_fn=one"),
}
WORKER_PROGRAM = """import json
import ingot
from ingot import nn
def three(d):
    return d['a']  # here
def two(d):
    return three(d)
def one(d):
    return two(d)
class Data(ingot.utils.data.Dataset):
    def __len__(self):
        return 4
    def __getitem__(self, i):
        BODY
loader = ingot.utils.data.DataLoader(Data(), batch_size=2, num_workers=1MORE)
assert next(iter(loader))
"""


@pytest.mark.parametrize("name", WORKERS)
def test_an_error_of_a_worker_shows_few_lines(folder, name):
    body, more = WORKERS[name]
    file = written(folder, f"worker_{name}", WORKER_PROGRAM.replace("BODY", body).replace("MORE", more))
    text = shown(raised(file))
    check(text, file)
    assert "inside ingot" not in text


def test_samples_that_do_not_stack_show_no_frames_of_a_worker(folder):
    file = written(folder, "unequal", WORKER_PROGRAM.replace("BODY", "return ingot.ones(i + 1)").replace("MORE", ""))
    text = shown(raised(file))
    assert len(text.splitlines()) <= 6 and str(ROOT) not in text
    assert "Original ingot.ir.errors.ShapeError: stack expects" in text


def test_the_switch_shows_all_frames_of_a_worker(folder):
    file = written(folder, "switched", WORKER_PROGRAM.replace("BODY", "return one({})").replace("MORE", ""))
    with config.override(traceback="full"):
        text = str(raised(file))
    assert "in one" in text and "in two" in text and str(ROOT / "runtime") in text


POOLS = {
    "executor": "from concurrent.futures import ProcessPoolExecutor\nlist(ProcessPoolExecutor(1).map(work, [0]))",
    "pool": "import multiprocessing\nmultiprocessing.Pool(1).map(work, [0])",
    "pool_of_ingot": "from ingot import multiprocessing\nmultiprocessing.Pool(1).map(work, [0])",
}


@pytest.mark.parametrize("pool", POOLS.values(), ids=POOLS)
@pytest.mark.parametrize("body", ["1 / n", "ingot.ones(2, 3) @ ingot.ones(n, 3)"], ids=["python", "ingot"])
def test_a_pool_shows_the_line_that_failed_in_its_process(folder, pool, body):
    program = f"import ingot\ndef work(n):\n    return {body}\nif __name__ == '__main__':\n    " + pool.replace("\n", "\n    ")
    file = written(folder, "pool", program)
    text = run(file)
    assert f'File "{file}", line 3, in work' in text
    assert "direct cause" in text and str(ROOT / "runtime") not in text


def test_a_cause_that_a_library_handled_is_shown(folder):
    file = written(folder, "zone", "import ingot, zoneinfo\nzoneinfo.ZoneInfo('No/Where')\n")
    assert shown(raised(file)).count("Traceback (most recent call last)") > 1


# Errors of the user's own Python code in traced functions.

TRACED = [
    "x * (1 / n)", "x * (1 // n)", "x * (3 % n)", "divmod(3, n)", "0.0 ** (-1 - n)", "1 << (-1 - n)", "[1, 2][n + 5]",
    "items[n + 5]", "table['nope']", "table.pop('nope')", "n.nope", "n + 'a'", "'a' + n", "n(3)", "len(n)", "list(n)",
    "int('a')", "float('a')", "math.sqrt(-1 - n)", "math.log(n)", "math.exp(10000 + n)", "max([])", "min(items[5:])",
    "sum(['a'])", "next(iter([]))", "items.index(77)", "chr(-1 - n)", "f'{n:q}'", "x.shape[4]", "x.shape['a']", "x.tolist()[5]",
    "1 / (x.sum().item() - 2)", "1 // (int(x.sum().item()) - 2)", "math.sqrt(-x.sum().item())", "[1][int(x.sum().item())]",
    "'a' + x.sum().item()", "json.loads('{')", "re.compile('(')", "random.choice([])", "np.zeros(3)[7]",
    "np.linalg.inv(np.zeros((2, 2)))", "None.nope", "throw(AttributeError('mine'))", "throw(TypeError('mine'))",
]
TRACED_PROGRAM = """
import json, math, random, re
import numpy as np
import ingot
def throw(error):
    raise error
@TRACE
def f(x, n, items, table):
    if n == 0:
        RUN  # here
    return x * n
for n in CALLS:
    f(ingot.ones(2), n, [1, 2], {'a': 1})
"""


@pytest.mark.parametrize("calls", ["(0,)", "(5, 5, 6, 6, 7, 0)"], ids=["first", "symbolic"])
@pytest.mark.parametrize("code", TRACED)
def test_an_error_of_python_in_a_traced_function_is_the_users(folder, code, calls):
    program = TRACED_PROGRAM.replace("CALLS", calls)
    plain = raised(written(folder, "plain", program.replace("TRACE", "(lambda f: f)").replace("RUN", code)))
    file = written(folder, "traced", program.replace("TRACE", "ingot.jit.trace").replace("RUN", code))
    error = raised(file)
    assert type(error) is type(plain)
    text = shown(error)
    lines = [line for line in lines_of(text) if f"site-packages{os.sep}" not in line[0]]
    assert not any(line[0].startswith(str(ROOT)) for line in lines), text
    assert "inside ingot" not in text
    users = [int(number) for name, number in lines if name == str(file)]
    marked = [i for i, line in enumerate(file.read_text().splitlines(), 1) if "# here" in line]
    assert users[-1] == marked[0] or "throw" in code


# Readers of tracebacks.


def product():
    return ingot.ones(2, 3) @ ingot.ones(2, 3)


class Net(nn.Module):
    """Two layers, of which the second does not fit."""

    def __init__(self):
        super().__init__()
        self.layers = nn.Sequential(nn.Linear(3, 4), nn.Linear(5, 6))

    def forward(self, x):
        return self.layers(x)


def by_format_exc(call):
    try:
        call()
    except (IngotError, TypeError):
        return traceback.format_exc()


def by_logging(call):
    text = io.StringIO()
    log = logging.Logger("mistakes")
    log.addHandler(logging.StreamHandler(text))
    try:
        call()
    except (IngotError, TypeError):
        log.exception("no")
    return text.getvalue()


def by_thread(call):
    text = io.StringIO()
    with contextlib.redirect_stderr(text), pytest.MonkeyPatch.context() as patch:
        hook = functools.partial(_show_of_thread, threading.__excepthook__)         # pytest has one of its own
        patch.setattr(threading, "excepthook", hook)
        thread = threading.Thread(target=call)
        thread.start()
        thread.join()
    return text.getvalue()


def by_future(call):
    with concurrent.futures.ThreadPoolExecutor(1) as pool:
        return "".join(traceback.format_exception(pool.submit(call).exception()))


def by_asyncio(call):
    async def main():
        call()

    return by_format_exc(lambda: asyncio.run(main()))


READERS = [by_format_exc, by_logging, by_thread, by_future, by_asyncio]


@pytest.mark.parametrize("read", READERS)
def test_every_reader_sees_a_short_traceback(read):
    net = Net()
    traced, traced_net = jit.trace(product), jit.trace(Net())
    for call in (product, lambda: net(ingot.ones(2, 3)), traced, lambda: traced_net(ingot.ones(2, 3))):
        text = read(call)
        assert "ShapeError" in text
        assert not [file for file, _ in lines_of(text) if file.startswith(str(ROOT)) and "tests" not in file], text


DECORATORS = {
    "no_grad": lambda f: ingot.no_grad(f), "no_grad()": lambda f: ingot.no_grad()(f),
    "enable_grad()": lambda f: ingot.enable_grad()(f), "inference_mode()": lambda f: ingot.inference_mode()(f),
    "set_grad_enabled": lambda f: ingot.set_grad_enabled(True)(f), "autocast": lambda f: ingot.autocast("cpu")(f),
    "detect_anomaly": lambda f: ingot.autograd.detect_anomaly()(f),
    "record_function": lambda f: ingot.autograd.profiler.record_function("step")(f), "trace": jit.trace,
}


@pytest.mark.filterwarnings("ignore:anomaly")
@pytest.mark.parametrize("name", DECORATORS)
def test_decorators_of_the_users_functions_show_no_frames(name):
    def decorated(a):
        return a @ a

    with pytest.raises(ShapeError) as caught:
        DECORATORS[name](decorated)(ingot.ones(2, 3))
    shown_frames = [frame.name for frame in traceback.extract_tb(caught.value.__traceback__)]
    assert shown_frames == ["test_decorators_of_the_users_functions_show_no_frames", "decorated"]


@pytest.mark.parametrize("call", [
    lambda net: nn.utils.clip_grad_norm_(net, 1.0), lambda net: nn.utils.clip_grad_value_(net, 1.0),
    lambda net: nn.init.normal_(net), lambda net: nn.init.xavier_uniform_(net.bias), lambda net: net.requires_grad_("a", 2),
], ids=["clip_grad_norm_", "clip_grad_value_", "normal_", "xavier_uniform_", "requires_grad_"])
def test_functions_that_ingot_decorates_show_no_frames(call):
    with pytest.raises(Exception) as caught:
        call(nn.Linear(2, 2))
    frames = [frame.name for frame in traceback.extract_tb(caught.value.__traceback__)]
    assert frames == ["test_functions_that_ingot_decorates_show_no_frames", "<lambda>"]


def test_a_thread_hook_shortens_what_left_by_no_door():
    seen = []
    with pytest.MonkeyPatch.context() as patch:
        count = lambda args: seen.append(len(entries_of(args.exc_value.__traceback__)))
        patch.setattr(threading, "excepthook", functools.partial(_show_of_thread, count))
        thread = threading.Thread(target=lambda: no_door(3))
        thread.start()
        thread.join()
    assert seen == [4]      # two of the threading module, the lambda and `no_door`


def no_door(n):
    """Fail in a function of ingot that is not public."""
    from ingot.ir.opdef.aval import canonical_dim
    return canonical_dim(n, 1)


def test_a_hook_puts_back_what_it_leaves_out():
    with pytest.raises(IngotError) as caught:
        no_door(5)
    error = caught.value
    trace = error.__traceback__
    with shortened(error):
        assert not any(is_own(entry.tb_frame) for entry in entries_of(error.__traceback__))
    assert error.__traceback__ is trace


PYTEST = HEAD + """
def test_product():
    x @ x
def test_network():
    nn.Sequential(nn.Linear(3, 4), nn.Linear(5, 6))(x)
"""


def test_pytest_shows_no_frames_of_ingot(folder):
    text = run("-m", "pytest", "-q", "-p", "no:cacheprovider", "--rootdir", folder, written(folder, "test_shown", PYTEST))
    assert "2 failed" in text
    assert str(ROOT / "runtime") not in text
    assert "runtime/" not in text


def test_ipython_shows_no_frames_of_ingot(folder):
    pytest.importorskip("IPython", reason="no dependency of the tests")
    text = run("-m", "IPython", "--simple-prompt", "--colors=NoColor", "--no-banner",
               written(folder, "cell", HEAD + "net = jit.trace(nn.Linear(4, 5))\nnet(x)\n"))
    assert "runtime" not in text


# Calls that Python refused before a frame of ingot existed.

REFUSED = "relu() got an unexpected keyword argument 'inplce'; did you mean 'inplace'?\nrelu(input, inplace=False)"
KEYWORD = "import ingot\nimport ingot.nn.functional as F\nx = ingot.ones(2, 3)\n"


def refused():
    F.relu(ingot.ones(2, 3), inplce=True)


@pytest.mark.parametrize("read", [by_format_exc, by_logging, by_thread, by_future, by_asyncio])
def test_every_reader_sees_why_a_call_was_refused(read):
    text = read(refused)
    assert f"TypeError: {REFUSED}\n" in text, text


def test_a_caught_error_says_why_a_call_in_a_network_was_refused():
    class Refused(nn.Module):
        def forward(self, x):
            return F.relu(x, inplce=True)

    for call in (Refused(), jit.trace(lambda x: F.relu(x, inplce=True)), ingot.func.grad(lambda x: F.relu(x, inplce=True))):
        with pytest.raises(TypeError) as caught:
            call(ingot.ones(2, 3))
        assert REFUSED in str(caught.value)


PROGRAMS_THAT_ARE_REFUSED = {
    "script": ((), "F.relu(x, inplce=True)\n"),
    "no_source": (("-c",), "F.relu(x, inplce=True)\n"),
    "pytest": (("-m", "pytest", "-q", "-p", "no:cacheprovider"), "def test_it():\n    F.relu(x, inplce=True)\n"),
    "ipython": (("-m", "IPython", "--simple-prompt", "--colors=NoColor", "--no-banner"), "F.relu(x, inplce=True)\n"),
    "worker": ((), "import concurrent.futures as futures\ndef f():\n    F.relu(x, inplce=True)\nif __name__ == '__main__':\n"
                   "    with futures.ProcessPoolExecutor(1) as pool:\n        pool.submit(f).result()\n"),
    "loader": ((), "from ingot.utils.data import DataLoader\nclass D(list):\n    def __getitem__(self, i):\n"
                   "        return F.relu(x, inplce=True)\nif __name__ == '__main__':\n"
                   "    [*DataLoader(D([1, 2]), num_workers=1)]\n"),
}


@pytest.mark.parametrize("name", PROGRAMS_THAT_ARE_REFUSED)
def test_programs_print_why_a_call_was_refused(folder, name):
    if name == "ipython":
        pytest.importorskip("IPython", reason="no dependency of the tests")
    command, text = PROGRAMS_THAT_ARE_REFUSED[name]
    program = KEYWORD + text if name == "no_source" else written(folder, f"test_refused_{name}", KEYWORD + text)
    printed = run(*command, program)
    assert "inplce" in printed
    for line in REFUSED.splitlines():
        assert line in printed, printed


NAMES = ["nn.Lienar", "ingot.foo", "F.rellu", "ingot.optim.Adm", "ingot.jit.trcae", "ingot.utils.data.Datset",
         "ingot.cuda.nope", "ingot.nn.utils.nope", "ingot.nn.modules.nope", "ingot.distributions.nope",
         "from ingot import autogard", "from ingot.nn import Lienar", "import ingot.autogard", "import ingot.nn.functionl"]


@pytest.fixture(scope="module")
def cells(folder):
    """Return what IPython shows for each of `NAMES`, in one process."""
    pytest.importorskip("IPython", reason="no dependency of the tests")
    program = ("import io, contextlib, sys\nfrom IPython.core.interactiveshell import InteractiveShell\n"
               "shell = InteractiveShell.instance(colors='NoColor')\nshell.run_cell('import ingot; from ingot import nn; "
               f"import ingot.nn.functional as F')\nfor code in {NAMES!r}:\n    text = io.StringIO()\n"
               "    with contextlib.redirect_stdout(text):\n        shell.run_cell(code)\n"
               "    print(text.getvalue(), end='\\1')\n")
    return dict(zip(NAMES, run(written(folder, "cells", program)).split("\1")))


@pytest.mark.parametrize("code", NAMES)
def test_ipython_shows_only_the_line_that_asks_for_a_missing_name(cells, code):
    text = cells[code]
    assert "Error" in text
    assert str(ROOT) not in text and "paths.py" not in text and "__init__.py" not in text, text


def test_missing_names_are_missing_for_all_who_ask():
    for module in (ingot, nn, F, jit):
        assert not hasattr(module, "no_such_name") and getattr(module, "no_such_name", 3) == 3
        with pytest.raises(AttributeError):
            _ = module.no_such_name
    assert importlib.util.find_spec("ingot.no_such_name") is None
    with pytest.raises(ImportError) as caught:
        from ingot import no_such_name  # noqa: F401
    assert not isinstance(caught.value, ModuleNotFoundError) and caught.value.name == "ingot"
    assert type(pickle.loads(pickle.dumps(caught.value))) is ImportError
    with pytest.raises(ModuleNotFoundError) as caught:
        importlib.import_module("ingot.no_such_name")
    assert caught.value.name == "ingot.no_such_name"


# The path in the network.


def path_of(call) -> str:
    with pytest.raises(IngotError) as caught:
        call()
    assert str(caught.value).count("\nin ") == 1
    again = pickle.loads(pickle.dumps(caught.value))
    assert type(again) is type(caught.value)
    assert str(again) == str(caught.value)
    return str(caught.value).rpartition("\n")[2]


class Held:
    """An object of the user's that holds a network."""

    def __init__(self):
        self.model = Net()

    def run(self, x):
        return self.model(x)


def test_the_message_says_where_in_the_network():
    x, net = ingot.ones(2, 3), Net()
    traced = jit.trace(net)
    assert path_of(lambda: net(x)) == "in net.layers.1 (Linear)"
    assert path_of(lambda: traced(x)) == "in traced.layers.1 (Linear)"
    assert path_of(lambda: jit.trace(lambda x: net(x))(x)) == "in net.layers.1 (Linear)"
    assert path_of(lambda: Net()(x)) == "in Net.layers.1 (Linear)"
    assert path_of(lambda: Held().run(x)) == "in self.model.layers.1 (Linear)"
    assert path_of(lambda: nn.Linear(4, 5)(x)) == "in Linear"


def test_the_first_name_of_a_shared_module_counts():
    shared = nn.Linear(4, 5)
    net = nn.ModuleDict({"a": shared, "b": shared})
    class Uses(nn.Module):
        def __init__(self):
            super().__init__()
            self.parts = net
        def forward(self, x):
            return self.parts["b"](x)
    uses = Uses()
    assert path_of(lambda: uses(ingot.ones(2, 3))) == "in uses.parts.a (Linear)"


def test_errors_that_a_module_handles_cost_no_path():
    class Handles(nn.Module):
        def __init__(self):
            super().__init__()
            self.inner = Net()
        def forward(self, x):
            try:
                return self.inner(x)
            except ShapeError as error:
                raise ValueError("mine") from error
    with pytest.raises(ValueError, match=r"^mine$") as caught:
        Handles()(ingot.ones(2, 3))
    assert not hasattr(caught.value, "__notes__")
    assert str(caught.value.__cause__).endswith("in Handles.inner.layers.1 (Linear)")


def test_looking_for_a_name_keeps_no_local_variables_alive():
    def step():
        big = ingot.ones(1000)
        alive = weakref.ref(big)
        net = Net()
        with contextlib.suppress(ShapeError):
            net(ingot.ones(2, 3))
        del big
        return alive()
    assert step() is None


# Contents that stay.


def test_the_error_that_the_user_handled_is_shown():
    def call():
        try:
            raise KeyError("mine")
        except KeyError:
            ingot.cat([ingot.ones(2), ingot.ones(2, 3)])
    text = by_format_exc(call)
    assert text.count("KeyError: 'mine'") == 1
    assert text.count("Traceback") == 2


def test_a_cause_inside_of_ingot_is_kept_but_not_shown():
    with pytest.raises(IngotError) as caught:
        nn.Linear(2, 2)(None)
    assert isinstance(caught.value.__context__, AttributeError)
    assert "".join(traceback.format_exception(caught.value)).count("Traceback") == 1


def test_the_users_own_error_is_the_same_object():
    mine = KeyError("mine")
    class Fails(nn.Module):
        def forward(self, x):
            raise mine
    with pytest.raises(KeyError) as caught:
        Fails()(ingot.ones(1))
    assert caught.value is mine
    assert mine.args == ("mine",)
    assert not hasattr(mine, "__notes__")


def test_an_interrupt_is_raised_once():
    class Stop(Exception):
        """Raised by a signal handler."""
    calls = []
    def stop(*_):
        calls.append(1)
        raise Stop
    class Waits(nn.Module):
        def forward(self, x):
            signal.raise_signal(signal.SIGUSR1)
            return x
    before = signal.signal(signal.SIGUSR1, stop)
    try:
        with pytest.raises(Stop):
            nn.Sequential(Waits())(ingot.ones(2))
    finally:
        signal.signal(signal.SIGUSR1, before)
    assert calls == [1]


def test_too_deep_recursion_stays_one():
    class Deep(nn.Module):
        def forward(self, x):
            return self(x)
    with pytest.raises(RecursionError):
        Deep()(ingot.ones(2))


def test_a_caught_error_keeps_nothing_alive():
    def call(net):
        x = ingot.ones(2, 3)
        alive.append(weakref.ref(x))
        with contextlib.suppress(ShapeError):
            net(x) if net is not None else x @ x
    alive: list = []
    gc.collect()
    gc.disable()
    try:
        for net in (None, nn.Sequential(nn.Linear(4, 5))):
            call(net)
        assert [reference() for reference in alive] == [None, None]
    finally:
        gc.enable()


# Errors that ingot did not raise on purpose.


def test_a_bug_names_its_line(monkeypatch):
    def fails(*args, **kwargs):
        return {}["missing"]
    fails = type(fails)(fails.__code__, {"__name__": "ingot.broken"})
    net = nn.Linear(2, 2)
    monkeypatch.setattr(nn.Linear, "forward", fails)
    with pytest.raises(KeyError) as caught:
        net(ingot.ones(2))
    notes = "\n".join(caught.value.__notes__)
    assert "in net (Linear)" in notes or "in Linear" in notes
    assert re.search(r"\(raised inside ingot at .*test_tracebacks\.py:\d+; INGOT_TRACEBACK=full shows all frames\)", notes)


@pytest.mark.parametrize("call", [
    lambda: F.linear(ingot.ones(2)), lambda: ingot.load("/nowhere/x"), lambda: nn.Linear(3, 3).nothing,
    lambda: next(iter(ingot.utils.data.DataLoader([])))], ids=["signature", "file", "attribute", "end"])
def test_mistakes_that_python_explains_get_no_note(call):
    with pytest.raises(Exception) as caught:
        call()
    assert not getattr(caught.value, "__notes__", ())


# Warnings.


def warned_lines(call) -> list:
    with warnings.catch_warnings(record=True) as seen:
        warnings.simplefilter("always")
        call()
    return [(w.filename, w.lineno) for w in seen]


WARNERS = {
    "loss": lambda: F.mse_loss(ingot.ones(2, 1), ingot.ones(2)),
    "module": lambda: nn.MSELoss()(ingot.ones(2, 1), ingot.ones(2)),
    "traced": lambda: jit.trace(lambda: F.mse_loss(ingot.ones(2, 1), ingot.ones(2)))(),
    "constructor": lambda: nn.LSTM(3, 4, dropout=0.5),
    "old name": lambda: nn.init.normal(ingot.ones(2)),
    "no dim": lambda: F.softmax(ingot.ones(2, 2)),
    "index": lambda: ingot.ones(2, 2)[[[0], [1]]],
}


@pytest.mark.parametrize("call", WARNERS.values(), ids=WARNERS)
def test_a_warning_names_the_users_line(call):
    assert warned_lines(call) == [(__file__, call.__code__.co_firstlineno)]


def test_a_warning_is_shown_once_a_line():
    with warnings.catch_warnings(record=True) as seen:
        warnings.simplefilter("default")
        for _ in range(3):
            F.mse_loss(ingot.ones(2, 1), ingot.ones(2))
        F.mse_loss(ingot.ones(2, 1), ingot.ones(2))
    assert len(seen) == 2


_TAKES_LEVELS = {"runtime/state/messages.py", "runtime/state/recorder.py", "jit/python_state/stand_ins.py",
                 "jit/python_state/repeated_warnings.py", "jit/recorder/record.py"}        # they hand a level on


def test_warnings_find_the_users_line_themselves():
    for file in ROOT.rglob("*.py"):
        path = file.relative_to(ROOT).as_posix()
        if path.partition("/")[0] not in ("ir", "passes", "runtime", "jit", "as_torch", "cli") or path in _TAKES_LEVELS:
            continue
        text = file.read_text()
        for node in ast.walk(ast.parse(text)) if "warn(" in text else ():
            if not isinstance(node, ast.Call):
                continue
            levels = [ast.unparse(k.value) for k in node.keywords if k.arg == "stacklevel"]
            called = ast.unparse(node.func)
            if called == "warnings.warn":
                # (public modules import it under a private name)
                assert [level.lstrip("_") for level in levels] == ["user_level()"], f"{path}:{node.lineno}"
            elif called == "warn":
                assert not levels, f"{path}:{node.lineno}"
    assert "stacklevel" not in warn.__code__.co_varnames


@pytest.mark.parametrize("name", ["absent.py", "folder", "unread.py"])
def test_a_program_under_as_torch_that_does_not_start_is_told_as_by_python(tmp_path, name):
    (tmp_path / "folder").mkdir()
    written(tmp_path, "unread", "x = (\n")
    assert run("-m", "ingot.as_torch", tmp_path / name) == run(tmp_path / name)


@pytest.mark.parametrize("program", ["import torch\ntorch.ones(2, 3) @ torch.ones(2, 3)\n", "import not_there\n"])
def test_a_program_under_as_torch_shows_its_lines_alone(tmp_path, program):
    file = written(tmp_path, "program", program)
    text = run("-m", "ingot.as_torch", file)
    assert [name for name, _ in lines_of(text)] == [str(file)], text
