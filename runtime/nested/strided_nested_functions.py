"""Handlers of strided nested tensors, whose samples may differ in every dim: most run sample by sample."""

from ...ir.errors import DimError, DTypeError, ShapeError
from ..api.register.pointwise_names import DUNDERS, POINTWISE, is_in_place
from ..api.register.register import FUNCTIONS
from ..api.register.torch_function import attribute_of
from ..core.tensor import Tensor
from .jagged import HANDLERS, SAMPLEWISE, NestedTensor
from .strided_nested import NestedSamples, by_samples, in_rows, joined


def handles(*names, several=False):
    """Enter a handler of functions and methods with these names. Its first argument has samples of any sizes, unless it takes
    `several` nested tensors and converts them itself."""

    def mark(fn):
        def of_samples(function, input, *args, **kwargs):
            return fn(function, _known(input), *args, **kwargs)

        SAMPLEWISE.update(dict.fromkeys(names, fn if several else of_samples))
        return fn

    return mark


def _known(x):
    return by_samples(x) if isinstance(x, NestedTensor) else x


def _first(name, *arguments) -> NestedSamples:
    """Return the first nested tensor among arguments; all must have as many samples."""
    nested = [x for x in arguments if isinstance(x, NestedSamples)]
    if any(len(x) != len(nested[0]) for x in nested):
        raise ShapeError(f"{name} takes nested tensors of as many samples, got {', '.join([str(len(x)) for x in nested])}")
    return nested[0]


def _within(name, t, dim) -> int:
    """Return the dim of samples for one of the nested tensor."""
    if not -t.ndim <= dim < t.ndim:
        raise DimError(f"{name}: dim {dim} is out of range for a nested tensor of {t.ndim} dims")
    if dim % t.ndim == 0:
        raise DimError(f"{name} of a nested tensor goes along the dims of its samples, not along that of samples (dim {dim})")
    return dim % t.ndim - 1


def _of_each(name, like, x):
    """Return the part of an argument for each sample."""
    if isinstance(x, NestedSamples):
        return x.unbind()
    if isinstance(x, Tensor) and x.ndim >= like.ndim and x.ndim:
        if x.ndim > like.ndim or x.shape[0] not in (1, len(like)):
            raise ShapeError(f"{name}: a tensor of shape {list(x.shape)} cannot be laid out over {len(like)} samples of "
                             f"{like.ndim - 1} dims")
        return x.unbind(0) if x.shape[0] == len(like) else [x[0]] * len(like)
    return [x] * len(like)


# Elementwise.


@handles(*POINTWISE, *[f"{name}_" for name in (*POINTWISE, "normal", "uniform")], *DUNDERS, several=True)
def _pointwise(fn, *args, **kwargs):
    name, given = fn.__name__, [_known(x) for x in args]
    named = {key: _known(x) for key, x in kwargs.items()}
    like = _first(name, *given, *named.values())
    _check_sizes(name, like, (*given, *named.values()))
    if is_in_place(name) and not isinstance(args[0], NestedTensor):
        raise DTypeError(f"{name} takes the nested tensor first; another argument of it cannot be nested")
    if all(_is_alike(x, like) for x in (*given, *named.values())):
        found = fn(*[x._values if isinstance(x, NestedSamples) else x for x in given],
                   **{key: x._values if isinstance(x, NestedSamples) else x for key, x in named.items()})
        return args[0] if is_in_place(name) else like.like(found) if isinstance(found, Tensor) else found
    each = [_of_each(name, like, x) for x in given]
    options = {key: _of_each(name, like, x) for key, x in named.items()}
    found = [fn(*[x[i] for x in each], **{key: x[i] for key, x in options.items()}) for i in range(len(like))]
    if is_in_place(name):
        return args[0]
    for x, sizes in zip(found, like.sizes):
        if tuple(x.shape) != sizes:
            raise ShapeError(f"{name}: a sample of shape {list(sizes)} beside something larger became {list(x.shape)}")
    return joined(found, like)


def _check_sizes(name, like, arguments):
    for x in arguments:
        if isinstance(x, NestedSamples) and x.sizes != like.sizes:
            ours, theirs = next(pair for pair in zip(like.sizes, x.sizes) if pair[0] != pair[1])
            raise ShapeError(f"{name} of nested tensors takes samples of the same sizes, got {list(ours)} and {list(theirs)}")


def _is_alike(x, like) -> bool:
    """Return whether an argument has the windows of a nested tensor, or is one value for all."""
    if isinstance(x, NestedSamples):
        return x._windows == like._windows and x.is_whole
    return not isinstance(x, Tensor) or x.ndim == 0


@handles("contiguous")
def _contiguous(fn, input, memory_format=None):
    return input.in_rows()


@handles("to", "cpu", "cuda", "type_as", several=True)
def _to(fn, input, *args, **kwargs):
    t = _known(input)
    values = fn(t._values, *[x._values if isinstance(x, NestedTensor) else x for x in args], **kwargs)
    return input if values is t._values else t.like(values)


@handles("equal", "allclose", "is_same_size", several=True)
def _compared(fn, input, other, *args, **kwargs):
    if not (isinstance(input, NestedTensor) and isinstance(other, NestedTensor)):
        return False
    a, b = _known(input), _known(other)
    return a.sizes == b.sizes and all(fn(*pair, *args, **kwargs) for pair in zip(a.unbind(), b.unbind()))


SAMPLEWISE.update({name: HANDLERS[name] for name in (
    "is_floating_point", "is_complex", "is_signed", "is_pinned", "element_size", "get_device", "data_ptr", "retain_grad",
    "register_hook")})


@handles("backward")
def _backward(fn, input, gradient=None, *args, **kwargs):
    fn(input._values, None if gradient is None else input.values_of(_known(gradient)), *args, **kwargs)


# Along dims of samples.


@handles("sum", "prod", "mean", "any", "all", "amax", "amin", "max", "min", "logsumexp", "std", "var", "argmax", "argmin")
def _reduce(fn, input, dim=None, *args, **kwargs):
    if isinstance(dim, Tensor):
        return _pointwise(fn, input, dim)                       # max(a, b)
    return fn(input.values(), **kwargs) if dim is None else _along(fn, input, dim, *args, **kwargs)


@handles("softmax", "log_softmax", "softmin", "cumsum", "cumprod", "flip", "argsort", "sort")
def _along(fn, input, dim=-1, *args, **kwargs):
    several = isinstance(dim, (tuple, list))
    inner = tuple([_within(fn.__name__, input, d) for d in (dim if several else (dim,))])
    results = [fn(x, inner if several else inner[0], *args, **kwargs) for x in input.unbind()]
    if results and not isinstance(results[0], Tensor):
        return type(results[0])(*[joined(part, input) for part in zip(*results)])
    return joined(results, input)


# Layers.


def _rows(name, t, width):
    """Return all rows of all samples, for functions of the last dim alone."""
    if t.ndim < 2 or any(sizes[-1] != width for sizes in t.sizes):
        raise ShapeError(f"{name} takes samples whose last dim is {width}, got {', '.join(map(str, t.sizes))}")
    return t.values().view(-1, width)


@handles("linear")
def _linear(fn, input, weight, bias=None):
    rows, last = fn(_rows("linear", input, weight.shape[-1]), weight, bias), weight.shape[:-1]
    return NestedSamples(rows.reshape(-1), in_rows([(*sizes[:-1], *last) for sizes in input.sizes]), input.ndim - 1 + len(last))


@handles("layer_norm", "rms_norm")
def _norm(fn, input, normalized_shape, *args, **kwargs):
    return joined([fn(x, normalized_shape, *args, **kwargs) for x in input.unbind()], input)


@handles("embedding")
def _embedding(fn, input, weight, *args, **kwargs):
    found = fn(input.values(), weight, *args, **kwargs)
    return NestedSamples(found.reshape(-1), in_rows([(*sizes, weight.shape[1]) for sizes in input.sizes]), input.ndim + 1)


@handles("matmul", "__matmul__", "mm", "bmm", several=True)
def _product(fn, input, other):
    a, b = _known(input), _known(other)
    like, product = _first(fn.__name__, a, b), FUNCTIONS["matmul"]
    if like.ndim < 3 or fn.__name__ == "mm" or (fn.__name__ == "bmm" and like.ndim != 3):
        raise ShapeError(f"{fn.__name__} takes nested tensors of matrices, got samples of {like.ndim - 1} dims")
    pairs = zip(_of_each(fn.__name__, like, a), _of_each(fn.__name__, like, b))
    return joined([product(*pair) for pair in pairs], like)


@handles("scaled_dot_product_attention", several=True)
def _attention(fn, query, key, value, attn_mask=None, *args, **kwargs):
    each = [_known(x) for x in (query, key, value)]
    if not all(isinstance(x, NestedSamples) for x in each) or attn_mask is not None:
        raise DTypeError("scaled_dot_product_attention takes three nested tensors [N, ..., L, E], and no attn_mask: samples do "
                         "not see each other; is_causal may be given")
    like = _first(fn.__name__, *each)
    return joined([fn(*sample, None, *args, **kwargs) for sample in zip(*[x.unbind() for x in each])], like)


# Shapes.


@handles("transpose", "swapaxes", "swapdims", "movedim", "moveaxis")
def _transpose(fn, input, dim0, dim1):
    name = fn.__name__
    a, b = ([_within(name, input, d) for d in dims] if isinstance(dims, (tuple, list)) else _within(name, input, dims)
            for dims in (dim0, dim1))
    return input.as_views([fn(x, a, b) for x in input.unbind()])


@handles("__get__")
def _attribute(fn, input):
    name = attribute_of(fn)
    if name != "mT":
        raise DTypeError(f"a nested tensor has no {name}; give it the samples t.unbind(), or t.to_padded_tensor(padding)")
    return _transpose(FUNCTIONS["transpose"], input, -2, -1)


@handles("permute")
def _permute(fn, input, *dims):
    order = list(dims[0] if len(dims) == 1 and not isinstance(dims[0], int) else dims)
    if not order or order[0] % input.ndim:
        raise DimError(f"permute of a nested tensor names the dim of samples first, got {order}")
    return input.as_views([fn(x, [_within("permute", input, d) for d in order[1:]]) for x in input.unbind()])


@handles("unsqueeze")
def _unsqueeze(fn, input, dim):
    if not -input.ndim <= dim <= input.ndim or dim == 0:
        raise DimError(f"unsqueeze of a nested tensor puts a dim behind that of samples, got {dim}")
    return input.as_views([fn(x, dim - 1 if dim > 0 else dim) for x in input.unbind()])


@handles("squeeze")
def _squeeze(fn, input, dim=None):
    if dim is None:
        raise DimError("squeeze of a nested tensor takes the dims, since others may be 1 in some samples alone")
    dims = [_within("squeeze", input, d) for d in (dim if isinstance(dim, (tuple, list)) else (dim,))]
    if len({tuple([sizes[d] == 1 for d in dims]) for sizes in input.sizes}) > 1:
        raise ShapeError(f"squeeze: dim {dim} is 1 in some samples alone: {', '.join(map(str, input.sizes))}")
    return input.as_views([fn(x, tuple(dims)) for x in input.unbind()])


@handles("select")
def _select(fn, input, dim, index):
    if dim % input.ndim == 0:
        return input[index]
    return input.as_views([fn(x, _within("select", input, dim), index) for x in input.unbind()])


@handles("narrow")
def _narrow(fn, input, dim, start, length):
    if dim % input.ndim:
        return input.as_views([fn(x, _within("narrow", input, dim), start, length) for x in input.unbind()])
    first = start + len(input) if start < 0 else start
    if not 0 <= first <= first + length <= len(input):
        raise DimError(f"narrow: samples {start} to {start + length} are not among {len(input)}")
    return input[first:first + length]


@handles("chunk", "split", "split_with_sizes", "tensor_split")
def _parts(fn, input, size, dim=0):
    each = [fn(x, size, _within(fn.__name__, input, dim)) for x in input.unbind()]
    if len(set(map(len, each))) > 1:
        raise ShapeError(f"{fn.__name__}: dim {dim} of the samples does not give as many parts of each: "
                         f"{', '.join(map(str, input.sizes))}")
    return tuple([input.as_views(part) for part in zip(*each)])


@handles("view", "reshape")
def _reshape(fn, input, *shape):
    """Reshape each sample; -1 is the sample's size in that dim, or, after its last dim, the rest."""
    shape = tuple(shape[0] if len(shape) == 1 and isinstance(shape[0], (tuple, list)) else shape)
    if not shape or shape[0] not in (-1, len(input)):
        raise ShapeError(f"{fn.__name__} of a nested tensor of {len(input)} samples keeps these as its first dim, got "
                         f"{list(shape)}")
    return input.as_views([fn(x, [x.shape[d] if n == -1 and d < x.ndim else n for d, n in enumerate(shape[1:])])
                           for x in input.unbind()])


@handles("unflatten")
def _unflatten(fn, input, dim, sizes):
    return input.as_views([fn(x, _within("unflatten", input, dim), sizes) for x in input.unbind()])


@handles("flatten")
def _flatten(fn, input, start_dim=1, end_dim=-1):
    first, last = (_within("flatten", input, d) for d in (start_dim, end_dim))
    return input.as_views([fn(x, first, last) for x in input.unbind()])


@handles("cat", "concat", "concatenate", "stack", several=True)
def _joined(fn, tensors, dim=0):
    """Join samples along dim 0, else the samples of each tensor pairwise."""
    given = [_known(t) for t in tensors]
    for t in given:
        if not isinstance(t, NestedSamples):
            raise DTypeError(f"{fn.__name__} of a nested tensor takes nested tensors, got a plain one")
    like = given[0]
    if dim == 0 and fn.__name__ != "stack":
        return joined([x for t in given for x in t.unbind()], like)
    _first(fn.__name__, *given)
    inner = dim - 1 if dim > 0 else dim if dim else _within(fn.__name__, like, dim)
    return joined([fn(list(samples), inner) for samples in zip(*[t.unbind() for t in given])], like)
