"""Rows of distributions, divergences, transforms and constraints."""

from ..row import fill, lookup, prepare
from ..tensors import flatten, gradients, to_tensor
from . import kind

OF_VALUES = ("log_prob", "cdf", "icdf")
METHODS = ("entropy", "perplexity")
ATTRIBUTES = ("mean", "variance", "stddev", "mode")


def evaluate(distribution, quantity: str, values, parameters=()):
    """Return one quantity: of each of the values, or of the distribution alone."""
    if quantity in OF_VALUES:
        return [getattr(distribution, quantity)(v) for v in values]
    if quantity in METHODS:
        return getattr(distribution, quantity)()
    if quantity == "enumerate_support":
        return [distribution.enumerate_support(expand=e) for e in (True, False)]
    if quantity == "expand":
        return distribution.expand((2, *distribution.batch_shape)).log_prob(values[0])
    if quantity == "expanded mean":
        return distribution.expand((2, *distribution.batch_shape)).mean
    if quantity == "parameters":
        return {name: getattr(distribution, name) for name in parameters}
    if quantity == "support":
        return [distribution.support.check(v) for v in values]
    return getattr(distribution, quantity)


def leaves_of(tensors, arrays) -> dict:
    """Return {number: tensor} of the tensors whose gradients are compared."""
    return {str(i): t for i, (t, (_, leaf)) in enumerate(zip(tensors, arrays)) if leaf}


@kind("distribution")
@kind("distribution of numbers")        # which makes tensors of its own, always on the CPU
def run(library, row, wrap):
    """Evaluate `quantities` of one distribution.

    Options: `values` (for log_prob and cdf), `levels` (for icdf), `quantities`, `differentiated` (those with gradients),
    `parameters` (names, with those that the distribution derives from others).
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
            of = fill(levels if quantity == "icdf" else values, tensors)
            out |= flatten(library, evaluate(distribution, quantity, of, options.get("parameters", ())), quantity)
        leaves = leaves_of(tensors, given)
        for quantity in options["differentiated"]:
            part = {k: v for k, v in out.items() if k.split(".")[0] == quantity}
            out |= {f"{quantity}.{k}": v for k, v in gradients(library, part, leaves, keep=True).items()}
        return out

    found = dict(wrap(body)(*[to_tensor(library, a, leaf) for a, leaf in given]))
    made = make([to_tensor(library, a) for a, _ in given])
    if "expand" in options["quantities"]:
        wide = made.expand((3, *made.batch_shape))
        found["samples"] = str([tuple(d.sample((2,)).shape) for d in (made, wide)])
    return found | {"batch_shape": str(tuple(made.batch_shape)), "event_shape": str(tuple(made.event_shape)),
                    "has_rsample": made.has_rsample, "has_enumerate_support": made.has_enumerate_support,
                    "arg_constraints": " ".join(sorted(made.arg_constraints)) if options.get("parameters", ()) else ""}


@kind("divergence")
def run_divergence(library, row, wrap):
    """Evaluate kl_divergence of two distributions, each a `Build`, with gradients of the parameters of both."""
    (args, _), given = prepare(library, (row.args, row.kwargs))

    def body(*tensors):
        out = {"kl": library.distributions.kl_divergence(*fill(args, tensors))}
        return out | gradients(library, out, {str(i): t for i, (t, (_, leaf)) in enumerate(zip(tensors, given)) if leaf})

    return wrap(body)(*[to_tensor(library, a, leaf) for a, leaf in given])


def apply(transform, quantity: str, x, back):
    """Return one quantity of a transform: of arguments `x`, or of results `back`."""
    match quantity:
        case "forward":
            return transform(x)
        case "inverse":
            return transform.inv(transform(x))
        case "back":
            return transform.inv(back)
        case "volume":
            return transform.log_abs_det_jacobian(x, transform(x))
        case "volume of inverse":
            return transform.inv.log_abs_det_jacobian(back, transform.inv(back))
        case "domain":
            return transform.domain.check(x)
        case "codomain":
            return transform.codomain.check(transform(x))
    return transform.sign


def plain_facts(make, x, size: int) -> dict:
    """Return what a transform says of itself: constraints, equality, and identities of cached values."""
    made, other = make(), make()
    y, again = made(x), made.with_cache(1 - size)
    same = [made(x) is y, made.inv(y) is x, made.with_cache(size) is made, again is made, again(x) is again(x),
            again.inv(again(x)) is x]
    return {"domain dims": made.domain.event_dim, "codomain dims": made.codomain.event_dim, "bijective": made.bijective,
            "discrete": made.domain.is_discrete, "name": repr(made), "name of inverse": repr(made.inv),
            "equal": str([made == made, made == other, made.inv == made.inv, made.inv == other.inv, made == 1]),
            "returns": made.inv.inv is made, "identities": str(same)}


@kind("transform")
def run_transform(library, row, wrap):
    """Apply a transform forwards and back.

    Options: `value`, `back` (results to invert), `quantities`, `differentiated`, `shapes` (for forward_shape and
    inverse_shape), `cache` (its size), `others` (transforms to compare with).
    """
    options = row.options
    data = row.args, row.kwargs, options["value"], options["back"], options.get("others", [])
    (args, kwargs, value, back, others), given = prepare(library, data)
    target = lookup(library, row.target)

    def make(tensors):
        return target(*fill(args, tensors), **fill(kwargs, tensors)) if isinstance(target, type) else target

    def body(*tensors):
        transform, out = make(tensors), {}
        for quantity in options["quantities"]:
            out[quantity] = apply(transform, quantity, fill(value, tensors), fill(back, tensors))
        for quantity in options["differentiated"]:
            found = gradients(library, {quantity: out[quantity]}, leaves_of(tensors, given), keep=True)
            out |= {f"{quantity}.{k}": v for k, v in found.items()}
        return out

    found = dict(wrap(body)(*[to_tensor(library, a, leaf) for a, leaf in given]))
    tensors = [to_tensor(library, a) for a, _ in given]
    made, (forward, inverse) = make(tensors), options["shapes"]
    found |= plain_facts(lambda: make(tensors), fill(value, tensors), options["cache"])
    return found | {"forward shape": str(tuple(made.forward_shape(library.Size(forward)))),
                    "inverse shape": str(tuple(made.inverse_shape(library.Size(inverse)))),
                    "equal to others": str([made == other for other in fill(others, tensors)])}


@kind("constraint")
def run_constraint(library, row, wrap):
    """Check a constraint and map onto it.

    Options: `values` (to check), `free` (mapped by the registries in `maps`). A row without arguments names a constraint that
    exists, not a class.
    """
    options, distributions = row.options, library.distributions
    target = lookup(library, row.target)
    (args, values, free), given = prepare(library, (row.args, options["values"], options.get("free")))

    def make(tensors):
        return target(*fill(args, tensors)) if isinstance(target, type) else target

    def body(*tensors):
        constraint, out = make(tensors), {}
        for i, v in enumerate(fill(values, tensors)):
            out[f"check.{i}"] = constraint.check(v)
        for name in options["maps"]:
            mapped = getattr(distributions, name)(constraint)(fill(free, tensors))
            out |= {name: mapped, f"{name}.check": constraint.check(mapped)}
            out |= {f"{name}.{k}": v for k, v in gradients(library, {name: mapped}, leaves_of(tensors, given)).items()}
        return out

    found = dict(wrap(body)(*[to_tensor(library, a, leaf) for a, leaf in given]))
    tensors = [to_tensor(library, a) for a, _ in given]
    made = make(tensors)
    for name in options["maps"]:
        transform = getattr(distributions, name)(made)
        found |= {f"{name} dims": f"{transform.domain.event_dim} {transform.codomain.event_dim}",
                  f"{name} bijective": transform.bijective}
    return found | {"discrete": made.is_discrete, "dims": made.event_dim,
                    "dependent": distributions.constraints.is_dependent(made)}
