"""Loss modules."""

import inspect
import math
from dataclasses import dataclass
from typing import Any

from ....ir.dtype import DType
from ....ir.errors import ArgumentError, ShapeError
from ....ir.suggestions import unknown_choice
from .. import functional as F
from ..base.field_constructors import constructor, field_values
from ..base.module import Module
from ..functional.loss import reduction_of
from .linear import Linear

__all__ = ["BCELoss", "BCEWithLogitsLoss", "CTCLoss", "CosineEmbeddingLoss", "CrossEntropyLoss", "GaussianNLLLoss",
           "HingeEmbeddingLoss", "HuberLoss", "KLDivLoss", "L1Loss", "LinearCrossEntropyLoss", "LinearCrossEntropyOptions",
           "MSELoss", "MarginRankingLoss", "MultiLabelMarginLoss", "MultiLabelSoftMarginLoss", "MultiMarginLoss", "NLLLoss",
           "NLLLoss2d", "PoissonNLLLoss", "SmoothL1Loss", "SoftMarginLoss", "TripletMarginLoss",
           "TripletMarginWithDistanceLoss"]

_LEGACY = ("size_average", "reduce")


_OLD = (("size_average", None), ("reduce", None), ("reduction", "mean"))


class _Loss(Module):
    """A module of one loss: `_fields` are its arguments, with defaults. Users' subclasses add forward and use `reduction`."""

    _function: Any = None
    _fields: tuple = _OLD
    _inputs: tuple = ("input", "target")        # tensor arguments of forward

    def __init__(self, *args, **kwargs):
        super().__init__()
        values = field_values(self, self._fields, args, kwargs)
        old = [values.pop(n, None) for n in _LEGACY]
        values["reduction"] = values["reduction"] if old == [None, None] else reduction_of(values["reduction"], *old)
        for name, value in values.items():
            if name in ("weight", "pos_weight"):
                self.register_buffer(name, value)
            else:
                setattr(self, name, value)
        self._names = tuple(values)

    def forward(self, *inputs, **named):
        if named:
            inputs = (*inputs, *[named.pop(name) for name in self._inputs[len(inputs):] if name in named])
        if len(inputs) != len(self._inputs) or named:
            others = f" and {', '.join(named)}" if named else ""
            raise TypeError(f"{type(self).__name__} takes the tensors {', '.join(self._inputs)}, got {len(inputs)}{others}")
        return type(self)._function(*inputs, **{n: getattr(self, n) for n in self._names})


class _WeightedLoss(_Loss):
    """Base of user losses with class weights."""

    _fields = (("weight", None), *_OLD)


def _module(name, function, *fields, inputs=2, doc=""):
    members = {"_function": staticmethod(function), "_fields": fields, "__module__": __name__,
               "__doc__": doc or function.__doc__, "__init__": constructor(_Loss, fields),
               "_inputs": tuple(inspect.signature(function).parameters)[:inputs]}
    return type(name, (_Loss,), members)


L1Loss = _module("L1Loss", F.l1_loss, *_OLD, doc="""The absolute difference |input - target|.

    Parameters
    ----------
    reduction : {"mean", "sum", "none"}
        How the losses become one number; "none" returns all.
    size_average, reduce : bool, optional
        Older spellings of `reduction`.

    Shape
    -----
    Input and target: any shape, the same. Output: a scalar, or the shape of the input with `reduction="none"`.

    Examples
    --------
    >>> nn.L1Loss()(ingot.zeros(2), ingot.tensor([1.0, 3.0]))
    tensor(2.)
    """)
MSELoss = _module("MSELoss", F.mse_loss, *_OLD, doc="""The squared difference (input - target)^2.

    Parameters
    ----------
    reduction : {"mean", "sum", "none"}
        How the losses become one number; "none" returns all.
    size_average, reduce : bool, optional
        Older spellings of `reduction`.

    Shape
    -----
    Input and target: any shape, the same. Output: a scalar, or the shape of the input with `reduction="none"`.

    Examples
    --------
    >>> nn.MSELoss()(ingot.zeros(2), ingot.tensor([1.0, 3.0]))
    tensor(5.)
    """)
SmoothL1Loss = _module("SmoothL1Loss", F.smooth_l1_loss, *_OLD, ("beta", 1.0),
                       doc="""A squared loss for differences below beta, an absolute one above.

    Parameters
    ----------
    reduction : {"mean", "sum", "none"}
        How the losses become one number; "none" returns all.
    size_average, reduce : bool, optional
        Older spellings of `reduction`.
    beta : float
        Difference at which both parts meet.

    Shape
    -----
    Input and target: any shape, the same. Output: a scalar, or the shape of the input with `reduction="none"`.

    Examples
    --------
    >>> nn.SmoothL1Loss()(ingot.zeros(2), ingot.tensor([0.5, 3.0]))
    tensor(1.3125)
    """)
HuberLoss = _module("HuberLoss", F.huber_loss, ("reduction", "mean"), ("delta", 1.0),
                    doc="""A squared loss for differences below delta, delta times the absolute one above.

    Parameters
    ----------
    reduction : {"mean", "sum", "none"}
        How the losses become one number; "none" returns all.
    delta : float
        Difference at which both parts meet.

    Shape
    -----
    Input and target: any shape, the same. Output: a scalar, or the shape of the input with `reduction="none"`.

    Examples
    --------
    >>> nn.HuberLoss()(ingot.zeros(2), ingot.tensor([0.5, 3.0]))
    tensor(1.3125)
    """)
NLLLoss = _module("NLLLoss", F.nll_loss, ("weight", None), _OLD[0], ("ignore_index", -100), *_OLD[1:],
                  doc="""The negative log likelihood of classes: -weight[target] * input[target] for log probabilities as input.

    Parameters
    ----------
    weight : Tensor, optional
        A factor for each class, of shape (C,).
    ignore_index : int
        Class index that counts for nothing.
    reduction : {"mean", "sum", "none"}
        How the losses become one number; "none" returns all.
    size_average, reduce : bool, optional
        Older spellings of `reduction`.

    Shape
    -----
    Input: log probabilities (N, C, ...) or (C). Target: class indices (N, ...).

    Examples
    --------
    >>> nn.NLLLoss()(ingot.tensor([[-0.5, -1.0]]), ingot.tensor([1]))
    tensor(1.)
    """)
CrossEntropyLoss = _module("CrossEntropyLoss", F.cross_entropy, ("weight", None), _OLD[0], ("ignore_index", -100), *_OLD[1:],
                           ("label_smoothing", 0.0), doc="""The cross entropy of scores (logits) and classes.

    Parameters
    ----------
    weight : Tensor, optional
        A factor for each class, of shape (C,).
    ignore_index : int
        Class index that counts for nothing.
    label_smoothing : float
        Share of the target that is spread evenly over all classes.
    reduction : {"mean", "sum", "none"}
        How the losses become one number; "none" returns all.
    size_average, reduce : bool, optional
        Older spellings of `reduction`.

    Shape
    -----
    Input: scores (N, C, ...) or (C). Target: class indices (N, ...), or class probabilities (N, C, ...).

    Examples
    --------
    >>> loss = nn.CrossEntropyLoss()
    >>> loss(ingot.tensor([[2.0, 0.0], [0.0, 2.0]]), ingot.tensor([0, 1]))
    tensor(0.1269)
    """)
KLDivLoss = _module("KLDivLoss", F.kl_div, *_OLD, ("log_target", False),
                    doc="""The Kullback-Leibler divergence: target * (log(target) - input) for log probabilities as input.

    Parameters
    ----------
    reduction : {"mean", "batchmean", "sum", "none"}
        How the losses become one number; "none" returns all.
    size_average, reduce : bool, optional
        Older spellings of `reduction`.
    log_target : bool
        Whether the target has log probabilities, too.

    Shape
    -----
    Input and target: any shape, the same. Output: a scalar, or the shape of the input with `reduction="none"`.

    Examples
    --------
    >>> p = ingot.tensor([[0.5, 0.5]])
    >>> nn.KLDivLoss(reduction="batchmean")(p.log(), p)
    tensor(0.)
    """)
BCELoss = _module("BCELoss", F.binary_cross_entropy, ("weight", None), *_OLD,
                  doc="""The binary cross entropy of probabilities: -(target * log(input) + (1 - target) * log(1 - input)).

    Each logarithm is at least -100.

    Parameters
    ----------
    weight : Tensor, optional
        A factor for each element, which broadcasts.
    reduction : {"mean", "sum", "none"}
        How the losses become one number; "none" returns all.
    size_average, reduce : bool, optional
        Older spellings of `reduction`.

    Shape
    -----
    Input and target: any shape, the same. Output: a scalar, or the shape of the input with `reduction="none"`.

    Examples
    --------
    >>> nn.BCELoss()(ingot.tensor([0.5]), ingot.tensor([1.0]))
    tensor(0.6931)
    """)
BCEWithLogitsLoss = _module("BCEWithLogitsLoss", F.binary_cross_entropy_with_logits, ("weight", None), *_OLD,
                            ("pos_weight", None),
                            doc="""The binary cross entropy of sigmoid(input), computed from scores (logits) without overflow.

    Parameters
    ----------
    weight : Tensor, optional
        A factor for each element, which broadcasts.
    reduction : {"mean", "sum", "none"}
        How the losses become one number; "none" returns all.
    size_average, reduce : bool, optional
        Older spellings of `reduction`.
    pos_weight : Tensor, optional
        A factor for the part of positive targets, which broadcasts.

    Shape
    -----
    Input and target: any shape, the same. Output: a scalar, or the shape of the input with `reduction="none"`.

    Examples
    --------
    >>> nn.BCEWithLogitsLoss()(ingot.zeros(1), ingot.ones(1))
    tensor(0.6931)
    """)
NLLLoss2d = _module("NLLLoss2d", F.nll_loss, *NLLLoss._fields)       # its name in older programs
PoissonNLLLoss = _module("PoissonNLLLoss", F.poisson_nll_loss, ("log_input", True), ("full", False), _OLD[0], ("eps", 1e-8),
                         *_OLD[1:])
GaussianNLLLoss = _module("GaussianNLLLoss", F.gaussian_nll_loss, ("full", False), ("eps", 1e-6), ("reduction", "mean"),
                          inputs=3)
HingeEmbeddingLoss = _module("HingeEmbeddingLoss", F.hinge_embedding_loss, ("margin", 1.0), *_OLD)
MarginRankingLoss = _module("MarginRankingLoss", F.margin_ranking_loss, ("margin", 0.0), *_OLD, inputs=3)
SoftMarginLoss = _module("SoftMarginLoss", F.soft_margin_loss, *_OLD)
CosineEmbeddingLoss = _module("CosineEmbeddingLoss", F.cosine_embedding_loss, ("margin", 0.0), *_OLD, inputs=3)
MultiMarginLoss = _module("MultiMarginLoss", F.multi_margin_loss, ("p", 1), ("margin", 1.0), ("weight", None), *_OLD)
MultiLabelMarginLoss = _module("MultiLabelMarginLoss", F.multilabel_margin_loss, *_OLD)
MultiLabelSoftMarginLoss = _module("MultiLabelSoftMarginLoss", F.multilabel_soft_margin_loss, ("weight", None), *_OLD)
TripletMarginLoss = _module("TripletMarginLoss", F.triplet_margin_loss, ("margin", 1.0), ("p", 2.0), ("eps", 1e-6),
                            ("swap", False), *_OLD, inputs=3)
TripletMarginWithDistanceLoss = _module(
    "TripletMarginWithDistanceLoss", F.triplet_margin_with_distance_loss, ("distance_function", None), ("margin", 1.0),
    ("swap", False), ("reduction", "mean"), inputs=3)
CTCLoss = _module("CTCLoss", F.ctc_loss, ("blank", 0), ("reduction", "mean"), ("zero_infinity", False), inputs=4)


@dataclass(frozen=True, slots=True)
class LinearCrossEntropyOptions:
    """Hints for linear_cross_entropy to trade memory for speed. They change no result. `allow_retain_graph` is ignored: graphs
    can always be retained. `acc_dtype` is ignored: sums have one dtype for each input dtype."""

    allow_retain_graph: bool = False
    batch_chunk_size: int | None = None
    chunking_method: str | None = "auto"
    acc_policy: str = "auto"
    acc_dtype: DType | None = None

    def __post_init__(self):
        if self.acc_policy not in ("auto", "accurate", "balanced", "compact"):
            raise unknown_choice("acc_policy", self.acc_policy, ("auto", "accurate", "balanced", "compact"))
        method, _, factor = (self.chunking_method or "auto").partition(":")
        if method not in ("auto", "aspect_ratio") or (factor and (method == "auto" or not factor.isdigit() or not int(factor))):
            raise ArgumentError("chunking_method must be None, 'auto', 'aspect_ratio' or 'aspect_ratio:N', got "
                                f"{self.chunking_method!r}")
        if self.batch_chunk_size is not None and not self.batch_chunk_size > 0:
            raise ArgumentError(f"batch_chunk_size must be above 0 or None, got {self.batch_chunk_size}")


class LinearCrossEntropyLoss(Module):
    """The cross entropy of logits from a linear map of its own. `out_features` are sizes of the logits after the classes."""

    def __init__(self, in_features, num_classes, *, out_features=(), bias=False, device=None, dtype=None, reduction="mean",
                 weight=None, ignore_index=None, label_smoothing=0.0, options=None):
        super().__init__()
        if weight is not None and tuple(weight.shape) != (num_classes,):
            raise ShapeError(f"LinearCrossEntropyLoss takes one weight for each of {num_classes} classes, got {weight.aval}")
        if not 0 <= label_smoothing <= 1:
            raise ArgumentError(f"label_smoothing must be within 0 and 1, got {label_smoothing}")
        self.register_buffer("weight", weight)
        self.reduction, self.ignore_index, self.label_smoothing = reduction, ignore_index, label_smoothing
        self.num_classes, self.out_features, self.options = num_classes, tuple(out_features), options
        self.linear = Linear(in_features, num_classes * math.prod(self.out_features), bias=bias, device=device, dtype=dtype)

    def forward(self, input, target):
        shape = (self.num_classes, *self.out_features)
        bias = self.linear.bias
        return F.linear_cross_entropy(
            input, self.linear.weight.reshape(*shape, self.linear.in_features), target,
            linear_bias=None if bias is None else bias.reshape(shape), weight=self.weight, reduction=self.reduction,
            ignore_index=self.ignore_index, label_smoothing=self.label_smoothing, options=self.options)

    def extra_repr(self):
        names = ("num_classes", "out_features", "reduction", "ignore_index", "label_smoothing", "options")
        fields = [f"{n}={getattr(self, n)}" for n in names]
        fields.insert(2, f"bias={self.linear.bias is not None}")
        return ", ".join([f"in_features={self.linear.in_features}", *fields])
