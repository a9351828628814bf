"""`ingot.distributed.elastic.multiprocessing.errors`: what went wrong in a process, left in a file for the launcher."""

import json
import os
import time
import traceback
from functools import wraps

__all__ = ["record"]


def _leave(error: BaseException):
    """Write an error into the file that the launcher has named, if it has named one."""
    path = os.environ.get("TORCHELASTIC_ERROR_FILE")
    if not path:
        return
    said = {"message": f"{type(error).__name__}: {error}",
            "extraInfo": {"py_callstack": traceback.format_exc(), "timestamp": str(int(time.time()))}}
    with open(path, "w") as file:
        json.dump({"message": said}, file)


def record(fn=None, error_handler=None):
    """Return a program's main function, whose errors are left in the file that TORCHELASTIC_ERROR_FILE names, and raised."""
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
                _leave(e)
            else:
                error_handler.record_exception(e)
            raise

    return recorded
