"""Detection of other threads that may run user code, and so could meet proxies in variables that all threads see.

Notebooks, debuggers, progress bars and processes that share memory keep threads that move messages and call no user functions.
"""

import sys
import threading

SERVICES = ("ipykernel", "IPython", "zmq", "tqdm", "debugpy", "_pydevd_bundle", "execnet", "multiprocessing.resource_sharer",
            f"{__name__.partition('.')[0]}.runtime.distributed")
_WITH_USERS_CODE = ("ipykernel.subshell",)


def is_alone() -> bool:
    """Return whether no other thread may run user code."""
    others = sys._current_frames()
    del others[threading.get_ident()]       # else the frame would hold itself until the next collection
    if not others:
        return True
    threads = {thread.ident: thread for thread in threading.enumerate()}
    return all(_is_service(threads.get(ident), frame) for ident, frame in others.items())


def is_service(name) -> bool:
    """Return whether a module belongs to a library that keeps threads of its own."""
    return _is_inside(name, SERVICES)


def _is_service(thread, frame) -> bool:
    module = type(thread).__module__ if thread is not None else threading.__name__
    if module == threading.__name__:
        module = _first_module(frame)
    return _is_inside(module, SERVICES) and not _is_inside(module, _WITH_USERS_CODE)


def _is_inside(module, packages) -> bool:
    return any(module == package or module.startswith(f"{package}.") for package in packages)


def _first_module(frame) -> str:
    """Return the module of the function that a thread without a class of its own runs, in its outermost frame."""
    name = ""
    while frame is not None:
        module = frame.f_globals.get("__name__") or ""
        if module != threading.__name__:
            name = module
        frame = frame.f_back
    return name
