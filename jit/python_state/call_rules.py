"""Rules for calls that leave user code: what a recording does about functions and methods of Python, numpy and other packages.

The tables are data. `rule_of_function` goes by the module and the name of a function, `rule_of_method` by the classes of its
object. What stands in no table is refused.
"""

import gc
import itertools
import os
import types
import warnings
import weakref
from enum import Enum
from functools import lru_cache
from typing import Any

import numpy as np

from ...ir.process_state import recursion_limit
from ...runtime.core.tensor import Tensor
from ...runtime.nn.base.module import Module
from ..bytecode.user_code import HOLDERS, is_own, is_user_defined, is_user_module
from ..guards.snapshot import CONTAINERS


class Rule(Enum):
    """Treatment of a call while a function is recorded."""

    PURE = "the result depends on the operands alone"
    GIVEN = "likewise if it is given enough operands; else it reads the clock or draws a seed"
    READS = "it reads state of the process: a recording is used while the call gives an equal result"
    DRAWS = "it draws from a generator: the function's own one, made with a seed, repeats its numbers, others are refused"
    CONTENT = "it reads or changes its object, whose content is compared"
    LOCKS = "it takes or gives back a lock: each call takes the lock before it reads anything, and gives it back at its end"
    HOST = "it acts on the world and gives nothing that the function uses: each call does it again, at its end"
    SETS = "it sets state that `STATES` reads, and the function uses the result or catches errors: compared before and after"
    OBSERVED = "other files of this room replace it or watch its frames"
    REFUSED = "a replay could not repeat it"


PURE, GIVEN, READS, DRAWS, CONTENT, LOCKS, HOST, SETS, OBSERVED, REFUSED = Rule


def _table(**rules) -> dict:
    return {name: Rule[rule] for rule, names in rules.items() for name in names.split()}


def _methods(classes: str, names: str) -> str:
    return " ".join([f"{kind}.{name}" for kind in classes.split() for name in names.split()]) + " "


# Names by which C code calls its modules.
_ALIASES = {"posix": "os", "nt": "os", "thread": "threading", "genericpath": "posixpath", "ntpath": "posixpath",
            "weakrefset": "weakref", "collections_abc": "collections", "sre": "re", "blake2": "hashlib", "md5": "hashlib",
            "sha1": "hashlib", "sha2": "hashlib", "sha256": "hashlib", "sha512": "hashlib", "sha3": "hashlib",
            "pydecimal": "decimal", "pathlib": "pathlib", "pydatetime": "datetime", "strptime": "datetime",
            "distutils_hack": "importlib", "frozen_importlib": "importlib", "frozen_importlib_external": "importlib"}

# Module -> rule of its functions and classes that have no row below. Modules below another count as that one.
_MODULES: dict = {
    **dict.fromkeys((
        "abc", "argparse", "array", "ast", "base64", "binascii", "bisect", "builtins", "calendar", "cmath", "codecs",
        "collections", "colorsys", "configparser", "contextlib", "copy", "copyreg", "csv", "ctypes", "dataclasses", "datetime",
        "decimal", "difflib", "dis", "encodings", "enum", "errno", "fnmatch", "fractions", "functools", "getopt",
        "graphlib", "hashlib", "heapq", "hmac", "html", "importlib", "inspect", "io", "ipaddress", "itertools", "json",
        "keyword", "linecache", "locale", "math", "numbers", "opcode", "operator", "pickle", "posixpath", "pprint",
        "re", "reprlib", "shlex", "sre_compile", "sre_constants", "sre_parse", "stat", "statistics", "string", "stringprep",
        "struct", "textwrap", "timeit", "token", "tokenize", "tomllib", "traceback", "types", "typing", "unicodedata",
        "unittest", "urllib.parse", "warnings", "weakref", "zlib", "zoneinfo", "numpy", "ml_dtypes", "scipy", "pandas",
        "sklearn", "sympy", "omegaconf", "pydantic", "pydantic_core", "attr", "attrs", "beartype", "jaxtyping", "pytest",
        "pluggy"), PURE),
    **dict.fromkeys(("concurrent", "contextvars", "queue", "llvmlite", "triton", "tqdm", "rich",
                     "pydevd_bundle", "pydevd_frame_eval"), OBSERVED),
    "platform": READS,
}

# Module -> functions, classes and methods with another rule than their module.
_FUNCTIONS: dict = {
    "builtins": _table(
        OBSERVED="print open getattr hasattr setattr delattr dir vars globals locals type id isinstance callable __import__",
        READS="type.__subclasses__", REFUSED="input breakpoint exit quit help"),
    "os": _table(
        PURE="fspath fsencode fsdecode strerror WCOREDUMP WEXITSTATUS WIFCONTINUED WIFEXITED WIFSIGNALED WIFSTOPPED WSTOPSIG "
             "WTERMSIG waitstatus_to_exitcode major minor makedev stat_result terminal_size uname_result times_result "
             "PathLike.__fspath__",
        OBSERVED="getenv getenvb",
        READS="getcwd getcwdb getpid getppid cpu_count process_cpu_count getuid geteuid getgid getegid getlogin getgroups "
              "getpgid getpgrp getsid getresuid getresgid getgrouplist getpriority uname listdir access readlink statvfs "
              "sysconf confstr pathconf get_exec_path getxattr listxattr sched_getaffinity sched_getscheduler "
              "sched_get_priority_max sched_get_priority_min device_encoding isatty ctermid get_terminal_size",
        HOST="mkdir makedirs rmdir removedirs remove unlink rename renames replace link symlink chmod chown lchown utime "
             "truncate putenv unsetenv chdir setxattr removexattr sync mkfifo umask nice kill killpg"),
    "posixpath": _table(
        OBSERVED="exists lexists isfile isdir islink getsize getmtime",
        READS="abspath realpath expanduser expandvars relpath ismount getatime getctime samefile sameopenfile"),
    "pathlib": _table(
        PURE="PurePath PurePosixPath PureWindowsPath Path PosixPath WindowsPath",
        OBSERVED="Path.exists Path.is_file Path.is_dir Path.stat Path.read_text Path.read_bytes Path.open",
        READS="Path.cwd Path.home Path.absolute Path.resolve Path.expanduser Path.owner Path.group Path.samefile "
              "Path.readlink Path.is_mount Path.is_symlink Path.is_block_device Path.is_char_device Path.is_fifo "
              "Path.is_socket Path.is_junction Path.glob Path.rglob Path.iterdir",
        HOST="Path.mkdir Path.rmdir Path.unlink Path.touch Path.rename Path.replace Path.chmod Path.lchmod Path.symlink_to "
             "Path.hardlink_to Path.link_to"),
    "glob": _table(PURE="escape has_magic", READS="glob iglob glob0 glob1"),
    "shutil": _table(READS="which get_terminal_size get_archive_formats"),
    "socket": _table(READS="gethostname"),
    "tempfile": _table(READS="gettempdir gettempprefix"),
    "time": _table(PURE="strptime mktime struct_time", GIVEN="gmtime localtime ctime asctime strftime",
                   READS="clock_getres get_clock_info", HOST="sleep tzset"),
    "datetime": _table(REFUSED="datetime.now datetime.utcnow datetime.today date.today"),
    "locale": _table(READS="getlocale getpreferredencoding getencoding localeconv getdefaultlocale", HOST="setlocale"),
    "random": _table(GIVEN="Random", DRAWS="Random.__call__", CONTENT="Random.getstate"),
    "uuid": _table(PURE="UUID uuid3 uuid5", READS="getnode"),
    "numpy.random": _table(GIVEN="default_rng RandomState PCG64 PCG64DXSM MT19937 Philox SFC64 SeedSequence", PURE="Generator",
                           CONTENT="RandomState.get_state"),
    "numpy": _table(
        READS="geterr geterrcall getbufsize get_printoptions get_include",
        HOST="seterr seterrcall setbufsize set_printoptions set_default_printstyle show_config show_runtime info",
        OBSERVED="load loadtxt genfromtxt fromregex save savetxt savez savez_compressed",
        REFUSED="fromfile memmap test ndarray.tofile ndarray.dump generic.tofile generic.dump MaskedArray.ids"),
    "pandas": _table(OBSERVED="read_csv read_parquet read_pickle read_json", READS="get_option describe_option",
                     HOST="set_option reset_option"),
    "sklearn": _table(READS="get_config", HOST="set_config"),
    "gc": _table(READS="isenabled get_threshold get_debug", PURE="is_tracked is_finalized",
                 HOST="collect enable disable freeze unfreeze set_threshold set_debug"),
    "sys": _table(
        PURE="intern exc_info exception audit getsizeof", OBSERVED="_getframe getrecursionlimit",
        READS="getswitchinterval getdefaultencoding getfilesystemencoding getfilesystemencodeerrors get_int_max_str_digits "
              "getdlopenflags is_finalizing get_asyncgen_hooks",
        HOST="setrecursionlimit setswitchinterval set_int_max_str_digits setdlopenflags"),
    "threading": _table(
        PURE="Lock RLock LockType lock allocate_lock Condition Semaphore BoundedSemaphore Event Barrier local Thread Timer",
        OBSERVED="current_thread currentThread Thread.start start_new_thread start_joinable_thread",
        READS="active_count activeCount get_ident get_native_id main_thread enumerate getprofile gettrace stack_size "
              "Thread.is_alive Thread.getName Thread.isDaemon Event.is_set Event.isSet",
        LOCKS=_methods("lock RLock", "acquire release acquire_lock release_lock __enter__ __exit__")
        + _methods("Condition Semaphore BoundedSemaphore", "acquire release __enter__ __exit__"),
        HOST="Condition.notify Condition.notify_all Condition.notifyAll", CONTENT="Event.set Event.clear",
        REFUSED="Condition.wait Condition.wait_for Barrier.wait Barrier.reset Barrier.abort"),
    "multiprocessing": _table(
        LOCKS=_methods("SemLock Lock RLock Condition Semaphore BoundedSemaphore", "acquire release __enter__ __exit__"),
        PURE=_methods("BaseContext", "get_context Lock RLock Condition Semaphore BoundedSemaphore Event Barrier Value Array "
                      "RawValue RawArray Queue SimpleQueue JoinableQueue Pipe"),
        READS="current_process parent_process Event.is_set "
              + _methods("BaseContext DefaultContext", "cpu_count get_start_method get_all_start_methods"),
        REFUSED="Condition.wait Condition.wait_for Barrier.wait active_children"),
    "logging": _table(
        PURE="makeLogRecord Formatter LogRecord NullHandler Filter LoggerAdapter currentframe",
        OBSERVED="debug info warning warn error critical fatal log exception Logger.debug Logger.info Logger.warning "
                 "Logger.warn Logger.error Logger.critical Logger.fatal Logger.log Logger.exception Logger.isEnabledFor "
                 "Logger.handle LoggerAdapter.debug LoggerAdapter.info LoggerAdapter.warning LoggerAdapter.error "
                 "LoggerAdapter.critical LoggerAdapter.log LoggerAdapter.isEnabledFor LoggerAdapter.process",
        READS="getLogger getLevelName getLevelNamesMapping getLogRecordFactory getLoggerClass Logger.getEffectiveLevel "
              "Logger.hasHandlers Logger.getChild Logger.getChildren",
        HOST="disable captureWarnings addLevelName basicConfig setLogRecordFactory setLoggerClass shutdown Logger.setLevel "
             "Logger.addHandler Logger.removeHandler Logger.addFilter Logger.removeFilter",
        REFUSED="Logger.findCaller"),
    "warnings": _table(OBSERVED="warn warn_explicit", HOST="filterwarnings simplefilter resetwarnings showwarning"),
    "contextvars": _table(PURE="ContextVar Context", READS="copy_context"),
    "io": _table(REFUSED="FileIO open_code"),
    "array": _table(REFUSED="array.buffer_info"),
    "inspect": _table(READS="signature getfullargspec getcallargs getdoc get_annotations Signature.from_callable",
                      REFUSED="stack trace getouterframes getattr_static getmembers_static getabsfile getsourcefile "
                              "getsource getsourcelines findsource getcomments getclosurevars"),
    "linecache": _table(REFUSED="getline getlines checkcache updatecache"),
    "decimal": _table(REFUSED="setcontext"),
    "csv": _table(READS="list_dialects get_dialect", HOST="register_dialect unregister_dialect field_size_limit"),
    "abc": _table(READS="get_cache_token"),
    "calendar": _table(HOST="setfirstweekday Calendar.setfirstweekday"),
    "codecs": _table(HOST="register register_error unregister"),
    "copyreg": _table(HOST="pickle constructor add_extension remove_extension clear_extension_cache"),
    "ctypes": _table(REFUSED="get_errno set_errno"),
    "unittest": _table(REFUSED="_patch.start _patch.stop _patch_dict.start _patch_dict.stop"),
    "zoneinfo": _table(HOST="reset_tzpath ZoneInfo.clear_cache"),
    "weakref": _table(REFUSED="finalize getweakrefcount getweakrefs"),
    "concurrent": _table(REFUSED="wait as_completed"),
    "functools": _table(READS="_lru_cache_wrapper.cache_info", HOST="_lru_cache_wrapper.cache_clear"),
    "importlib.metadata": _table(READS="version"),
    "importlib": _table(HOST="invalidate_caches", READS="find_loader", REFUSED="reload"),
    "re": _table(HOST="purge"),
    "types": _table(OBSERVED="SimpleNamespace.__getattribute__ SimpleNamespace.__setattr__ SimpleNamespace.__delattr__"),
    "gettext": _table(READS="gettext ngettext pgettext npgettext dgettext dngettext dpgettext dnpgettext"),
    "typing": _table(READS="get_overloads get_type_hints", HOST="clear_overloads"),
    "tokenize": _table(REFUSED="open"),
    "traceback": _table(REFUSED="print_stack print_exc print_last print_tb print_exception extract_stack format_stack "
                                "walk_stack"),
    "timeit": _table(REFUSED="timeit repeat default_timer Timer.timeit Timer.repeat Timer.autorange"),
    "pprint": _table(OBSERVED="pprint pp"),
    "dis": _table(REFUSED="dis disassemble disco distb show_code"),
}

# Operands of the functions of `GIVEN` that make them independent of the clock, where that is more than one.
OPERANDS = {"time.strftime": 2}

# Functions of `HOST` -> function that reads the state that they set.
STATES: dict = {
    "numpy.seterr": np.geterr, "numpy.seterrcall": np.geterrcall, "numpy.setbufsize": np.getbufsize,
    "numpy.set_printoptions": np.get_printoptions, "gc.enable": gc.isenabled, "gc.disable": gc.isenabled,
    "gc.set_threshold": gc.get_threshold, "sys.setrecursionlimit": recursion_limit, "os.chdir": os.getcwd,
    **dict.fromkeys(("warnings.filterwarnings", "warnings.simplefilter", "warnings.resetwarnings"),
                    lambda: tuple(warnings.filters))}

_FUNCTION_KINDS = (types.BuiltinFunctionType, types.MethodType, types.MethodWrapperType, types.WrapperDescriptorType,
                   types.MethodDescriptorType, types.ClassMethodDescriptorType, types.GetSetDescriptorType,
                   types.MemberDescriptorType)

# Class -> rule of its methods that have no row above.
_CLASSES: dict = {
    **dict.fromkeys((
        "builtins.object", "builtins.type", "builtins.range", "builtins.slice", "builtins.function",
        "builtins.code", "builtins.property", "builtins.staticmethod", "builtins.classmethod",
        "builtins.module", "builtins.frame", "builtins.traceback", "re.Pattern", "re.Match", "datetime.date", "datetime.time",
        "datetime.timedelta", "datetime.tzinfo", "decimal.Decimal", "numbers.Number", "enum.Enum",
        "pathlib.PurePath", "uuid.UUID", "zoneinfo.ZoneInfo", "numpy.dtype", "numpy.generic", "numpy.ufunc", "numpy.finfo",
        "struct.Struct", "operator.attrgetter", "operator.itemgetter", "operator.methodcaller",
        "functools.partial", "types.GenericAlias", "inspect.Signature", "inspect.Parameter",
        *[f"builtins.{kind.__name__}" for kind in _FUNCTION_KINDS]), PURE),
    **dict.fromkeys(("contextvars.ContextVar", "contextvars.Token", "weakref.ReferenceType", "weakref.WeakMethod",
                     "weakref.WeakKeyDictionary", "weakref.WeakValueDictionary", "weakref.WeakSet", "weakref.ProxyType",
                     "weakref.CallableProxyType", "functools._lru_cache_wrapper", "threading._local"), OBSERVED),
    **dict.fromkeys(("queue.SimpleQueue", "numpy.void", "contextvars.Context", "multiprocessing.shared_memory.SharedMemory",
                     "concurrent.futures._base.Future",
                     *[f"multiprocessing.sharedctypes.Synchronized{of}" for of in ("", "Array", "String")]), CONTENT),
    **dict.fromkeys(("random.Random", "numpy.random.Generator", "numpy.random.mtrand.RandomState",
                     "numpy.random._generator.Generator", "numpy.random.bit_generator.BitGenerator",
                     "numpy.random.bit_generator.SeedSequence"), DRAWS),
}
# Classes, and modules of such, whose own methods are refused, unless they have a row: they ask the system. Those of their bases
# are not.
_REFUSED = frozenset(("pathlib.Path", "pathlib.PathBase", "multiprocessing"))
_SIMPLE = (int, float, complex, bool, str, bytes, type(None), tuple, frozenset)


def module_of(name: str) -> str:
    """Return the public name of a module of the standard library: `_io` is `io`, `posix` is `os`."""
    plain = name if name.startswith("__") else name.lstrip("_")
    return _ALIASES.get(plain.partition(".")[0], plain)


def public_module(name: str) -> str:
    """Return the part of a module's name that users know: `numpy` of `numpy._core._ufunc_config`."""
    first, *others = module_of(name).split(".")
    return ".".join([first, *itertools.takewhile(lambda part: part[:1] != "_", others)])


def _rule_of_module(module: str) -> Rule | None:
    while module:
        if module in _FUNCTIONS and module not in _MODULES:
            return REFUSED
        if module in _MODULES:
            return _MODULES[module]
        module = module.rpartition(".")[0]
    return None


@lru_cache(maxsize=4096)
def rule_of_function(module: str, name: str) -> Rule:
    """Return the rule of a function or class, by its module and its name there."""
    module = module_of(module)
    return _row(module, name) or _rule_of_module(module) or REFUSED


def _row(module: str, name: str) -> Rule | None:
    while module:
        if name in _FUNCTIONS.get(module, ()):
            return _FUNCTIONS[module][name]
        module = module.rpartition(".")[0]
    return None


@lru_cache(maxsize=4096)
def rule_of_method(kind: type, name: str) -> Rule:
    """Return the rule of a method of an object, by the class of the object."""
    if next((cls for cls in kind.__mro__ if name in vars(cls)), None) is object:
        return OBSERVED         # attributes by name, and their text
    for cls in kind.__mro__:
        module = module_of(cls.__module__)
        row = _row(module, f"{cls.__qualname__}.{name}")
        if row is not None:
            return row
        path = f"{module}.{cls.__qualname__}"
        if name in vars(cls) and path not in _CLASSES and not _REFUSED.isdisjoint((path, module.partition(".")[0])):
            return REFUSED
        rule = PURE if cls in _SIMPLE else _CLASSES.get(path)
        if rule is not None and cls is not object:
            return rule
        if not is_user_module(cls.__module__) and _rule_of_module(module) is OBSERVED:
            return OBSERVED
    return CONTENT


_FOLLOWED = (Tensor, Module, type, types.ModuleType)         # other files follow what code does with them
_METHODS = (types.FunctionType, types.BuiltinFunctionType, types.MethodDescriptorType, types.WrapperDescriptorType,
            types.ClassMethodDescriptorType, classmethod, staticmethod)


def has_operations(value) -> bool:
    """Return whether operations on an object read or change content that neither a container nor the attributes of an instance
    show: their code is C code, or a library's."""
    kind: Any = type(value)
    return _has_operations(kind)


@lru_cache(maxsize=4096)
def _has_operations(kind: Any) -> bool:
    if issubclass(kind, weakref.ProxyTypes) or module_of(kind.__module__) == "decimal" or is_lock(kind):
        return True
    is_own_container = issubclass(kind, (list, dict, set)) and is_user_defined(kind)
    if issubclass(kind, _FOLLOWED) or kind in CONTAINERS or kind is np.ndarray or is_own_container or (
            is_own(kind.__module__)):
        return False
    return rule_of_method(kind, "") in (CONTENT, DRAWS) and (is_in_c(kind) or not (is_user_defined(kind) or _is_holder(kind)))


def is_lock(kind: type) -> bool:
    """Return whether objects of a class are locks."""
    return rule_of_method(kind, "release") is LOCKS


def _is_holder(kind) -> bool:
    return kind.__module__.partition(".")[0] in HOLDERS


@lru_cache(maxsize=4096)
def is_in_c(kind: Any) -> bool:
    """Return whether a class, or one of its bases besides `object`, is written in C."""
    return any(isinstance(v, (types.MethodDescriptorType, types.WrapperDescriptorType))
               for c in kind.__mro__[:-1] for v in vars(c).values())


@lru_cache(maxsize=4096)
def has_field(kind: Any, name: str) -> bool:
    """Return whether code that is not tracked gives an attribute of an object, if it is no method."""
    found = next((vars(c)[name] for c in kind.__mro__ if name in vars(c)), None)
    if found is None:
        return not (is_user_defined(kind) or _is_holder(kind))      # the attributes of instances are guarded
    is_users = type(found) is property and is_user_defined(found.fget)
    is_dict_of_instance = name == "__dict__" and _is_holder(kind)
    return not (isinstance(found, _METHODS) or name in vars(object) or is_users or is_dict_of_instance)
