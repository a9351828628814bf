"""Invariants of results where an operator leaves a choice of signs, phases, order or padding.

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
    """Return singular values, squared sizes of vectors' elements, the matrix that they make with other values, and the products
    that say that vectors are orthonormal."""
    u, s, vh = results
    count = s.shape[-1]
    left, right = u[..., :, :count], vh[..., :count, :]
    sizes = (left * left.conj()).real, (right * right.conj()).real
    return s, *sizes, (left * (s * s).unsqueeze(-2)) @ right, (u.mH @ u).detach(), (vh @ vh.mH).detach()


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


def planes(x, channels):
    """Return blocked images as plain ones, without what stands for missing channels."""
    return x.movedim(-1, 2).flatten(1, 2)[:, :channels]


@invariant("to_blocked")
def to_blocked(library, results, args, kwargs):
    return planes(results, args[0].shape[1])


@invariant("conv_blocked", "pack_filters")
def conv_blocked(library, results, args, kwargs):
    return planes(results, kwargs["filters"][0])


@invariant("conv_chain_blocked")
def conv_chain_blocked(library, results, args, kwargs):
    return planes(results, kwargs["layers"][-1][0][0])


@invariant("conv_input_grad_blocked", "pack_turned")
def conv_input_grad_blocked(library, results, args, kwargs):
    return planes(results, kwargs["filters"][1] * kwargs["groups"])


@invariant("batch_norm_train_blocked", "batch_norm_grad_blocked")
def batch_norm_blocked(library, results, args, kwargs):
    return planes(results[0], kwargs["channels"]), *results[1:]
