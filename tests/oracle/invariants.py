"""Results of operators whose meaning leaves a choice, as what every choice has in common: values that do not depend on signs, phases or order.

A function gets the library, the results, the arguments and the parameters of a call.
"""

TABLE: dict = {}


def invariant(*names):
    """Mark the function of operators."""
    def mark(function):
        TABLE.update(dict.fromkeys(names, function))
        return function
    return mark


@invariant("eigh")
def eigh(library, results, args, kwargs):
    """Return eigenvalues, squared sizes of vectors' elements, and the matrix that the vectors make with other values."""
    w, v = results
    return w, (v * v.conj()).real, (v * (w * w).unsqueeze(-2)) @ v.mH, v.mH @ v


@invariant("cholesky")
def cholesky(library, results, args, kwargs):
    """Return both parts of complex factors; the diagonal has one."""
    return (results.real, results.imag.tril(-1)) if results.is_complex() else results


@invariant("svd")
def svd(library, results, args, kwargs):
    """Return singular values, squared sizes of vectors' elements, the matrix that they make with other values, and that vectors are orthonormal."""
    u, s, vh = results
    count = s.shape[-1]
    left, right = u[..., :, :count], vh[..., :count, :]
    return s, (left * left.conj()).real, (right * right.conj()).real, (left * (s * s).unsqueeze(-2)) @ right, (u.mH @ u).detach(), (vh @ vh.mH).detach()


@invariant("eig")
def eig(library, results, args, kwargs):
    """Return sums over all eigenvalues, alone and with squared sizes of vectors' elements, and the lengths of vectors."""
    w, v = results
    sizes = (v * v.conj()).real
    return w.sum(-1), (w * w).sum(-1), (w * w * w).sum(-1), (sizes * (w * w).unsqueeze(-2)).sum(-1), sizes.sum(-2)


@invariant("eigvals")
def eigvals(library, results, args, kwargs):
    """Return sums of powers."""
    w = results
    return w.sum(-1), (w * w).sum(-1), (w * w * w).sum(-1), (w * w * w * w).sum(-1)
