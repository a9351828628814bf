"""Constraints: checks of values inside, outside and on the edges, and the transforms that the registries give."""

import numpy as np

from ..row import Build, Leaf, Row
from .transforms import CORR, DEFINITE, MATRICES, X

C = "distributions.constraints."
INF, NAN = np.inf, np.nan
NUMBERS = np.array([[-INF, -1.5, -1.0, -0.0], [0.5, 1.0, 2.5, 3.0], [3.5, INF, NAN, 1e-300]])
WHOLE = np.array([-2, -1, 0, 1, 3, 4, 5], "int64")
SHARES = np.array([[0.25, 0.5, 0.25], [1.0, 0.0, 0.0], [0.5, 0.75, -0.25], [0.25, 0.5, 0.25000098], [0.25, 0.5, 0.25000102], [0.25, 0.5, 0.2499989], [NAN, 0.5, 0.5]])
COUNTS = np.array([[1.0, 2.0, 1.0], [4.0, 0.0, 0.0], [3.0, 2.0, 0.0], [-1.0, 2.0, 1.0], [0.5, 0.25, 0.0]])
ROWS = np.array([[0.0, 1.0, 0.0], [1.0, 1.0, 0.0], [0.0, 0.0, 0.0], [0.5, 0.5, 0.0], [2.0, -1.0, 0.0], [0.0, 0.0, 1.0]])
TRIANGLES = np.stack([np.tril(MATRICES[0]), np.tril(np.abs(MATRICES[1])) + np.eye(3), MATRICES[1], np.diag([1.0, 2.0, 0.0]), np.diag([1.0, 2.0, 0.5])])
SINGULAR = np.array([[1.0, 2.0, 3.0], [2.0, 4.0, 6.0], [3.0, 6.0, 9.0]])
INDEFINITE = np.array([[1.0, 2.0, 0.0], [2.0, 1.0, 0.0], [0.0, 0.0, 1.0]])
# Nearly symmetric matrices: numbers beside 0.75, which may differ by 1e-6 and 1e-5 of it.
NEARLY = DEFINITE + np.array([0, 8.4e-6, 8.6e-6, -8.4e-6])[:, None, None] * np.eye(3)[[0, 2, 1]][None] * np.tri(3, k=-1)


def _one_off(amount):
    """Return a factor of correlations whose last row is longer than 1 by an amount."""
    factor = CORR[0].copy()
    factor[2] *= 1 + amount
    return factor


EPS = 2.0**-52
CORRELATIONS = np.stack([CORR[0], CORR[1], -CORR[0], _one_off(20 * EPS), _one_off(45 * EPS), _one_off(-25 * EPS), CORR[0].T, CORR[0] * 2])
WIDE = np.stack([X, X + 1.0])
FREE, BOTH = X, ("biject_to", "transform_to")
ONTO = ("transform_to",)


def _c(name, *args):
    return Build(C + name, args)


POSITIVE, REAL = _c("greater_than", 0.0), _c("interval", -INF, INF)
LOW, HIGH = Leaf(np.array([-1.0, 0.25, 0.5])), Leaf(np.array([1.0, 2.5, 3.0]))

# Rows: name, what varies, arguments, values to check, a free value for the registries in the last entry.
TABLE = [
    ("boolean", "numbers", (), [NUMBERS, WHOLE], None, ()),
    ("boolean", "bools", (), [NUMBERS > 0.75], None, ()),
    ("nonnegative_integer", "numbers", (), [NUMBERS, WHOLE], None, ()),
    ("nonnegative_integer", "float32", (), [NUMBERS.astype("float32")], None, ()),
    ("positive_integer", "numbers", (), [NUMBERS, WHOLE], None, ()),
    ("positive_integer", "float32", (), [NUMBERS.astype("float32")], None, ()),
    ("integer_interval", "numbers", (-1, 3), [NUMBERS, WHOLE], None, ()),
    ("integer_interval", "tensors", (np.array([0.0, -2.0, 1.0]), np.array([2.0, 0.5, 9.0])), [NUMBERS[:, :3]], None, ()),
    ("real", "numbers", (), [NUMBERS, WHOLE], FREE, BOTH),
    ("real", "float32", (), [NUMBERS.astype("float32")], FREE.astype("float32"), BOTH),
    ("real_vector", "numbers", (), [NUMBERS, NUMBERS[0]], FREE, BOTH),
    ("real_vector", "float32", (), [NUMBERS.astype("float32")], FREE.astype("float32"), BOTH),
    ("positive", "numbers", (), [NUMBERS, WHOLE], FREE, BOTH),
    ("positive", "float32", (), [NUMBERS.astype("float32")], FREE.astype("float32"), BOTH),
    ("nonnegative", "numbers", (), [NUMBERS, WHOLE], FREE, BOTH),
    ("nonnegative", "float32", (), [NUMBERS.astype("float32")], FREE.astype("float32"), BOTH),
    ("unit_interval", "numbers", (), [NUMBERS, WHOLE], FREE, BOTH),
    ("unit_interval", "float32", (), [NUMBERS.astype("float32")], FREE.astype("float32"), BOTH),
    ("greater_than", "number", (1.0,), [NUMBERS, WHOLE], FREE, BOTH),
    ("greater_than", "tensor", (LOW,), [NUMBERS[:, 1:]], FREE, BOTH),
    ("greater_than_eq", "number", (1.0,), [NUMBERS, WHOLE], FREE, BOTH),
    ("greater_than_eq", "tensor", (LOW,), [NUMBERS[:, 1:]], FREE, BOTH),
    ("less_than", "number", (3,), [NUMBERS, WHOLE], FREE, BOTH),
    ("less_than", "tensor", (HIGH,), [NUMBERS[:, 1:]], FREE, BOTH),
    ("interval", "numbers", (-1.0, 3.0), [NUMBERS, WHOLE], FREE, BOTH),
    ("interval", "tensors", (LOW, HIGH), [NUMBERS[:, 1:]], FREE, BOTH),
    ("interval", "zero to one", (0, 1), [NUMBERS], np.array([-800.0, 3.0, 800.0]), BOTH),
    ("half_open_interval", "numbers", (-1.0, 3.0), [NUMBERS, WHOLE], FREE, BOTH),
    ("half_open_interval", "tensors", (LOW, HIGH), [NUMBERS[:, 1:]], FREE, BOTH),
    ("simplex", "doubles", (), [SHARES, SHARES[:, :2]], FREE, BOTH),
    ("simplex", "singles", (), [SHARES[:, [0, 1]].astype("float32"), SHARES[0].astype("float32")], FREE[0].astype("float32"), BOTH),
    ("multinomial", "number", (4,), [COUNTS], None, ()),
    ("multinomial", "tensor", (np.array([4.0, 3.0, 9.0, 2.0, 0.5]),), [COUNTS], None, ()),
    ("one_hot", "numbers", (), [ROWS], None, ()),
    ("one_hot", "integers", (), [ROWS.astype("int64"), ROWS[0]], None, ()),
    ("lower_triangular", "batch", (), [TRIANGLES], None, ()),
    ("lower_triangular", "oblong", (), [np.tril(X), np.tril(X, 1), np.tril(X.T)], None, ()),
    ("lower_cholesky", "batch", (), [TRIANGLES], MATRICES, ONTO),
    ("lower_cholesky", "one", (), [TRIANGLES[1].astype("float32")], MATRICES[0, :2, 1:].astype("float32"), ONTO),
    ("corr_cholesky", "batch", (), [CORRELATIONS], FREE, BOTH),
    ("corr_cholesky", "of 2", (), [np.array([[1.0, 0.0], [-0.6, 0.8]], "float32"), np.array([[1.0, 0.0], [-0.60001, 0.8]], "float32")], FREE[:, :1].astype("float32"), BOTH),
    ("square", "batch", (), [MATRICES, MATRICES[0, :2]], None, ()),
    ("square", "oblong", (), [MATRICES[:, :2], MATRICES[:0]], None, ()),
    ("symmetric", "batch", (), [np.stack([DEFINITE, SINGULAR, MATRICES[0]]), NEARLY], None, ()),
    ("symmetric", "oblong", (), [MATRICES[:, :2], SINGULAR.astype("float32")], None, ()),
    ("positive_semidefinite", "batch", (), [np.stack([DEFINITE, -DEFINITE, INDEFINITE]), np.stack([DEFINITE, MATRICES[0]])], MATRICES, ONTO),
    ("positive_semidefinite", "edges", (), [np.diag([1.0, 0.0, 2.0]), np.diag([1.0, -1e-9, 2.0]), MATRICES[:, :2]], MATRICES[0, :2, 1:], ONTO),
    ("positive_definite", "batch", (), [np.stack([DEFINITE, -DEFINITE, INDEFINITE]), np.stack([DEFINITE, MATRICES[0]])], MATRICES, ONTO),
    ("positive_definite", "edges", (), [np.diag([1.0, 0.0, 2.0]), SINGULAR, np.diag([1.0, 1e-9, 2.0]), MATRICES[:, :2]], MATRICES[0, :2, 1:], ONTO),
    ("independent", "one", (POSITIVE, 1), [NUMBERS, NUMBERS[1]], FREE, BOTH),
    ("independent", "two", (_c("interval", LOW, HIGH), 2), [NUMBERS[:, 1:], np.array([[0.0, 0.5, 1.0], [1.0, 2.5, 3.0]])], WIDE, BOTH),
    ("independent", "none", (_c("less_than", 3.0), 0), [NUMBERS], FREE, BOTH),
    ("MixtureSameFamilyConstraint", "numbers", (_c("interval", LOW, HIGH),), [NUMBERS], None, ()),
    ("MixtureSameFamilyConstraint", "vectors", (_c("independent", POSITIVE, 1),), [NUMBERS, NUMBERS[1]], None, ()),
    ("cat", "defaults", ([POSITIVE, REAL, _c("less_than", 2.0)],), [NUMBERS], np.concatenate([X, X[:1] + 0.5]), BOTH),
    ("cat", "lengths", ([POSITIVE, _c("interval", -1.0, 2.5)], 1, [1, 3]), [NUMBERS], np.concatenate([X, X[:, 1:2] + 0.5], 1), BOTH),
    ("cat", "last", ([_c("integer_interval", 0, 2), POSITIVE], -1, [2, 1]), [NUMBERS[:, 1:]], None, ()),
    ("stack", "defaults", ([POSITIVE, _c("less_than", 2.0), REAL],), [NUMBERS], np.concatenate([X, X[:1] + 0.5]), BOTH),
    ("stack", "dim 1", ([POSITIVE, REAL, _c("integer_interval", 0, 2), _c("half_open_interval", -1.0, 3.0)], 1), [NUMBERS], None, ()),
    ("stack", "vectors", ([_c("independent", POSITIVE, 1), _c("independent", REAL, 1)], 0), [NUMBERS[1:]], X, BOTH),
    ("stack", "along an event", ([_c("independent", POSITIVE, 1), _c("independent", REAL, 1)], -1), [], None, ()),
    ("stack", "events", ([_c("independent", POSITIVE, 1), _c("independent", REAL, 1)], -2), [], None, ()),
    ("stack", "dim -1", ([POSITIVE, REAL, _c("less_than", 3.0)], -1), [NUMBERS[:, 1:]], X, BOTH),
]
# Names without a region of their own.
ABSTRACT = {"Constraint", "dependent", "dependent_property", "is_dependent"}


def rows(torch, rng):
    """Yield two rows and more of every constraint; every registered transform has one."""
    distributions = torch.distributions
    counts = {n: sum(row[0] == n for row in TABLE) for n in distributions.constraints.__all__ if n not in ABSTRACT}
    assert min(counts.values()) >= 2 and {row[0] for row in TABLE} == set(counts), counts
    mapped = {map_name: set() for map_name in BOTH}
    for name, what, args, values, free, map_names in TABLE:
        found = getattr(distributions.constraints, name)
        for map_name in map_names:
            mapped[map_name].add(found if isinstance(found, type) else type(found))
        yield Row(f"{name}/{what}", "constraint", C + name, args, {},
                  {"values": values, "free": free if free is None else Leaf(free), "maps": list(map_names)})
    for map_name in BOTH:
        assert mapped[map_name] == set(getattr(distributions, map_name)._registry), map_name
