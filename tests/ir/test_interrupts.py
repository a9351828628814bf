"""Exceptions that code raises itself, told from those that come while it runs."""

import ast
import builtins
import json
from pathlib import Path

import pytest

import ingot
from ingot.ir.interrupts import is_of_call, raise_interrupt, result_or

ROOMS = {"a": 1}
CALLS = {           # functions that fail, with arguments
    "python": (lambda key: ROOMS[key], ("b",)), "c": (int, ("x",)), "library": (json.loads, ("{",)),
    "nested": (lambda: [len(x) for x in ([], 1)], ()), "attribute": (getattr, (3, "missing")),
}


def _caught(function, *args):
    try:
        function(*args)
    except Exception as error:
        raise_interrupt(error, function, *args)
        return error


@pytest.mark.parametrize("name", CALLS)
def test_a_failure_comes_again(name):
    function, args = CALLS[name]
    for _ in range(20):         # the interpreter adapts calls
        assert isinstance(_caught(function, *args), Exception)


@pytest.mark.parametrize("kind", [KeyError, ValueError, TimeoutError, TypeError])
@pytest.mark.parametrize("name", CALLS)
def test_an_interrupt_does_not(name, kind):
    function, args = CALLS[name]
    for fails in (False, True):
        came = []

        def interrupted(*given, came=came, fails=fails):
            if not came:
                came.append(True)
                raise kind
            return function(*given) if fails else None

        with pytest.raises(kind) as raised:
            _caught(interrupted, *args)
        assert not raised.value.args


def test_an_interrupt_that_comes_meanwhile_is_raised():
    came = []

    def fails():
        came.append(True)
        if len(came) == 2:
            raise KeyboardInterrupt
        return ROOMS["b"]

    with pytest.raises(KeyboardInterrupt):
        _caught(fails)


def test_an_error_with_another_text_each_time_is_raised():
    came = []

    def fails():
        came.append(True)
        exec(f"{'pass;' * len(came)} 1 / 0")

    with pytest.raises(ZeroDivisionError):
        _caught(fails)
    assert len(came) == 8


def test_errors_of_one_call_of_c_code():
    def handler():
        return [].pop()

    for fails, own in ((lambda: [].pop(), False), (handler, False)):
        try:
            fails()
        except IndexError as error:
            assert is_of_call(error) is own
    try:
        [].pop()
    except IndexError as error:
        assert is_of_call(error)
    try:
        raise IndexError
    except IndexError as error:
        assert not is_of_call(error)


ROOT = Path(ingot.__file__).parent
ROOMS_THAT_RUN = (      # whose functions run in calls of users' programs, again and again
    "ir/error_texts", "ir/opdef", "ir/ops", "ir/symbols", "runtime/api", "runtime/core", "runtime/autograd", "runtime/memo",
    "runtime/state", "runtime/optim", "runtime/nn", "runtime/linalg", "runtime/cpu/calls", "runtime/cpu/graph",
    "runtime/cpu/loops", "runtime/cpu/memory", "runtime/cpu/gemm", "runtime/cpu/conv", "runtime/cpu/nn", "runtime/cpu/index",
    "jit/bytecode", "jit/guards", "jit/host", "jit/proxies", "jit/python_state", "jit/recorder", "jit/replay",
    "jit/side_effects", "jit/tracing")
ASKS = {"raise_interrupt", "is_of_call", "is_plain", "_is_plain", "is_reentry", "after_failure", "after_short_path",
        "call_inside", "result_or"}
GO_ON = {       # handlers that ask nothing, and why
    "runtime/core/dispatch.py after_failure": "keeps the exception, and asks behind the handler",
    "runtime/autograd/grad_mode.py steps": "the end of a generator",
    "runtime/autograd/grad_mode.py around_steps": "the same, from the function around it",
    "runtime/cpu/memory/alloc.py _limit": "runs once, as memory is first needed",
    "runtime/cpu/memory/cache_sizes.py _size": "runs once",
    "runtime/api/register/memory_formats.py format_of": "words for a name that is in no table",
    "jit/bytecode/attribute_queries.py imported_name": "ImportError of a name, while a function is read",
    "runtime/nn/utils/parametrize.py __init__": "NotImplementedError of a user's module, once for each parametrization",
    "runtime/nn/utils/parametrize.py _check_next": "the same",
    "jit/python_state/frames_apart.py _collects": "keeps the exception, and raises it later",
    "jit/python_state/frames_apart.py _ends": "keeps the exception, and raises it later",
    "jit/tracing/labels.py _signature_of": "words of a message",
    "jit/tracing/traced_module.py _class_of": "makes a class, once for each class",
}
BUILTINS = {name for name, value in vars(builtins).items() if isinstance(value, type) and issubclass(value, BaseException)}


def _caught_names(kind) -> set:
    if kind is None:
        return {"BaseException"}
    return set().union(*map(_caught_names, kind.elts)) if isinstance(kind, ast.Tuple) else {getattr(kind, "id", "")}


def _runs_code(nodes) -> bool:
    """Return whether the interpreter looks for interrupts in some statements."""
    looks = ast.Call, ast.For, ast.While, ast.With, ast.ListComp, ast.GeneratorExp
    return any(isinstance(x, looks) for node in nodes for x in ast.walk(node))


def _asks_or_raises(handler) -> bool:
    inner = [x for node in handler.body for x in ast.walk(node)]
    return any((isinstance(x, ast.Call) and getattr(x.func, "id", getattr(x.func, "attr", "")) in ASKS)
               or (isinstance(x, ast.Raise) and x.exc is None) for x in inner)


def _that_go_on(file) -> set:
    """Return the functions that catch builtin exceptions of code that runs, and go on without a question."""
    found, name = set(), file.relative_to(ROOT).as_posix()
    for function in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
        if isinstance(function, ast.FunctionDef) and any(map(_goes_on, ast.walk(function))):
            found.add(f"{name} {function.name}")
    return found


def _goes_on(node) -> bool:
    if isinstance(node, ast.With):
        calls = [item.context_expr for item in node.items if "suppress(" in ast.unparse(item.context_expr)]
        return any(_caught_names(ast.Tuple(call.args)) & BUILTINS for call in calls)        # type: ignore[attr-defined]
    return isinstance(node, ast.Try) and _runs_code(node.body) and any(
        _caught_names(h.type) & BUILTINS and not _asks_or_raises(h) for h in node.handlers)


def test_no_code_that_runs_takes_an_interrupt_for_its_own_failure():
    """A handler of builtin exceptions asks `ir/interrupts.py` before it goes on, or raises the exception again."""
    files = [file for room in ROOMS_THAT_RUN for file in sorted((ROOT / room).rglob("*.py"))] + [ROOT / "ir/tracebacks.py"]
    assert len(files) > 300
    assert set().union(*map(_that_go_on, files)) == set(GO_ON)


def test_a_result_or_a_default():
    assert result_or(0, len, "abc") == 3 and result_or(0, len, 3) == 0

    def fails_once(seen=[]):            # noqa: B006  (a list of one function)
        if not seen:
            seen.append(1)
            raise TimeoutError("from outside")

    with pytest.raises(TimeoutError, match="from outside"):
        result_or(None, fails_once)
