"""Handlers of jagged tensors: most work on the values, some sample by sample, some on padded tensors."""

from ...ir.errors import DimError, DTypeError, ShapeError
from ..api.register.pointwise_names import DUNDERS, POINTWISE, is_in_place
from ..api.register.register import FUNCTIONS
from ..api.register.torch_function import attribute_of
from ..core.composite_tensors import marks_of
from ..core.tensor import Tensor
from .jagged import HANDLERS, NestedTensor, Ragged, RaggedSize

handles = marks_of(HANDLERS)


def _as_dim(t, dim) -> int:
    if not -t.ndim <= dim < t.ndim:
        raise DimError(f"dim {dim} is out of range for a nested tensor of {t.ndim} dims")
    return dim % t.ndim


def _inner(name, t, dim) -> int:
    """Return the dim of the values for a dim that is neither the batch nor ragged."""
    dim = _as_dim(t, dim)
    if dim in (0, t._at):
        raise DimError(f"{name} of a nested tensor goes along dims that do not differ between samples, not along "
                       f"{'samples' if dim == 0 else 'the one that differs'} (dim {dim}); take to_padded_tensor() or unbind()")
    return dim - 1


def _nested(args) -> NestedTensor:
    return next(x for x in args if isinstance(x, NestedTensor))


def _require_nested(name, t):
    if not isinstance(t, NestedTensor):
        raise DTypeError(f"{name} takes the nested tensor first; another argument of it cannot be nested")


# Elementwise.


def _pointwise(fn, *args, **kwargs):
    given = (*args, *kwargs.values())
    like = _nested(given)
    if is_in_place(fn.__name__):
        _require_nested(fn.__name__, args[0])
        fn(args[0]._values, *[_aligned(fn, args[0], x) for x in args[1:]], **kwargs)
        return args[0]
    found = fn(*[_aligned(fn, like, x) for x in args], **{name: _aligned(fn, like, x) for name, x in kwargs.items()})
    return like.like(found) if isinstance(found, Tensor) else found


def _aligned(fn, like, x):
    """Return an argument in a form that broadcasts with the values of a nested tensor."""
    if isinstance(x, NestedTensor):
        if x._at != like._at or not x._ragged.same(like._ragged):
            raise ShapeError(f"{fn.__name__} of nested tensors takes samples of the same lengths, got {list(like.shape)} with "
                             f"offsets {like.offsets().tolist()} and {list(x.shape)} with {x.offsets().tolist()}")
        return x._values
    if not isinstance(x, Tensor) or x.ndim < like.ndim - like._at:
        return x
    at = like._at - like.ndim                                   # from the end, as in broadcasting
    if x.ndim < like.ndim:
        if x.shape[at] != 1:
            raise ShapeError(f"{fn.__name__}: a tensor of shape {list(x.shape)} cannot be laid out over the nested "
                             f"{list(like.shape)}")
        return x
    if x.ndim > like.ndim or x.shape[0] not in (1, like._ragged.count):
        raise ShapeError(f"{fn.__name__}: a tensor of shape {list(x.shape)} cannot be laid out over the nested "
                         f"{list(like.shape)}")
    if x.shape[at] != 1:
        return like.unpadded(_long_enough(fn, like, x))._values
    if x.shape[0] == 1:
        return x[0]
    return x.select(at, 0).index_select(0, like._ragged.samples).movedim(0, like._at - 1)


def _long_enough(fn, like, x):
    if x.shape[like._at] != like._ragged.longest:
        raise ShapeError(f"{fn.__name__}: a tensor of shape {list(x.shape)} beside the nested {list(like.shape)} has 1 or "
                         f"{like._ragged.longest} (the longest sample) in dim {like._at}")
    return x if x.shape[0] != 1 else x.expand(like._ragged.count, *x.shape[1:])


handles(*POINTWISE, *[f"{name}_" for name in POINTWISE], *DUNDERS)(_pointwise)


@handles("to", "cpu", "cuda", "type_as")
def _to(fn, input, *args, **kwargs):
    """Move the offsets together with the values."""
    given = [x._values if isinstance(x, NestedTensor) else x for x in args]
    values = fn(input._values, *given, **kwargs)
    if values.device == input._values.device:
        return input if values is input._values else input.like(values)
    return NestedTensor(values, Ragged(input.offsets().to(values.device), input._ragged.declared), input._at, input.layout)


# Reductions. Along the ragged dim they give a tensor, computed from samples padded by the neutral element.


def _least(dtype):
    return float("-inf") if dtype.is_floating_point else FUNCTIONS["iinfo"](dtype).min


def _most(dtype):
    return float("inf") if dtype.is_floating_point else FUNCTIONS["iinfo"](dtype).max


_NEUTRAL = {"sum": lambda d: 0, "prod": lambda d: 1, "mean": lambda d: 0, "any": lambda d: False, "all": lambda d: True,
            "amax": _least, "max": _least, "amin": _most, "min": _most, "argmax": _least, "argmin": _most,
            "logsumexp": lambda d: float("-inf")}


@handles(*_NEUTRAL)
def _reduce(fn, input, dim=None, keepdim=False, **kwargs):
    name = fn.__name__
    if dim is None:
        return fn(input._values, **kwargs)
    if isinstance(dim, Tensor):
        return _pointwise(fn, input, dim)                       # max(a, b)
    dims = sorted({_as_dim(input, d) for d in (dim if isinstance(dim, (tuple, list)) else (dim,))})
    single = not isinstance(dim, (tuple, list))
    if dims == [input._at]:
        return _along_samples(fn, input, keepdim, kwargs)
    if 0 in dims and input._at in dims and not keepdim:
        return fn(input._values, tuple([d - 1 for d in dims if d]), **kwargs)
    if 0 in dims or input._at in dims:
        raise DimError(f"{name} of a nested tensor goes along the dim that differs ({input._at}) alone, with that of samples, "
                       f"or along others; got dim {dim}")
    inner = [d - 1 for d in dims]
    found = fn(input._values, inner[0] if single else tuple(inner), keepdim, **kwargs)
    at = input._at if keepdim else input._at - sum(d < input._at for d in dims)
    return input.like(found, at) if isinstance(found, Tensor) else type(found)(*[input.like(x, at) for x in found])


def _along_samples(fn, input, keepdim, kwargs):
    name, at = fn.__name__, input._at
    if name not in ("sum", "mean"):
        return fn(input.to_padded_tensor(_NEUTRAL[name](input.dtype)), at, keepdim, **kwargs)
    rows = input._values.movedim(at - 1, 0)
    if kwargs.get("dtype") is not None:
        rows = rows.to(kwargs["dtype"])
    elif not rows.is_floating_point() and not rows.is_complex():
        if name == "mean":
            raise DTypeError(f"mean takes floating point numbers, got a nested tensor of {rows.dtype.name}")
        rows = rows.long()
    found = rows.new_zeros((input._ragged.count, *rows.shape[1:])).index_add(0, input._ragged.samples, rows)
    if name == "mean":
        found = found / input._ragged.lengths.reshape(-1, *[1] * (found.ndim - 1))
    return found.unsqueeze(at) if keepdim else found


@handles("softmax", "log_softmax", "softmin")
def _softmax(fn, input, dim=None, *args, **kwargs):
    dim = _as_dim(input, -1 if dim is None else dim)
    if dim == input._at:
        least = float("inf" if fn.__name__ == "softmin" else "-inf")
        return input.unpadded(fn(input.to_padded_tensor(least), dim, *args, **kwargs))
    return input.like(fn(input._values, _inner(fn.__name__, input, dim), *args, **kwargs))


@handles("equal", "allclose")
def _equal(fn, input, other, *args, **kwargs):
    if not (isinstance(input, NestedTensor) and isinstance(other, NestedTensor) and input._ragged.same(other._ragged)):
        return False
    return input._at == other._at and fn(input._values, other._values, *args, **kwargs)


# Layers.


def _inner_last(name, t, count=1):
    if t._at >= t.ndim - count:
        raise DimError(f"{name} of a nested tensor goes along the last {count} dims, and dim {t._at} of {list(t.shape)} "
                       f"differs between samples")


@handles("linear", "matmul", "__matmul__", "mm", "bmm")
def _product(fn, input, other, *args, **kwargs):
    name = fn.__name__
    if not isinstance(input, NestedTensor):
        raise DTypeError(f"{name} takes the nested tensor first")
    if isinstance(other, NestedTensor):
        if input.ndim == other.ndim == 3 and (input._at, other._at) == (2, 1) and input._ragged.same(other._ragged):
            return FUNCTIONS["stack"]([a @ b for a, b in zip(input.unbind(), other.unbind())])
        raise ShapeError(f"{name} of nested tensors of shapes {list(input.shape)} and {list(other.shape)}: only the dim that "
                         f"is summed may differ between samples")
    _inner_last(name, input)
    if other.ndim <= 2:
        return input.like(fn(input._values, other, *args, **kwargs))
    if other.shape[0] != input._ragged.count:
        raise ShapeError(f"{name} of a nested {list(input.shape)} and {list(other.shape)} takes one matrix for each sample")
    return input.like(FUNCTIONS["cat"]([a @ b for a, b in zip(input.unbind(), other)], input._at - 1))


@handles("layer_norm", "rms_norm")
def _norm(fn, input, normalized_shape, *args, **kwargs):
    _inner_last(fn.__name__, input, 1 if isinstance(normalized_shape, int) else len(normalized_shape))
    return input.like(fn(input._values, normalized_shape, *args, **kwargs))


@handles("embedding")
def _embedding(fn, input, weight, *args, **kwargs):
    _require_nested("embedding", input)
    return input.like(fn(input._values, weight, *args, **kwargs))


@handles("scaled_dot_product_attention")
def _attention(fn, query, key, value, attn_mask=None, *args, **kwargs):
    """Run attention sample by sample, so that nothing is computed for padding."""
    each = query, key, value
    if not all(isinstance(x, NestedTensor) and x._at == x.ndim - 2 for x in each) or not key._ragged.same(value._ragged):
        raise ShapeError(f"scaled_dot_product_attention takes three nested tensors [N, ..., L, E] whose L differs, got "
                         f"{', '.join([str(tuple(x.shape)) for x in each])}")
    if attn_mask is not None:
        raise DTypeError("scaled_dot_product_attention of nested tensors takes no attn_mask: samples do not see each other; "
                         "is_causal may be given")
    if len(key) != len(query):
        raise ShapeError(f"scaled_dot_product_attention takes as many samples of each, got {len(query)} and {len(key)}")
    parts = [fn(*sample, None, *args, **kwargs) for sample in zip(*[x.unbind() for x in each])]
    return query.like(FUNCTIONS["cat"](parts, query._at - 1))


@handles("one_hot")
def _one_hot(fn, input, num_classes=-1):
    return input.like(fn(input._values, num_classes))


# Shapes.


@handles("movedim", "moveaxis")
def _movedim(fn, input, source, destination):
    dims = FUNCTIONS["empty"](tuple(range(input.ndim)), device="meta")
    return _permute(fn, input, list(FUNCTIONS["movedim"](dims, source, destination).shape))


@handles("__get__")
def _attribute(fn, input):
    name = attribute_of(fn)
    if name != "mT":
        raise DTypeError(f"a nested tensor has no {name}; give it t.values(), the samples t.unbind(), or "
                         f"t.to_padded_tensor(padding)")
    return _transpose(FUNCTIONS["transpose"], input, -2, -1)


@handles("transpose", "swapaxes", "swapdims")
def _transpose(fn, input, dim0, dim1):
    dims = list(range(input.ndim))
    a, b = _as_dim(input, dim0), _as_dim(input, dim1)
    dims[a], dims[b] = dims[b], dims[a]
    return _permute(fn, input, dims)


@handles("permute")
def _permute(fn, input, *dims):
    order = [_as_dim(input, d) for d in (dims[0] if len(dims) == 1 and not isinstance(dims[0], int) else dims)]
    if sorted(order) != list(range(input.ndim)) or order[0] != 0:
        raise DimError(f"{fn.__name__} of a nested tensor names each dim once, that of samples first, got {order}")
    return input.like(input._values.permute([d - 1 for d in order[1:]]), order.index(input._at))


@handles("view", "reshape")
def _reshape(fn, input, *shape):
    sizes = list(shape[0] if len(shape) == 1 and isinstance(shape[0], (tuple, list)) else shape)
    if not sizes:
        raise ShapeError(f"{fn.__name__} of a nested tensor takes a size for each dim, got none")
    at, before = input._at, input._values.shape[:input._at - 1]
    ragged = next((i for i, n in enumerate(sizes) if isinstance(n, RaggedSize)), sizes.index(-1) if -1 in sizes else None)
    if ragged != at or sizes[0] != input._ragged.count or tuple(sizes[1:at]) != tuple(before):
        raise ShapeError(f"{fn.__name__} of a nested {list(input.shape)} keeps the dims up to the one that differs (as -1 or "
                         f"t.size({at})), got {list(sizes)}")
    return input.like(fn(input._values, (*before, input._values.shape[at - 1], *sizes[at + 1:])))


@handles("unflatten")
def _unflatten(fn, input, dim, sizes):
    inner = _inner("unflatten", input, dim)
    return input.like(fn(input._values, inner, sizes), input._at + (len(sizes) - 1) * (inner < input._at - 1))


@handles("flatten")
def _flatten(fn, input, start_dim=0, end_dim=-1):
    first, last = _inner("flatten", input, start_dim), _inner("flatten", input, end_dim)
    if first < input._at - 1 < last:
        raise DimError(f"flatten of a nested tensor cannot join the dim that differs ({input._at}) with others")
    return input.like(fn(input._values, first, last), input._at - (last - first) * (last < input._at - 1))


@handles("unsqueeze")
def _unsqueeze(fn, input, dim):
    dim = dim + input.ndim + 1 if dim < 0 else dim
    if dim < 1:
        raise DimError("unsqueeze of a nested tensor cannot come before the dim of samples")
    return input.like(fn(input._values, dim - 1), input._at + (dim <= input._at))


@handles("squeeze")
def _squeeze(fn, input, dim=None):
    if dim is None or isinstance(dim, (tuple, list)):
        raise DimError("squeeze of a nested tensor takes the dim, since others may be 1 in some samples alone")
    inner = _inner("squeeze", input, dim)
    gone = input._values.shape[inner] == 1
    return input.like(fn(input._values, inner), input._at - (gone and inner < input._at - 1))


@handles("cat", "concat", "concatenate")
def _cat(fn, tensors, dim=0):
    _require_nested(fn.__name__, tensors[0])
    like = tensors[0]
    inner = _inner(fn.__name__, like, dim)
    return like.like(fn([_same(fn, like, t) for t in tensors], inner))


@handles("stack")
def _stack(fn, tensors, dim=0):
    _require_nested("stack", tensors[0])
    like = tensors[0]
    dim = dim + like.ndim + 1 if dim < 0 else dim
    if dim < 1:
        raise DimError("stack of nested tensors cannot come before the dim of samples")
    return like.like(fn([_same(fn, like, t) for t in tensors], dim - 1), like._at + (dim <= like._at))


@handles("expand")
def _expand(fn, input, *sizes):
    wanted = list(sizes[0] if len(sizes) == 1 and isinstance(sizes[0], (tuple, list)) else sizes)
    at = input._at
    if len(wanted) != input.ndim or wanted[0] not in (-1, input._ragged.count) or wanted[at] not in (-1, input._ragged.size):
        raise ShapeError(f"expand of a nested {list(input.shape)} keeps the dims of samples and the one that differs (-1 or "
                         f"t.size({at})) as they are, got {tuple(wanted)}")
    return input.like(fn(input._values, [-1 if i == at else n for i, n in enumerate(wanted)][1:]))


@handles("select")
def _select(fn, input, dim, index):
    return input[(*[slice(None)] * _as_dim(input, dim), index)]


def _same(fn, like, t):
    if not isinstance(t, NestedTensor):
        raise DTypeError(f"{fn.__name__} of a nested tensor takes nested tensors, got a plain one")
    return _aligned(fn, like, t)


@handles("chunk", "split", "tensor_split")
def _parts(fn, input, size, dim=0):
    if fn.__name__ == "chunk" and _as_dim(input, dim) == 0:
        numbers = fn(FUNCTIONS["arange"](len(input)), size)
        return tuple([_some_samples(input, int(part[0]), int(part[-1]) + 1) for part in numbers if len(part)])
    return tuple([input.like(x) for x in fn(input._values, size, _inner(fn.__name__, input, dim))])


def _some_samples(t, first, last) -> NestedTensor:
    """Return consecutive samples, as views of the values."""
    offsets, at = t.offsets()[first:last + 1], t._at
    start, stop = t._ragged.bounds[first], t._ragged.bounds[last]
    return NestedTensor(t._values.narrow(at - 1, start, stop - start), Ragged(offsets - start), at, t._layout)


@handles("narrow", "cumsum", "flip")
def _along(fn, input, dim, *args, **kwargs):
    dims = dim if isinstance(dim, (tuple, list)) else (dim,)
    inner = [_inner(fn.__name__, input, d) for d in dims]
    return input.like(fn(input._values, inner if dims is dim else inner[0], *args, **kwargs))


@handles("backward")
def _backward(fn, input, gradient=None, *args, **kwargs):
    fn(input._values, None if gradient is None else gradient._values, *args, **kwargs)


# Questions about the values.


@handles("is_floating_point", "is_complex", "is_signed", "is_pinned", "element_size", "get_device", "data_ptr", "retain_grad")
def _query(fn, input, *args):
    return fn(input._values, *args)


@handles("register_hook")
def _register_hook(fn, input, hook):
    """Register a hook on the gradient of the values; it gets and may return a nested tensor."""
    return fn(input._values, lambda g: input.values_of(hook(input.like(g))))
