"""State of the process that is other for a while: found in the source, and put back whatever interrupt comes."""

import ast
import signal
import sys
import warnings
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

import ingot
from ingot.ir.process_state import (
    float_errors,
    ignore_float_errors,
    import_folder,
    more_frames,
    recursion_limit,
    signal_handler,
    without_warnings,
)
from ingot.runtime.cpu.calls import pool
from ingot.runtime.state.mode import other_mode, tls
from interrupts import is_from_outside, raised_at

ROOT = Path(ingot.__file__).parent
FOLDERS = "ir", "passes", "runtime", "jit", "as_torch", "cli"
CHANGES = {         # calls that change state of the process
    "np.errstate", "np.seterr", "np.seterrcall", "np.setbufsize", "np.set_printoptions", "np.random.seed",
    "np.random.set_state",
    "warnings.catch_warnings", "warnings.simplefilter", "warnings.filterwarnings", "warnings.resetwarnings", "signal.signal",
    "os.chdir", "os.umask", "os.putenv", "os.unsetenv", "os.environ.update", "os.environ.pop", "os.environ.setdefault",
    "sys.path.insert", "sys.path.append", "sys.path.remove", "sys.setrecursionlimit", "sys.setswitchinterval", "random.seed",
    "random.setstate", "locale.setlocale", "os.sched_setaffinity", "decimal.setcontext", "os.nice", "resource.setrlimit",
    "pool.set_num_threads", "gc.disable", "gc.freeze", "gc.set_threshold"}
STORES = {"os.environ", "sys.stdout", "sys.stderr", "sys.path", "sys.excepthook", "warnings.filters", "warnings.showwarning"}
STAYS = {           # changes that nothing takes back, or that are put back in another way
    "jit/python_state/frames_apart.py start": "`stop` puts handlers back, once more after an interrupt (`ProcessState`)",
    "jit/python_state/frames_apart.py stop": "the same",
    "jit/proxies/threads.py without_collections": "one call in C in the `finally`, before which no signal is handled",
    "runtime/data/worker_loop.py run": "a process of its own",
    "as_torch/__init__.py install": "programs that this one starts find ingot as `torch`, too",
    "as_torch/__main__.py main": "a program that runs to its end",
    "cli/run.py run": "a program that runs to its end",
    "cli/bench.py run": "a program that runs to its end",
    "cli/generate.py run": "a program that runs to its end",
    "cli/serve.py run": "a program that runs to its end",
    "jit/exporting/file/cross_compile.py main": "a process of its own",
    "jit/python_state/ambient_state.py _locale": "asks alone",
    "ir/error_texts/shown_errors.py install": "once, as ingot is imported",
}
MODE = {"anomaly", "autocast", "batched", "grad", "inference", "observer", "recorder", "saved_hooks", "sizes", "special"}


def _text(node) -> str:
    return ast.unparse(node)


def _changed(node) -> bool:
    """Return whether a node changes state of the process."""
    if isinstance(node, ast.Call):
        return _text(node.func) in CHANGES
    if isinstance(node, (ast.Assign, ast.AugAssign, ast.Delete)):
        targets = [node.target] if isinstance(node, ast.AugAssign) else node.targets
        return any(_text(t.value if isinstance(t, ast.Subscript) else t) in STORES for t in targets)
    return False


def _functions(file):
    """Yield (text that names it, function, functions around it) of a file."""
    name = file.relative_to(ROOT).as_posix()

    def walk(node, around):
        for child in ast.iter_child_nodes(node):
            inside = isinstance(child, (ast.FunctionDef, ast.Lambda))
            if inside and isinstance(child, ast.FunctionDef):
                yield f"{name} {child.name}", child, around
            yield from walk(child, (*around, child) if inside else around)

    return walk(ast.parse(file.read_text(encoding="utf-8")), ())


def _files() -> list:
    return [file for folder in FOLDERS for file in sorted((ROOT / folder).rglob("*.py"))]


def _own_nodes(function):
    """Yield the nodes of a function, without those of functions in it."""
    waiting = list(function.body)
    while waiting:
        node = waiting.pop()
        yield node
        waiting += [c for c in ast.iter_child_nodes(node) if not isinstance(c, (ast.FunctionDef, ast.Lambda))]


def test_blocks_change_the_state_of_the_process():
    found = {name for file in _files() if file.relative_to(ROOT).as_posix() != "ir/process_state.py"
             for name, function, _ in _functions(file) if any(map(_changed, _own_nodes(function)))}
    assert found == set(STAYS)


def _fields(node) -> set:
    """Return the fields of the thread's mode that an assignment sets."""
    targets = node.targets if isinstance(node, ast.Assign) else ()
    flat = [t for target in targets for t in (target.elts if isinstance(target, ast.Tuple) else (target,))]
    return {t.attr for t in flat if isinstance(t, ast.Attribute) and t.attr in MODE and _text(t.value) in ("m", "tls.m")}


def _unprotected(function) -> list:
    """Return the lines that set fields of the mode and are neither followed by a `try` that puts them back, without a call in
    between, nor in the `finally` of one."""
    found: list = []

    def walk(body, safe):
        for i, node in enumerate(body):
            fields = _fields(node) - safe
            following = next((n for n in body[i + 1:] if not _fields(n)), None)
            if fields and not (isinstance(following, ast.Try) and fields <= _restored(following)):
                found.append(node.lineno)
            for part in ("body", "orelse", "handlers", "finalbody"):
                inner = getattr(node, part, ())
                if isinstance(node, ast.FunctionDef) or not isinstance(inner, list):
                    continue
                more = _restored(node) if isinstance(node, ast.Try) else set()
                walk([s for h in inner for s in h.body] if part == "handlers" else inner, safe | more)

    def _restored(node) -> set:
        return _fields(node.finalbody[0]) if node.finalbody else set()

    walk(function.body, set())
    return found


MODES_THAT_STAY = {     # functions that set the mode for good, in a block, or with an end of their own
    "runtime/autograd/anomaly.py _set": "for good, or a part of a block",
    "runtime/autograd/saved_tensor_hooks.py _put": "a part of a block",
    "runtime/amp/autocast_mode.py _install": "a part of a block",
    "runtime/autograd/grad_mode.py __enter__": "a part of a block",
    "runtime/autograd/grad_mode.py __call__": "puts back what `set_grad_enabled(mode)` has set at once",
    "jit/python_state/frames_apart.py leave": "`go_on` puts it back, or the end of the recording (`ProcessState`)",
    "jit/python_state/frames_apart.py go_on": "the same",
    "jit/tracing/recorded_call.py _begin": "`ProcessState` puts it back",
    "jit/tracing/recorded_call.py _release": "the same",
}


def test_modes_are_put_back_before_any_call():
    """An interrupt may come behind a call that stands between a change and its `try`, or that is first in the `finally`."""
    found: set = set()
    for file in _files():
        for name, function, around in _functions(file):
            in_block = any(isinstance(a, ast.FunctionDef) and (a.name == "around" or _is_block(a)) for a in around)
            if not in_block and function.name not in ("__init__", "open", "close", "around") and _unprotected(function):
                found.add(name)
    assert found == set(MODES_THAT_STAY)


def _is_block(function) -> bool:
    return any(_text(d) == "block" for d in function.decorator_list)


BLOCKS: dict[str, tuple[Callable, Callable]] = {
    "float_errors": (lambda: float_errors(over="raise", invalid="print"), np.geterr),
    "without_warnings": (without_warnings, lambda: (id(warnings.filters), list(warnings.filters))),
    "signal_handler": (lambda: signal_handler(signal.SIGUSR1, lambda *_: None), lambda: signal.getsignal(signal.SIGUSR1)),
    "import_folder": (lambda: import_folder("/nowhere"), lambda: list(sys.path)),
    "more_frames": (lambda: more_frames(9), lambda: (sys.getrecursionlimit(), recursion_limit())),
    "with_threads": (lambda: pool.with_threads(3), pool.get_num_threads),
    "other_mode": (lambda: other_mode(grad=False, autocast=object()), lambda: (tls.m.grad, tls.m.autocast, tls.m.special)),
}


@pytest.mark.parametrize("name", BLOCKS)
def test_no_interrupt_leaves_the_state_of_a_block(name):
    """The exception is held, so nothing is put back because it goes."""
    make, state = BLOCKS[name]

    def enter():
        with make():
            assert state() != before
            len("")

    before, held, reached, number = state(), [], True, 0
    while reached:
        _, error, reached = raised_at(number, enter)
        held.append(error)
        assert is_from_outside(error) is reached and state() == before, number
        number += 1
    assert number > 3


def test_warnings_are_heard_again():
    def old():
        warnings.warn("old", DeprecationWarning, stacklevel=1)

    with warnings.catch_warnings(record=True) as heard:
        warnings.simplefilter("default")
        with without_warnings():
            old()
        assert not heard
        with without_warnings(message="other"):
            old()
        old()
        assert len(heard) == 2


def test_functions_without_float_errors_leave_those_of_their_caller():
    @ignore_float_errors
    def inverse(x):
        return 1 / x, np.geterr()["divide"]

    with np.errstate(divide="raise"):
        assert inverse(np.zeros(1))[1] == "ignore"
        assert np.geterr()["divide"] == "raise"
