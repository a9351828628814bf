"""Threads and proxies: detection of other threads that may run user code, and attributes with other values for one thread.

The thread of a recording reads symbolic numbers where other threads, which may use the same objects at any time, need plain
ones. So objects hold plain values, and a descriptor in their class gives the recording thread its own. Variables that all
threads see hold proxies only while no other thread may run user code. Notebooks, debuggers, progress bars and processes that
share memory keep threads that move messages and call no user functions.
"""

import gc
import sys
import threading
from collections.abc import Callable
from itertools import chain, compress, starmap, tee
from operator import call, is_

from ...ir.interrupts import is_of_call
from ..bytecode.reads import MISSING, VIEWED
from ..bytecode.user_code import is_user_defined
from .numpy_scalars import now

SERVICES = ("ipykernel", "IPython", "zmq", "tqdm", "debugpy", "_pydevd_bundle", "execnet", "multiprocessing.resource_sharer",
            f"{__name__.partition('.')[0]}.runtime.distributed")
_WITH_USERS_CODE = ("ipykernel.subshell",)
_DISPLAYS = "rich."


def is_alone() -> bool:
    """Return whether no other thread may run user code."""
    others = _frames_of_threads()
    del others[threading.get_ident()]       # else the frame would hold itself until the next collection
    if not others:
        return True
    threads = {thread.ident: thread for thread in threading.enumerate()}
    return all(_is_service(threads.get(ident), frame) for ident, frame in others.items())


def _frames_of_threads() -> dict:
    """Return the frame of each thread, by its ident.

    On Python 3.11 a garbage collection inside of this call may wait for ever for a lock that the call holds (CPython issue
    106883), so the collector is off meanwhile. That is one instruction: no other thread runs in it, and no signal is handled.
    """
    is_on, was_on = tee(starmap(gc.isenabled, ((),)))           # asked once, where the first is taken
    steps = compress(((gc.disable,), (sys._current_frames,), (gc.enable,)), chain(is_on, (True,), was_on))
    return next(filter(None, [*starmap(call, steps)]))


def without_collections(work: Callable):
    """Return `work()`, done without garbage collections, unless another thread may see that: most new objects of a compilation
    live on, and `pass_manager.run` collects where it pays."""
    is_off = gc.isenabled() and is_alone()
    try:
        if is_off:
            gc.disable()
        return work()
    finally:
        if is_off:
            gc.enable()


def is_service(name) -> bool:
    """Return whether a module belongs to a library that keeps threads of its own."""
    return _is_inside(name, SERVICES)


def _is_service(thread, frame) -> bool:
    module = type(thread).__module__ if thread is not None else threading.__name__
    if module == threading.__name__:
        module = _first_module(frame)
    if module.startswith(_DISPLAYS):
        return not _shows_users_objects(thread)
    return _is_inside(module, SERVICES) and not _is_inside(module, _WITH_USERS_CODE)


def _shows_users_objects(thread) -> bool:
    """Return whether a thread of rich, which refreshes a display, may ask objects of the user what to show."""
    live = getattr(thread, "live", None)
    source = getattr(live, "_get_renderable", None)
    progress = getattr(source, "__self__", None)
    shown = [progress, getattr(live, "_renderable", None), *getattr(progress, "columns", ())]
    return is_user_defined(type(thread)) or any(is_user_defined(type(x)) for x in shown) or (
        progress is None and source is not None)


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


class ThreadView:
    """Descriptor of an attribute of a class while one thread sees values of its own in some objects."""

    def __init__(self, kind, name: str):
        self.kind, self.name, self.thread = kind, name, threading.get_ident()
        self.hidden = kind.__dict__.get(name, MISSING)      # the class attribute behind the view
        self.own: dict = {}                                 # id of an object -> the thread's value, or MISSING
        self.stored: set = set()                            # ids of objects whose value it has stored itself

    def __get__(self, obj, kind=None):
        if obj is None:
            return self._inherited(None, kind)
        value = self.current(obj)
        return self._inherited(obj, type(obj)) if value is MISSING else value

    def __set__(self, obj, value):
        if id(obj) in self.own and threading.get_ident() == self.thread:
            is_held = value is obj.__dict__.get(self.name, MISSING)         # as in `self.log += [loss]`
            known = value if is_held else mapped(value, now)
            self.own[id(obj)] = MISSING if known is value else value
            self.stored.add(id(obj))
            value = known
        obj.__dict__[self.name] = value

    def __delete__(self, obj):
        if id(obj) in self.own and threading.get_ident() == self.thread:
            self.own[id(obj)] = MISSING
        if obj.__dict__.pop(self.name, MISSING) is MISSING:
            raise AttributeError(self.name)

    def current(self, obj):
        """Return what the current thread sees in an object; MISSING if it has no attribute of its own."""
        is_seen = threading.get_ident() == self.thread and not self.is_replaced
        value = self.own.get(id(obj), MISSING) if is_seen else MISSING
        return obj.__dict__.get(self.name, MISSING) if value is MISSING else value

    @property
    def is_replaced(self) -> bool:
        """Return whether code has assigned to the attribute of the class. Code has read plain numbers in the objects since."""
        return self.kind.__dict__.get(self.name) is not self

    def _inherited(self, obj, kind):
        for base in kind.__mro__:
            found = base.__dict__.get(self.name, MISSING)
            if type(found) is ThreadView:
                found = found.hidden
            if found is not MISSING:
                bind = getattr(type(found), "__get__", None)
                return found if bind is None else bind(found, obj, kind)
        raise AttributeError(f"{kind.__name__!r} object has no attribute {self.name!r}")


def own_names(cls) -> frozenset:
    """Return the names of the attributes of a class, without those that only views have."""
    views = {name for (_, name), view in VIEWED.items() if view.kind is cls and view.hidden is MISSING} if VIEWED else ()
    return frozenset(vars(cls)).difference(views)


def mapped(value, give, around=()):
    """Return `give` of a value, or of the items of a container, which is rebuilt if one differs; those `around` a value are
    left as they are."""
    kind = type(value)
    if kind not in (tuple, list, dict):
        return give(value)
    if any(value is outer for outer in around):
        return value
    items, around = list(value.values() if kind is dict else value), (*around, value)
    known = [mapped(v, give, around) for v in items]
    if all(map(is_, items, known)):
        return value
    return dict(zip(value, known)) if kind is dict else kind(known)


class ThreadViews:
    """Views of one recording, removed at its end."""

    def __init__(self):
        self._views: dict = {}        # (class, name) -> view
        self._keep: list = []

    def show(self, obj, name: str, value=MISSING) -> bool:
        """Give this thread a value of its own for an attribute; return False if the class cannot be changed."""
        kind = type(obj)
        view = self._views.get((kind, name))
        if view is None:
            view = ThreadView(kind, name)
            try:
                type.__setattr__(kind, name, view)
            except TypeError as error:
                if not is_of_call(error):
                    raise
                return False
            self._views[kind, name] = view
        if value is not MISSING or id(obj) not in view.own:
            view.own[id(obj)] = value
        VIEWED[id(obj), name] = view
        self._keep.append(obj)
        return True

    def hide(self) -> list:
        """Let this thread see what all see; return [(view, id of an object, its own value, common value)] for `restore`."""
        found = [(view, obj, value, obj.__dict__.get(view.name, MISSING)) for view in self._views.values()
                 for obj in self._keep if (value := view.own.get(id(obj), MISSING)) is not MISSING]
        for view, obj, *_ in found:
            view.own[id(obj)] = MISSING
        return found

    def restore(self, hidden: list):
        """Let it see its own values again, if nothing else was stored meanwhile."""
        for view, obj, value, was in hidden:
            if obj.__dict__.get(view.name, MISSING) is was:
                view.own[id(obj)] = value

    def cover(self, obj) -> bool:
        """Return whether an object has attributes of which this thread has its own view."""
        return any(o is obj for o in self._keep)

    def replaced(self) -> list:
        """Return the names of attributes of classes to which code has assigned, with the class."""
        return [f"{view.kind.__qualname__}.{view.name}" for view in self._views.values() if view.is_replaced]

    def close(self, plain=None):
        """Let all see what the thread has stored: numbers, and copies of containers with numbers, or what `plain` returns."""
        plain = plain or (lambda value: mapped(value, now))
        kept = [view for view in self._views.values() if not view.is_replaced]
        for view in kept:       # a container that was stored may hold other values by now
            for obj in [obj for obj in self._keep if id(obj) in view.stored and view.own[id(obj)] is not MISSING]:
                obj.__dict__[view.name] = plain(view.own[id(obj)])
        for view in kept:
            if view.hidden is MISSING:
                type.__delattr__(view.kind, view.name)
            else:
                type.__setattr__(view.kind, view.name, view.hidden)
        for place in [place for place, view in VIEWED.items() if self._views.get((view.kind, view.name)) is view]:
            del VIEWED[place]
        self._views, self._keep = {}, []
