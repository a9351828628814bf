"""Differences from PyTorch that are meant: one table, which docs/differences.md shows.

A row of the oracle may differ only where an entry names it. An entry that no row needs any more is an error.
"""

from fnmatch import fnmatchcase
from typing import NamedTuple


class Difference(NamedTuple):
    """One difference.

    rows     patterns of names of rows, `family:name`
    results  patterns of the results that differ
    raises   True if ingot refuses the call
    """

    title: str
    ours: str
    pytorch: str
    reason: str
    rows: tuple = ()
    results: tuple = ("*",)
    raises: bool = False


TABLE: tuple[Difference, ...] = (
    Difference("Gradient of ctc_loss", "The gradient of the loss with respect to its scores.",
               "The gradient less a term that vanishes only if the scores come from log_softmax.",
               "PyTorch's backward assumes normalised scores, so other scores get a gradient that is not that of the loss. "
               "Behind log_softmax both libraries give the same gradient.",
               rows=("losses:ctc_loss/of any scores",), results=("grad.0",)),
    Difference("Gradient of cosine_similarity for vectors shorter than eps", "The derivative of the value that is returned.",
               "A derivative that passes through the clamp of the norm as if there were none.",
               "The value does not depend on a norm that is clamped, so its derivative does not either.",
               rows=("layers:CosineSimilarity/dim", "layers:CosineSimilarity/short"), results=("grad.*",)),
    Difference("CrossMapLRN2d", "Windows of `size` channels around each channel, as LocalResponseNorm has them.",
               "Windows that keep channels which they have left, and lose others.",
               "PyTorch's module is a leftover of its predecessor: its running sum subtracts the wrong channel.",
               rows=("layers:CrossMapLRN2d/*",)),
    Difference("embedding_bag with scale_grad_by_freq", "Each row's gradient is divided by how often the row was looked up.",
               "The divisor is the count of another row.",
               "PyTorch's documentation says what ingot does; its kernel indexes the counts by the wrong number.",
               rows=("layers:EmbeddingBag/sum 4", "layers:EmbeddingBag/mean 4", "unsampled:embedding_bag/5"),
               results=("grad.weight", "grad.0")),
    Difference("Sparsity of a BlockMask whose blocks do not divide its lengths", "The share of blocks that have no entry.",
               "A share of the entries in whole blocks in all entries, which is negative for short sequences.",
               "A share lies between 0 and 100; blocks at the rim are blocks as well.",
               rows=("flexible_attention:others/*", "flexible_attention:masks/*"), results=("sparsity", "part.sparsity")),
    Difference("Modes of Weibull and Kumaraswamy", "The mode: zero for a Weibull distribution of concentration below one.",
               "nan.",
               "PyTorch takes a power or a logarithm of a negative number.",
               rows=("distributions:Weibull/1 *", "distributions:Kumaraswamy/*"),
               results=("mode",)),
    Difference("Mode of Beta with both concentrations below one", "The end of the larger concentration.", "One.",
               "The density is infinite at both ends and grows fastest at this one. PyTorch takes the first of two nans.",
               rows=("distributions:Beta/broadcast",), results=("mode",)),
    Difference("Gradient of a variance that does not exist", "Zero where FisherSnedecor's variance is nan.", "nan.",
               "PyTorch differentiates a branch that it did not take.",
               rows=("distributions:FisherSnedecor/1 *",), results=("variance.grad.0",)),
    Difference("Gradient of infinite moments of Pareto", "Zero.", "nan where alpha is exactly one or two.",
               "The moment is constant there and below.",
               rows=("distributions:Pareto/1 *",), results=("mean.grad.1", "variance.grad.1")),
    Difference("Infinite moments of GeneralizedPareto", "inf.", "nan.",
               "The integrals diverge to infinity, as those of Pareto.",
               rows=("distributions:GeneralizedPareto/1 *",), results=("mean", "variance", "stddev", "expanded mean")),
    Difference("GeneralizedPareto beyond its upper limit", "A density of zero and a probability of one.", "nan.",
               "Unchecked values beyond the limit are as impossible as those of Uniform.",
               rows=("distributions:GeneralizedPareto/edges",), results=("log_prob.0", "cdf.0")),
    Difference("has_rsample of LogitRelaxedBernoulli", "True.", "False.", "Both libraries have its rsample.",
               rows=("distributions:LogitRelaxedBernoulli/*",), results=("has_rsample",)),
    Difference("Shape of an infinite divergence", "The shape that both batches broadcast to.", "The shape of the first batch.",
               "A divergence has one value for each pair, whether it is finite or not.",
               rows=("divergences:* ContinuousBernoulli/1",), results=("kl",)),
    Difference("Gradient of as_strided_scatter for its first argument",
               "Zero where an element was overwritten, the result's elsewhere.",
               "The result's where an element was overwritten, zero elsewhere.",
               "Elements that were overwritten do not enter the result; the others are the result.",
               rows=("functions:as_strided_scatter/*", "methods:Tensor.as_strided_scatter/*"), results=("grad.0",)),
    Difference("Gradients through native_layer_norm and native_batch_norm", "The gradient of all three results.",
               "The gradient of the first result alone.",
               "PyTorch drops the gradients of the means and deviations, which its own layers never use.",
               rows=("functions:native_layer_norm/*", "functions:native_batch_norm/*"), results=("grad.*",)),
    Difference("Gradient of cholesky for complex matrices", "A Hermitian matrix.", "A matrix whose diagonal is complex.",
               "The factor's diagonal is real, so no gradient arrives for its imaginary part.",
               rows=("functions:cholesky/ complex128 *", "linalg:linalg.cholesky/ complex128 *",
                     "linalg:linalg.cholesky_ex/ complex128 *", "structured:*cholesky/complex128 *",
                     "structured:linalg.cholesky_ex/complex128 *"),
               results=("grad.0", "second.grad.0")),
    Difference("Gradient of pinv(hermitian=True) for a matrix that is not Hermitian", "That of the matrix which is read.",
               "A formula with all numbers of the matrix.",
               "Both libraries read the lower triangle, so no other numbers enter the result.",
               rows=("structured:linalg.pinv/* filled U",), results=("grad.0", "second.grad.0")),
    Difference("Gradients at ties and limits",
               "Half for each of two equal arguments of fmax, fmin and clamp with tensors; none for a value at a limit that is "
               "a number.",
               "All for the first argument; all for a value at a limit.",
               "This is the rule of PyTorch 2.15, which maximum and minimum have had before.",
               rows=("arguments:fmax/*", "arguments:fmin/*", "arguments:clamp/*"), results=("grad.*",)),
    Difference("Gradients of extremes without their own element", "Ties of the source share the gradient.",
               "The element that include_self=False leaves out counts as one of the ties, and its share is lost.",
               "An element that does not enter the result has no share in its gradient.",
               rows=tuple(f"arguments:scatter_reduce/{i}" for i in (4, 5, 6, 10, 11, 12)) + (
                   "arguments:index_reduce/2", "arguments:index_reduce/4",
                   "operators:scatter_reduce/function amax ties with what is left out"),
               results=("grad.*",)),
    Difference("Indices of equal values", "Any of them.", "Any of them.",
               "topk and kthvalue do not say which of several equal values an index names; the values agree.",
               rows=("functions:topk/ int64 *", "functions:kthvalue/ int64 *"), results=("out.1",)),
    Difference("Gradients through SGD with differentiable=True and momentum", "The gradient for the gradients of every step.",
               "None for the first step's gradients.",
               "PyTorch detaches the first gradient when it makes the momentum buffer of it.",
               rows=("optimizers:SGD/differentiable", "optimizers:SGD/differentiable, nesterov"), results=("grad.*",)),
    Difference("Masks of several dimensions behind an Ellipsis", "A mask takes as many dimensions as it has, as in numpy.",
               "A mask counts as one dimension, so such keys are refused or read elsewhere.",
               "x[..., mask] then means the same as without the Ellipsis wherever both are allowed."),
    Difference("LBFGS takes maximize", "A parameter `maximize`, as other optimizers have it.", "None.",
               "A loss can be raised without its sign being turned around in the closure.",
               rows=("optimizers:LBFGS/*",), results=("group0.maximize",)),
    Difference("Precision of ldexp", "The power of two is computed in the dtype of the result.",
               "The power of two is rounded to the dtype of the exponents first.",
               "A fraction as an exponent in float16 would leave three digits of a result that is float32.",
               rows=("promotion:ldexp/*",), results=("float*", "complex*")),
    Difference("Complex number divided by a tensor of half precision", "A division in the dtype of the result.",
               "A product with the reciprocal, which is rounded to half precision first.",
               "The rounding would leave three digits of a result that is complex64.",
               rows=("promotion:Tensor.__rtruediv__/*",), results=("complex64",)),
    Difference("Default reduction of losses of the top level", "The mean, as PyTorch's signatures say.", "No reduction.",
               "PyTorch's releases differ in it; nn.functional has the losses that programs use.",
               rows=tuple(f"unsampled:{name}/default *" for name in (
                   "binary_cross_entropy_with_logits", "cosine_embedding_loss", "hinge_embedding_loss", "kl_div",
                   "margin_ranking_loss", "triplet_margin_loss"))),
    Difference("Volume of AffineTransform with one scale for a vector", "The logarithm of the scale, once for each element.",
               "The logarithm of the scale, once in all.",
               "Each element of the vector is scaled, so the determinant is a power of the scale.",
               rows=("transforms:AffineTransform/events of one tensor",), results=("volume*",)),
)


def meant(name: str, result: str | None = None) -> Difference | None:
    """Return the entry that explains a difference of a row in one result, or a refusal (`result` is None)."""
    for entry in TABLE:
        if any(fnmatchcase(name, p) for p in entry.rows) and (
                entry.raises if result is None else any(fnmatchcase(result, p) for p in entry.results)):
            return entry
    return None


def page() -> str:
    """Return docs/differences.md."""
    rows = "\n".join(f"| {e.title} | {e.ours} | {e.pytorch} | {e.reason} |" for e in TABLE)
    return f"""# Differences from PyTorch that are meant

The tests compare ingot with results of PyTorch 2.13.0, for every function, layer, loss, optimizer and distribution, eagerly
and traced. Everything agrees within rounding but for what this table lists. A difference that it does not list fails the tests.
The table itself is `tests/oracle/differences.py`.

| what | ingot | PyTorch | why |
|---|---|---|---|
{rows}
"""
