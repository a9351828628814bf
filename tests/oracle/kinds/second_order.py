"""Rows of functions whose operands have a structure: results, raw gradients, and gradients of these."""

from ..row import FUNCTIONS, fill, function, lookup, prepare
from ..tensors import flatten, gradients, to_tensor
from . import kind


@kind("second order")
def run(library, row, wrap):
    """Call `target(*args, **kwargs)`. Gradients are those of leaves as they are, symmetric or not.

    Options: `after` (name of a Python function of the result, which is compared, free of signs and phases), `first` (True: no
    gradients of gradients).
    """
    after = FUNCTIONS[row.options["after"]](library) if "after" in row.options else None
    (args, kwargs), given = prepare(library, (row.args, row.kwargs))
    target, twice = lookup(library, row.target), not row.options.get("first")

    def body(*tensors):
        result = target(*fill(args, tensors), **fill(kwargs, tensors))
        out = flatten(library, result if after is None else after(result))
        leaves = {str(i): t for i, (t, (_, leaf)) in enumerate(zip(tensors, given)) if leaf}
        first = gradients(library, out, leaves, keep=twice, graph=twice)
        second = {f"second.{k}": v for k, v in gradients(library, first, leaves).items()} if twice else {}
        return out | first | second

    return wrap(body)(*[to_tensor(library, a, leaf) for a, leaf in given])


def phase_of(x):
    """Return the conjugate sign of each number, or its phase."""
    return x.conj() / x.abs() if x.is_complex() else x.sign()


@function("solution alone")
def solution_alone(library):
    """The solution of least squares, without what belongs to one driver."""
    return lambda result: result[0]


@function("turned vectors")
def turned_vectors(library):
    """Values and vectors whose first elements are positive."""
    return lambda result: (result[0], result[1] * phase_of(result[1].narrow(-2, 0, 1)))


@function("turned singular vectors")
def turned_singular_vectors(library):
    """Left vectors with positive first elements, and the right ones turned with them."""
    def turned(result):
        u, s, vh = result
        phase = phase_of(u.narrow(-2, 0, 1))
        return u * phase, s, phase.mH * vh

    return turned


@function("unordered values")
def unordered_values(library):
    """Sums of powers of eigenvalues, also weighted with the sizes of their vectors' elements."""
    def sums(result):
        if library.is_tensor(result):
            return result.sum(-1), (result * result).sum(-1)
        w, v = result
        size = v * v.conj()
        return w.sum(-1), (w * w).sum(-1), (size * (w * w).unsqueeze(-2)).sum(-1)

    return sums


@function("parts of a factor")
def parts_of_a_factor(library):
    """Both parts of a Cholesky factor, whose diagonal is real."""
    def parts(result):
        factor = result if library.is_tensor(result) else result[0]
        return (factor.real, (factor.tril(-1) + factor.triu(1)).imag) if factor.is_complex() else factor

    return parts


@function("forms of a covariance")
def forms_of_a_covariance(library):
    """Everything that a normal or Wishart distribution derives from one matrix."""
    return lambda d: (d.covariance_matrix, d.precision_matrix, d.scale_tril, d.entropy(), d.variance)
