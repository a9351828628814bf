"""Functions that are patched while a call is recorded, as another thread meets them at that moment."""

import builtins
import io
import logging
import math
import threading
import warnings

import ingot
from ingot import jit

MODULES = {"builtins": builtins, "io": io, "math": math, "warnings": warnings}
FOR_ALL = {"builtins.print", "builtins.open", "io.open", "warnings.warn"}       # and those of `math`: Python looks up names
                                                                                # of modules for all threads alike


def _values() -> dict:
    """Return what this thread finds under each name, and what calls of it give."""
    found = {f"{place}.{name}": value for place, module in MODULES.items() for name, value in vars(module).items()
             if callable(value)}
    found |= {f"Logger.{name}": getattr(logging.Logger, name) for name in ("handle", "debug", "isEnabledFor")}
    return found


def _results(path) -> list:
    """Return what the functions do in this thread."""
    text, logged = io.StringIO(), []
    print("a", 1.5, file=text)
    handler = logging.Handler()
    handler.emit = lambda record: logged.append(record.getMessage())
    logger = logging.getLogger("ingot.other_threads")
    logger.addHandler(handler)
    logger.error("at %d", 3)
    logger.removeHandler(handler)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        warnings.warn("seen", stacklevel=1)
    with open(path) as first, io.open(path) as second:      # noqa: UP020
        files = first.read(), second.read()
    numbers = [math.sqrt(2.0), math.floor(2.5), math.isnan(math.nan), math.log(3.0), len([1, 2]), max(1, 2), int("7")]
    return [text.getvalue(), logged, [str(w.message) for w in caught], files, numbers]




def test_another_thread_finds_methods_of_classes_and_results_as_they_are(tmp_path):
    path = tmp_path / "a.txt"
    path.write_text("text")
    before, results, seen = _values(), _results(path), []
    begun, asked = threading.Event(), threading.Event()

    def other():
        begun.wait(30)
        seen.append((_values(), _results(path)))
        asked.set()

    thread = threading.Thread(target=other)
    thread.start()

    @jit.host
    def wait():
        begun.set()
        asked.wait(30)

    def step(x):
        wait()
        logging.getLogger("ingot.other_threads").debug("here")
        return x * math.sqrt(2.0)

    traced = jit.trace(step, fullgraph=True)
    assert traced(ingot.ones(2)).tolist() == step(ingot.ones(2)).tolist()
    thread.join(30)
    (values, given), = seen
    assert given == results
    others = {name for name, value in values.items() if value is not before[name]}
    assert {name for name in others if not name.startswith("math.")} == FOR_ALL
    assert _values() == before
