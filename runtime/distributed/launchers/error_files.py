"""`ingot.distributed.elastic.multiprocessing.errors`: errors of a process, in a file for the launcher."""

import json
import os
import time
import traceback
from functools import wraps

from ....ir.shown_errors import shortened

__all__ = ["record"]


def _write_error(error: BaseException):
    """Write an error into the launcher's file, if there is one."""
    path = os.environ.get("TORCHELASTIC_ERROR_FILE")
    if not path:
        return
    with shortened(error):
        text = traceback.format_exc()
    report = {"message": f"{type(error).__name__}: {error}",
              "extraInfo": {"py_callstack": text, "timestamp": str(int(time.time()))}}
    with open(path, "w") as file:
        json.dump({"message": report}, file)


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
                _write_error(e)
            else:
                error_handler.record_exception(e)
            raise

    return recorded
