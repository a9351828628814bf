"""Rows of distributions, divergences, transforms and constraints."""

from ..row import fill, lookup, prepare
from ..tensors import flatten, gradients, to_tensor
from . import kind

OF_VALUES = ("log_prob", "cdf", "icdf")
METHODS = ("entropy", "perplexity")
ATTRIBUTES = ("mean", "variance", "stddev", "mode")


def evaluate(distribution, quantity: str, values):
    """Return one quantity: of each of the values, or of the distribution alone."""
    if quantity in OF_VALUES:
        return [getattr(distribution, quantity)(v) for v in values]
    if quantity in METHODS:
        return getattr(distribution, quantity)()
    if quantity == "enumerate_support":
        return [distribution.enumerate_support(expand=e) for e in (True, False)]
    if quantity == "expand":
        return distribution.expand((2, *distribution.batch_shape)).log_prob(values[0])
    return getattr(distribution, quantity)


@kind("distribution")
def run(library, row, wrap):
    """Evaluate `quantities` of one distribution.

    Options: `values` (for log_prob and cdf), `levels` (for icdf), `quantities`, `differentiated` (those with gradients).
    """
    options = row.options
    all_values = options["values"], options["levels"]
    (args, kwargs, (values, levels)), given = prepare(library, (row.args, row.kwargs, all_values))
    target = lookup(library, row.target)

    def make(tensors):
        return target(*fill(args, tensors), **fill(kwargs, tensors))

    def body(*tensors):
        distribution, out = make(tensors), {}
        for quantity in options["quantities"]:
            found = evaluate(distribution, quantity, fill(levels if quantity == "icdf" else values, tensors))
            out |= flatten(library, found, quantity)
        leaves = {str(i): t for i, (t, (_, leaf)) in enumerate(zip(tensors, given)) if leaf}
        for quantity in options["differentiated"]:
            part = {k: v for k, v in out.items() if k.split(".")[0] == quantity}
            out |= {f"{quantity}.{k}": v for k, v in gradients(library, part, leaves, keep=True).items()}
        return out

    found = dict(wrap(body)(*[to_tensor(library, a, leaf) for a, leaf in given]))
    made = make([to_tensor(library, a) for a, _ in given])
    return found | {"batch_shape": str(tuple(made.batch_shape)), "event_shape": str(tuple(made.event_shape)),
                    "has_rsample": made.has_rsample}


@kind("divergence")
def run_divergence(library, row, wrap):
    """Evaluate kl_divergence of two distributions, each a `Build`, with gradients of the parameters of both."""
    (args, _), given = prepare(library, (row.args, row.kwargs))

    def body(*tensors):
        out = {"kl": library.distributions.kl_divergence(*fill(args, tensors))}
        return out | gradients(library, out, {str(i): t for i, (t, (_, leaf)) in enumerate(zip(tensors, given)) if leaf})

    return wrap(body)(*[to_tensor(library, a, leaf) for a, leaf in given])


@kind("transform")
def run_transform(library, row, wrap):
    """Apply a transform forwards and back. Options: `value`, `shape` (for forward_shape)."""
    (args, kwargs, value), given = prepare(library, (row.args, row.kwargs, row.options["value"]))
    target = lookup(library, row.target)

    def make(tensors):
        return target(*fill(args, tensors), **fill(kwargs, tensors))

    def body(*tensors):
        transform, x = make(tensors), fill(value, tensors)
        y = transform(x)
        out = {"forward": y}
        if transform.bijective:
            out |= {"inverse": transform.inv(y), "volume": transform.log_abs_det_jacobian(x, y)}
        leaves = {str(i): t for i, (t, (_, leaf)) in enumerate(zip(tensors, given)) if leaf}
        return out | gradients(library, out, leaves)

    found = dict(wrap(body)(*[to_tensor(library, a, leaf) for a, leaf in given]))
    made = make([to_tensor(library, a) for a, _ in given])
    if row.options.get("shape"):
        shape = tuple(row.options["shape"])
        found |= {"forward shape": str(tuple(made.forward_shape(shape)))}
        found |= {"inverse shape": str(tuple(made.inverse_shape(shape)))}
    return found | {"domain": made.domain.event_dim, "codomain": made.codomain.event_dim, "bijective": made.bijective}


@kind("constraint")
def run_constraint(library, row, wrap):
    """Check a constraint and map onto it. Options: `values` (to check), `free` (mapped by biject_to and transform_to)."""
    options, constraints = row.options, library.distributions.constraints
    template, given = prepare(library, (row.args, options["values"], options.get("free")))

    def body(*tensors):
        args, values, free = fill(template, tensors)
        constraint = lookup(constraints, row.target)
        constraint = constraint(*args) if args else constraint
        out = {f"check{i}": constraint.check(v) for i, v in enumerate(values)}
        for name in options.get("maps", ()):
            out[name] = getattr(library.distributions, name)(constraint)(free)
        return out

    return wrap(body)(*[to_tensor(library, a, leaf) for a, leaf in given])
