"""`ingot.distributed.elastic.multiprocessing.errors`: errors of a process, in a file for the launcher."""

import contextlib
import json
import os
import time
import traceback
from functools import wraps
from typing import NamedTuple

from ....ir.error_texts.shown_errors import UNCAUGHT, shortened
from ..stores.distributed_errors import DistError

__all__ = ["record"]


VARIABLE = "TORCHELASTIC_ERROR_FILE"
_MOST = 300         # characters of a message that a launcher quotes


class Report(NamedTuple):
    """The first error of a process. It follows from another process if it is one of communication."""

    message: str
    seconds: float
    follows: bool


def write_error(error: BaseException):
    """Write an error into the launcher's file, if there is one, unless an earlier one is there."""
    path = os.environ.get(VARIABLE)
    if not path or os.path.exists(path):
        return
    with shortened(error):
        text = "".join(traceback.format_exception(error))
    now = time.time()
    report = {"message": f"{type(error).__name__}: {error}",
              "extraInfo": {"py_callstack": text, "timestamp": str(int(now)), "seconds": now,
                            "follows": isinstance(error, DistError)}}
    with contextlib.suppress(OSError), open(path, "w") as file:     # (a launcher that has ended has removed its folder)
        json.dump({"message": report}, file)


def report_in(path: str) -> Report | None:
    """Return the error in a file; None if its process wrote none."""
    try:
        with open(path) as file:
            said = json.load(file)["message"]
        more = said["extraInfo"]
        return Report(said["message"].partition("\n")[0][:_MOST], float(more["seconds"]), bool(more["follows"]))
    except (OSError, ValueError, LookupError, TypeError):
        return None


UNCAUGHT.append(write_error)


def record(fn=None, error_handler=None):
    """Decorate a program's main function: its errors are written to the file in TORCHELASTIC_ERROR_FILE, and raised."""
    if fn is None:
        return lambda fn: record(fn, error_handler)

    @wraps(fn)
    def recorded(*args, **kwargs):
        if error_handler is not None:
            error_handler.initialize()
        try:
            return fn(*args, **kwargs)
        except SystemExit:
            raise
        except BaseException as e:
            if error_handler is None:
                write_error(e)
            else:
                error_handler.record_exception(e)
            raise

    return recorded
