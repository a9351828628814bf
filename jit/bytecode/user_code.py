"""User code, which is traced, and library code, which is trusted: the decision between them."""

import sysconfig
import types

INGOT = __name__.split(".")[0]
TRUSTED = frozenset((INGOT, "llvmlite", "ml_dtypes", "networkx", "numpy", "rich", "safetensors", "triton"))
_STDLIB = tuple(sysconfig.get_paths()[k] for k in ("stdlib", "platstdlib"))


def is_user_code(module: str, file: str) -> bool:
    """Return whether code is the user's: not ingot's, the standard library's or an installed package's. Packages keep state of
    their own, and may run at any time, as from the garbage collector."""
    installed = "site-packages" in file or "dist-packages" in file
    return not (installed or module.partition(".")[0] in TRUSTED or file.startswith(("<frozen ", *_STDLIB)))


def unwrap_function(fn, args) -> tuple:
    """Return (the function that runs, its arguments), behind decorators of grad modes and with the object of a method."""
    while getattr(getattr(fn, "__code__", None), "co_qualname", "") == "ContextDecorator.__call__.<locals>.inner":
        fn = fn.__wrapped__
    if isinstance(fn, types.MethodType):
        return fn.__func__, (fn.__self__, *args)
    return fn, args
