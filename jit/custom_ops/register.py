"""Registration of operators: by decorators, one by one, or with a schema and functions for dispatch keys."""

from ...ir.errors import ArgumentError, DTypeError
from ...runtime.core.backend import DRIVERS
from .custom_op import EARLY_FAKES, REGISTERED, CustomOpDef, Tag, as_tags
from .schema import infer_schema, parsed

BACKENDS = {"": None, "CPU": "cpu", "CUDA": "cuda", "CompositeExplicitAutograd": None}      # dispatch keys of kernels
WHOLE, TAPED, META = "CompositeImplicitAutograd", ("Autograd", "AutogradCPU", "AutogradCUDA"), "Meta"
AUTOCAST = "Autocast"                       # in front of a kind of device
OWN = ("aten", "prim", "prims")             # namespaces of another framework's operators


def custom_op(name, fn=None, /, *, mutates_args, device_types=None, schema=None, tags=None):
    """Register a function as the operator "namespace::name". `mutates_args` names the tensors that it writes ("unknown": all of
    them). Annotations give its types, unless there is a `schema`. Traces call it at every run and do not look inside; gradients
    come from `register_autograd`. `device_types` are the devices of the function, None for all. The operator stores `tags`."""
    marks = as_tags("custom_op", tags)

    def register(function):
        namespace, short = _apart(name)
        made = parsed(schema or infer_schema(function, mutates_args=mutates_args), short)
        if schema is not None and mutates_args != "unknown" and set(mutates_args) != set(made.written):
            raise ArgumentError(f"custom_op {name}: mutates_args is {sorted(mutates_args)}, but the schema writes "
                                f"{sorted(made.written)}")
        op = REGISTERED[name] = CustomOpDef(namespace, made)
        op.__doc__, op.tags = function.__doc__, marks + [Tag.pt2_compliant_tag] * (Tag.pt2_compliant_tag not in marks)
        op.register_kernel(device_types, function)
        return op

    return register if fn is None else register(fn)


def triton_op(name, fn=None, /, *, mutates_args, schema=None):
    """Register a function that launches Triton kernels: an operator of CUDA tensors."""
    return custom_op(name, fn, mutates_args=mutates_args, device_types="cuda", schema=schema)


def wrap_triton(triton_kernel, /):
    """Return the kernel: Triton launches it on ingot's devices and streams with or without a wrapper."""
    if not (hasattr(triton_kernel, "run") and hasattr(triton_kernel, "__getitem__")):
        raise DTypeError(f"wrap_triton takes what @triton.jit or @triton.autotune gives, got {type(triton_kernel).__name__}")
    DRIVERS["cuda"].serve_triton()
    return triton_kernel


def _apart(name):
    namespace, mark, short = name.partition("::")
    if not mark or not namespace.isidentifier() or not all(part.isidentifier() for part in short.split(".")):
        raise ArgumentError(f"the name of an operator is 'namespace::name', got {name!r}")
    if namespace in OWN:
        raise ArgumentError(f"{name}: operators cannot be added to {namespace}; take a namespace of your own")
    return namespace, short


def operator_of(op) -> CustomOpDef:
    """Return an operator, given itself or its name."""
    if isinstance(op, CustomOpDef):
        return op
    name = op.removesuffix(".default") if isinstance(op, str) else op
    if name not in REGISTERED:
        raise ArgumentError(f"no operator {op!r} is registered (there are: {', '.join(sorted(REGISTERED)) or 'none'})")
    return REGISTERED[name]


def register_kernel(op, device_types, func=None, /, *, lib=None):
    """Register the kernel of an operator for some kinds of devices. `lib` is ignored: registrations last as long as the
    process."""
    return operator_of(op).register_kernel(device_types, func)


def _in_empty_namespace(op) -> bool:
    """Return whether a name's namespace has no operators: that of a compiled extension which is not loaded."""
    return isinstance(op, str) and not any(name.startswith(f"{_apart(op)[0]}::") for name in REGISTERED)


def register_fake(op, func=None, /, *, lib=None, allow_override=True):
    """Register the function that returns results of an operator's shapes and dtypes. For a namespace without operators it is
    kept until these are registered, so packages work without their compiled extension."""
    if func is None:
        return lambda fn: register_fake(op, fn, lib=lib, allow_override=allow_override)
    if _in_empty_namespace(op):
        EARLY_FAKES[op] = func
        return func
    if not allow_override and operator_of(op)._fake is not None:
        raise ArgumentError(f"{operator_of(op).name()} has a function for shapes already")
    return operator_of(op).register_fake(func)


def impl_abstract(qualname, func=None, *, lib=None):
    """Call `register_fake`, under its older name."""
    return register_fake(qualname, func, lib=lib)


def register_autograd(op, backward, /, *, setup_context=None, lib=None):
    """Register the rule for an operator's gradients. `lib` is ignored: registrations last as long as the process."""
    operator_of(op).register_autograd(backward, setup_context=setup_context)


def register_vmap(op, func=None, /, *, lib=None):
    """Register the rule for batches of an operator's arguments. `lib` is ignored: registrations last as long as the process."""
    return operator_of(op).register_vmap(func)


def register_autocast(op, device_type, cast_inputs, /, *, lib=None):
    """Register the dtype that floats among an operator's arguments get under autocast. `lib` is ignored: registrations last as
    long as the process."""
    operator_of(op).register_autocast(device_type, cast_inputs)


def define(qualname, schema, *, lib=None, tags=()):
    """Define an operator by a schema, "(Tensor x) -> Tensor"; `impl` adds functions. With `lib` it goes when the library
    does."""
    namespace, short = _apart(qualname)
    if qualname in REGISTERED:
        raise ArgumentError(f"{qualname} is defined already")
    marks = as_tags("define", tags)
    REGISTERED[qualname] = CustomOpDef(namespace, parsed(schema, short))
    REGISTERED[qualname].tags = marks
    if lib is not None:
        lib._defined.append(qualname)


def impl(qualname, types, func=None, *, lib=None):
    """Register the function of an operator for kinds of devices, or for a dispatch key."""
    if func is None:
        return lambda fn: impl(qualname, types, fn, lib=lib)
    for kind in [types] if isinstance(types, str) else types:
        if kind in BACKENDS or kind in TAPED or kind in (WHOLE, META) or kind.startswith(AUTOCAST):
            _implemented(operator_of(qualname), func, kind)
        else:
            operator_of(qualname).register_kernel(kind, func)
    return func


def _implemented(op, function, key):
    if function is fallthrough_kernel:
        return
    if key in BACKENDS:
        op._kernels[BACKENDS[key]] = function
    elif key == WHOLE:
        op._whole = function
    elif key in TAPED:
        op._taped = function
    elif key == META:
        op.register_fake(function)
    elif key.startswith(AUTOCAST):
        op._under_autocast[key.removeprefix(AUTOCAST).lower()] = function
    else:
        known = ", ".join([*filter(None, BACKENDS), WHOLE, *TAPED, META, f"{AUTOCAST}CPU", f"{AUTOCAST}CUDA"])
        raise ArgumentError(f"{op.name()}: there is no dispatch key {key!r}; there are {known}")


def fallthrough_kernel():
    """Do nothing: registered for a dispatch key that needs no work."""
    raise NotImplementedError("fallthrough_kernel is registered, not called")


class Library:
    """Schemas and functions of one namespace: `define("f(Tensor x) -> Tensor")`, then `impl("f", function, "CPU")`."""

    def __init__(self, ns, kind, dispatch_key=""):
        if kind not in ("DEF", "IMPL", "FRAGMENT"):
            raise ArgumentError(f"Library: kind is DEF, IMPL or FRAGMENT, got {kind!r}")
        _apart(f"{ns}::any")
        self.ns, self.kind, self.dispatch_key = ns, kind, dispatch_key
        self._defined: list[str] = []

    def __repr__(self):
        return f"Library(kind={self.kind}, ns={self.ns}, dispatch_key={self.dispatch_key})"

    def define(self, schema, alias_analysis="", *, tags=()):
        """Add an operator by its schema, and return its name. `alias_analysis` is ignored: the schema says what is written."""
        if self.kind == "IMPL":
            raise ArgumentError("Library: one of kind IMPL adds functions to operators of others; define takes DEF or FRAGMENT")
        name = parsed(schema).name
        define(f"{self.ns}::{name}", schema, tags=tags, lib=self)
        return name

    def impl(self, op_name, fn, dispatch_key="", *, with_keyset=False, allow_override=True):
        """Register the function of an operator for a dispatch key. `allow_override` is ignored: the last function counts."""
        if with_keyset:
            raise ArgumentError("Library.impl: ingot has no sets of dispatch keys, so with_keyset must be False")
        name = op_name if isinstance(op_name, str) else op_name.name()
        _implemented(operator_of(name if "::" in name else f"{self.ns}::{name}"), fn, dispatch_key or self.dispatch_key)

    def _register_fake(self, op_name, fn, _stacklevel=1, *, allow_override=True):
        register_fake(op_name if "::" in op_name else f"{self.ns}::{op_name}", fn, allow_override=allow_override)

    def _destroy(self):
        for name in self._defined:
            REGISTERED.pop(name, None)
        self._defined.clear()
