"""User operators: Python kernels for each kind of device, and rules for gradients, shapes and batches.

The kernel is opaque. Eager mode calls it without gradients, a trace calls it at every run as a host function; gradients come
from the rule alone. A kernel writes its arguments directly in eager mode; in a trace it writes copies, which are copied back.
"""

from collections.abc import Callable, Iterator
from enum import Enum

from ...ir.errors import ArgumentError, AutogradError, DeviceError, DTypeError
from ...ir.registry import Registry
from ...runtime.amp.autocast_mode import is_autocast_enabled
from ...runtime.api.views.join_split import stack
from ...runtime.autograd.function import Function
from ...runtime.core.device import KINDS, Device
from ...runtime.core.node import is_inexact
from ...runtime.core.tensor import Tensor
from ...runtime.pytree.pytree import tree_flatten
from ...runtime.state.mode import tls
from ..errors.errors import TraceError
from ..host.host_call import host
from .schema import Schema

REGISTERED: dict[str, "CustomOpDef"] = Registry()       # by "namespace::name", or "namespace::name.overload"
EARLY_FAKES: dict[str, Callable] = {}           # functions for shapes that were there before their operators, by name

Tag = Enum("Tag", """
    core cudagraph_unsafe data_dependent_output dynamic_output_shape flexible_layout generated inplace inplace_view
    maybe_aliasing_or_mutating needs_contiguous_strides needs_exact_strides needs_fixed_stride_order nondeterministic_bitwise
    nondeterministic_seeded out out_variant pointwise pt2_compliant_tag reduction view_copy
""", start=0)
"""A property of an operator for compilers, by PyTorch's names and numbers. Operators store their tags, which change nothing."""


def as_tags(name, tags) -> list[Tag]:
    """Return tags, or one of them, as a list."""
    listed = [tags] if isinstance(tags, Tag) else () if tags is None else tags
    if not isinstance(listed, (list, tuple, set)) or not all(isinstance(tag, Tag) for tag in listed):
        raise DTypeError(f"{name} takes tags of ingot.Tag, got {tags!r}")
    return list(listed)


class CustomOpDef:
    """A registered operator `ns::name`, called like the function it was made of."""

    def __init__(self, namespace: str, schema: Schema):
        self._qualname = f"{namespace}::{schema.name}"
        self.__name__ = schema.name
        self._schema = schema
        self._kernels: dict[str | None, Callable] = {}      # by kind of device; None is for all others
        self._whole: Callable | None = None                 # made of operators that have gradients of their own
        self._taped: Callable | None = None                 # stands before the kernels while gradients are recorded
        self._fake: Callable | None = EARLY_FAKES.pop(self._qualname, None)
        self._backward: Callable | None = None
        self._setup_context: Callable | None = None
        self._vmap: Callable | None = None
        self._low: dict = {}                                # what autocast casts to, by kind of device
        self._under_autocast: dict[str, Callable] = {}      # stands before everything where autocast is on, by kind of device
        self._function = _function_of(self)
        self.tags: list[Tag] = []
        # Its host steps: recordings recognise each other by the functions that they call.
        self._run_on_host = host(self._named(lambda *args, **keywords: self.run(args, keywords)))
        self._write_on_host = host(self._named(lambda **arguments: self._on_copies(arguments)))

    def __repr__(self):
        return f"<{type(self).__name__}({self._qualname})>"

    def __getattr__(self, overload):
        found = REGISTERED.get(f"{self.__dict__.get('_qualname')}.{overload}")
        if found is None:
            raise AttributeError(f"{self.__dict__.get('_qualname')} has no attribute or overload {overload!r}")
        return found

    @property
    def default(self):
        return self

    def overloads(self) -> list[str]:
        start = f"{self._qualname}."
        return ["default", *(n[len(start):] for n in REGISTERED if n.startswith(start))]

    def name(self) -> str:
        return self._qualname

    def __call__(self, *args, **kwargs):
        clock = tls.m.observer
        return self._called(args, kwargs) if clock is None else clock.around_operator(self, self._called, args, kwargs)

    def _called(self, args, kwargs):
        given, keywords = self._schema.bind(args, kwargs)
        tensors = leaves([*given, *keywords.values()])
        special = self._under_autocast and self._under_autocast.get(_kind_of(tensors, given))
        if special and is_autocast_enabled(_kind_of(tensors, given)):
            return special(*given, **keywords)
        dtype = self._low.get(_kind_of(tensors, given)) if self._low else None
        if dtype is not None and is_autocast_enabled(_kind_of(tensors, given)):
            given, keywords = self._cast(given, keywords, dtype)
            tensors = leaves([*given, *keywords.values()])
        if self._whole is not None:
            return self._whole(*given, **keywords)
        m = tls.m
        wanted = m.grad and any(t._node is not None and is_inexact(t._a) for t in tensors)
        if wanted and self._taped is not None:
            return self._taped(*given, **keywords)
        if not self._schema.written:
            return self._function.apply((_marked(given), tuple(keywords), _marked(list(keywords.values()))), *tensors)
        if wanted:
            raise AutogradError(f"{self._qualname} writes {', '.join(self._schema.written)}, so it has no gradient; call it "
                                "under no_grad(), or with detached tensors")
        if m.batched is not None:
            raise AutogradError(f"vmap: {self._qualname} writes {', '.join(self._schema.written)}, which it cannot do for a "
                                "batch; let it return what is new")
        return self._writing(given, keywords)

    def _cast(self, args, keywords, dtype):
        def cast(args):
            return filled(args, iter([t.to(dtype) if t.is_floating_point() else t for t in leaves(args)]))

        return cast(args), dict(zip(keywords, cast(list(keywords.values()))))

    # Running.

    def run(self, args, keywords):
        """Return the results of the kernel for the arguments' device; None in place of arguments that it returns."""
        tensors = leaves([*args, *keywords.values()])
        kind = _kind_of(tensors, args)
        kernel = self._kernels.get(kind) or self._kernels.get(None)
        if kernel is None:
            there = ", ".join(k or "" for k in self._kernels) or "none"
            raise DeviceError(f"{self._qualname} has no kernel for tensors on {kind} (there is: {there}); add one with "
                              "register_kernel (from ingot import library)")
        bare = iter([t.detach() for t in tensors])
        return self._checked(kernel(*filled(args, bare), **dict(zip(keywords, filled(list(keywords.values()), bare)))), tensors)

    def compute(self, args, keywords):
        """Return the results, by the kernel or, in a trace, by a host step."""
        if tls.m.recorder is None:
            return self.run(args, keywords)
        return self._run_on_host(*args, **keywords)

    def _named(self, call):
        call.__name__ = self._schema.name
        return call

    def _writing(self, args, keywords):
        """Run an operator that writes arguments, with versions and histories updated."""
        names = self._schema.written
        both = {**dict(zip([a.name for a in self._schema.arguments], args)), **keywords}
        written = leaves([both[name] for name in names])
        m = tls.m
        if m.recorder is None:
            before, m.grad = m.grad, False
            try:
                result = self.run(args, keywords)
            finally:
                m.grad = before
            for t in written:
                t._storage.wrote(self._qualname)
            return self._with_passed(result, both)
        seen = [t._storage for t in leaves(list(both.values()))]
        if any(sum(s is t._storage for s in seen) > 1 for t in written):
            raise TraceError(f"{self._qualname} writes memory that two of its arguments share, which a trace cannot repeat; "
                             "give it a clone()")
        result, after = self._write_on_host(**both)
        for t, new in zip(written, after, strict=True):
            t.copy_(new)
        return self._with_passed(result, both)

    def _on_copies(self, arguments) -> tuple:
        """Return the results for copies of the written arguments, and what is in these afterwards."""
        copies = {n: filled([arguments[n]], iter([t.clone() for t in leaves([arguments[n]])]))[0] for n in self._schema.written}
        result = self.run(*self._schema.bind((), {**arguments, **copies}))
        return result, leaves(list(copies.values()))

    def _with_passed(self, result, both):
        passed = self._schema.passed
        if not any(passed):
            return result
        if len(passed) == 1:
            return both[passed[0]]
        return tuple([r if name is None else both[name] for r, name in zip(result, passed)])

    def _checked(self, result, tensors):
        """Return the results of a kernel, if they fit the schema and share no memory with arguments."""
        schema = self._schema
        several = len(schema.returns) > 1
        whole = result if several else (result,)
        if not schema.returns or schema.returns == ("()",):
            right = result is None
        else:
            right = isinstance(whole, (list, tuple)) and len(whole) == len(schema.returns)
            right = right and all(_is(r, kind) for r, kind in zip(whole, schema.returns))
        if not right:
            raise ArgumentError(f"{self._qualname} returned {type(result).__name__}, but it is {schema.text}")
        fresh = [r for r, name in zip(whole, schema.passed) if name is None] if schema.returns else []
        if any(r._storage is t._storage for r in leaves(fresh) for t in tensors):
            raise ArgumentError(f"{self._qualname} returned an argument, or a view of one; return a new tensor, as .clone() "
                                "gives")
        if not any(schema.passed):
            return result
        return tuple([r if name is None else None for r, name in zip(whole, schema.passed)]) if several else None

    # Rules.

    def register_kernel(self, device_types, func=None, /):
        """Register the kernel for these kinds of devices (a name, several, or None: all)."""
        kinds = [device_types] if device_types is None or isinstance(device_types, str) else list(device_types)
        if not set(kinds) <= {*KINDS, None, "default"}:
            raise DeviceError(f"{self._qualname}: device_types are among {', '.join(KINDS)}, got {device_types!r}")

        def register(fn):
            for kind in kinds:
                self._kernels[None if kind == "default" else kind] = fn
            return fn

        return register if func is None else register(func)

    def register_fake(self, fn, /):
        """Register the function that returns results of the right shapes and dtypes; `opcheck` compares them with the kernel's.
        """
        self._fake = fn
        return fn

    register_abstract = impl_abstract = register_fake

    def register_autograd(self, backward, /, *, setup_context=None):
        """Register `backward(ctx, *grads)`, which returns gradients of arguments by position; `setup_context(ctx, inputs,
        output)` saves what it needs, and gets `keyword_only_inputs` if there are some."""
        if self._schema.written:
            raise AutogradError(f"{self._qualname} writes {', '.join(self._schema.written)}; only operators that write nothing "
                                "can have gradients")
        if any(a.keyword and a.kind == "Tensor" for a in self._schema.arguments):
            raise AutogradError(f"{self._qualname} takes tensors by keyword alone, to which no gradient could go; it is "
                                f"{self._schema.text}")
        self._backward, self._setup_context = backward, setup_context

    def register_vmap(self, func=None, /):
        """Register `func(info, in_dims, *args)`, which returns (results, their dimensions) of whole batches, in place of sample
        by sample."""
        def register(fn):
            self._vmap = fn
            return fn

        return register if func is None else register(func)

    def register_autocast(self, device_type, cast_inputs, /):
        """Cast floats among arguments to a dtype where autocast is on."""
        self._low[device_type] = cast_inputs


class _Mark:
    """Mark for a tensor among arguments."""


_MARK = _Mark()


def leaves(args) -> list[Tensor]:
    """Return the tensors among arguments and in lists among them."""
    return [t for a in args for t in (a if isinstance(a, (list, tuple)) else (a,)) if isinstance(t, Tensor)]


def filled(args, values: Iterator, other=lambda a: a) -> list:
    """Return arguments with values in place of their tensors; `other` maps everything else."""
    def one(a):
        return next(values) if isinstance(a, (Tensor, _Mark)) else other(a)

    return [type(a)([one(i) for i in a]) if type(a) in (list, tuple) and _holds(a) else one(a) for a in args]


def _marked(args):
    return filled(args, iter([_MARK] * len(leaves(args))))


def _holds(items):
    return any(isinstance(i, (Tensor, _Mark)) for i in items)


def _is(result, kind):
    if kind == "Tensor[]":
        return isinstance(result, (list, tuple)) and all(isinstance(r, Tensor) for r in result)
    return isinstance(result, Tensor) == (kind == "Tensor")


def _kind_of(tensors, args) -> str:
    """Return the kind of device of a call: that of its tensors (0-d ones may be on the host), or of a device among them."""
    found = {t.device.type for t in tensors} or {a.type for a in args if isinstance(a, Device)} or {"cpu"}
    return next(iter(found - {"cpu"}), "cpu")


def _function_of(op: CustomOpDef):
    """Return the `Function` that computes an operator and goes backward by its rule. Its arguments are the call (by position,
    names of keywords, and values), with marks where tensors were, then the tensors."""

    def call_with(call, tensors: Iterator):
        args, names, values = call
        return tuple(filled(args, tensors)), dict(zip(names, filled(values, tensors)))

    def forward(call, *tensors):
        return op.compute(*call_with(call, iter(tensors)))

    def setup_context(ctx, inputs, output):
        call, *tensors = inputs
        ctx._arguments = call[0]
        ctx.needs_input_grad = tuple(filled(call[0], iter(ctx.needs_input_grad[1:]), lambda a: False))
        if op._setup_context is None:
            return
        args, keywords = call_with(call, iter(tensors))
        if keywords:
            op._setup_context(ctx=ctx, inputs=args, keyword_only_inputs=keywords, output=output)
        else:
            op._setup_context(ctx, args, output)

    def backward(ctx, *grads):
        if op._backward is None:
            raise AutogradError(f"{op._qualname} has no rule for gradients; give it one with register_autograd")
        returned = op._backward(ctx, *([list(grads)] if op._schema.returns == ("Tensor[]",) else grads))
        returned = returned if isinstance(returned, tuple) else (returned,)
        if len(returned) != len(ctx._arguments):
            raise AutogradError(f"the backward of {op._qualname} returned {len(returned)} gradients for {len(ctx._arguments)} "
                                "arguments; return one for each, None where there is none")
        return None, *(g for argument, gradient in zip(ctx._arguments, returned) for g in _gradients(argument, gradient))

    def vmap(info, in_dims, call, *tensors):
        dims = in_dims[1:]
        if op._vmap is not None:
            args, keywords = call_with(call, iter(tensors))
            return op._vmap(info, tuple(filled(call[0], iter(dims), lambda a: None)), *args, **keywords)
        calls = [call_with(call, iter([t if d is None else t.select(d, i) for t, d in zip(tensors, dims)]))
                 for i in range(info.batch_size)]
        return _stacked([op(*args, **keywords) for args, keywords in calls])

    methods = {"forward": forward, "setup_context": setup_context, "backward": backward, "vmap": vmap}
    return type(op._schema.name, (Function,), {name: staticmethod(fn) for name, fn in methods.items()})


def _stacked(results):
    """Return the results for each sample of a batch, stacked, with the dimensions of batches."""
    parts, spec = zip(*[tree_flatten(r) for r in results])
    whole = [stack(each) if isinstance(each[0], Tensor) else each[0] for each in zip(*parts)]
    return spec[0].unflatten(whole), spec[0].unflatten([0 if isinstance(w, Tensor) else None for w in whole])


def _gradients(argument, gradient):
    if isinstance(argument, _Mark):
        return [gradient]
    if not isinstance(argument, (list, tuple)) or not _holds(argument):
        return []
    return [None if gradient is None else gradient[i] for i, p in enumerate(argument) if isinstance(p, _Mark)]
