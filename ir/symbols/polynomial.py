"""Integer polynomials over named sizes, in one normal form: equal polynomials are equal data.

A polynomial is a tuple of (monomial, coefficient), sorted; a monomial is a sorted tuple of atoms, with repetitions. An atom is
a name, or a call ("floordiv" | "mod" | "max", polynomial, polynomial) that is no polynomial.
"""

import math
from functools import lru_cache

from ..errors import GraphError

# Of what sizes are multiplied to: a product of sums has a term for each choice of parts, so its terms soon fill memory.
_MOST_TERMS, _MOST_ATOMS = 2048, 64


def constant(n: int):
    """Return a number as a polynomial."""
    return (((), n),) if n else ()


def variable(name: str):
    """Return a named size as a polynomial."""
    return (((name,), 1),)


def constant_of(p):
    """Return the number that a polynomial is, or None."""
    if not p:
        return 0
    return p[0][1] if len(p) == 1 and not p[0][0] else None


def _normal(terms: dict):
    return tuple(sorted([(m, c) for m, c in terms.items() if c], key=_order))


def _order(term):
    m, _ = term
    return (-len(m), tuple([str(a) for a in m]))


def _atom(a):
    return str(a)


@lru_cache(8192)
def plus(p, q):
    """Return p + q."""
    terms = dict(p)
    for m, c in q:
        terms[m] = terms.get(m, 0) + c
    return _normal(terms)


@lru_cache(8192)
def negated(p):
    """Return -p."""
    return tuple([(m, -c) for m, c in p])


def minus(p, q):
    """Return p - q."""
    return plus(p, negated(q))


@lru_cache(8192)
def times(p, q):
    """Return p * q."""
    if len(p) * len(q) > _MOST_TERMS and min(len(p), len(q)) > 1:
        raise GraphError(f"a size is a product of sums that has more than {_MOST_TERMS} terms")
    if p and q and len(p[0][0]) + len(q[0][0]) > _MOST_ATOMS:       # the first terms are the longest
        raise GraphError(f"a size is a product of more than {_MOST_ATOMS} sizes that are not fixed")
    terms: dict = {}
    for m, c in p:
        for n, d in q:
            both = tuple(sorted((*m, *n), key=_atom))
            terms[both] = terms.get(both, 0) + c * d
    return _normal(terms)


def _without(m, part):
    """Return monomial m divided by the monomial `part`; None if it is no factor."""
    left = list(m)
    for a in part:
        if a not in left:
            return None
        left.remove(a)
    return tuple(left)


def _split(p, q):
    """Return (quotient, remainder) by a positive divisor of one term."""
    if len(q) != 1:
        return (constant(1), ()) if p == q else _ratio(p, q)
    (part, by), = q
    whole, rest = {}, {}
    for m, c in p:
        left = _without(m, part)
        if left is not None:
            if c // by:
                whole[left] = c // by
            if c % by:
                rest[m] = c % by
        else:
            rest[m] = c
    return _normal(whole), _normal(rest)


def _ratio(p, q):
    """Divide by a divisor of several terms: exact multiples only."""
    (m, c), (n, d) = p[0] if p else ((), 0), q[0]
    left = _without(m, n)
    if left is not None and c and c % d == 0:
        guess = ((left, c // d),)
        rest = minus(p, times(guess, q))
        if not rest:
            return guess, ()
        if len(rest) < len(p):
            more, last = _ratio(rest, q)
            if not last:
                return plus(guess, more), ()
    return (), p


@lru_cache(8192)
def floor_divide(p, q):
    """Return p // q for a positive q: an exact part plus an atom of the rest."""
    whole, rest = _split(p, q)
    a, b = constant_of(rest), constant_of(q)
    if a is not None and b is not None:
        return plus(whole, constant(a // b))
    if not rest:
        return whole
    return plus(whole, ((((("floordiv", rest, q)),), 1),))


@lru_cache(8192)
def modulo(p, q):
    """Return p % q for a positive q."""
    _, rest = _split(p, q)
    a, b = constant_of(rest), constant_of(q)
    if a is not None and b is not None:
        return constant(a % b)
    return rest if not rest else ((((("mod", rest, q)),), 1),)


@lru_cache(8192)
def larger(p, q):
    """Return max(p, q)."""
    difference = constant_of(minus(p, q))
    if difference is not None:
        return p if difference >= 0 else q
    return (((("max", *sorted((p, q), key=text)),), 1),)


@lru_cache(8192)
def lowest_terms(p, q):
    """Return the quotient p / q without a common number or, where one divides the other, a common polynomial."""
    common = math.gcd(*[c for _, c in (*p, *q)])
    p, q = (tuple([(m, c // common) for m, c in r]) for r in (p, q))
    whole, rest = _split(p, q) if q else ((), p)
    return (p, q) if rest or constant_of(q) else (whole, constant(1))


def atom_of(p):
    """Return the quotient or remainder that a polynomial is, or None."""
    if len(p) != 1:
        return None
    (m, c), = p
    return m[0] if c == 1 and len(m) == 1 and type(m[0]) is tuple else None


def atoms(p) -> set:
    """Return all atoms of a polynomial, not those inside of calls."""
    return {a for m, _ in p for a in m}


def names(p) -> frozenset:
    """Return the named sizes that a polynomial depends on."""
    found: set = set()
    for a in atoms(p):
        found |= {a} if type(a) is str else names(a[1]) | names(a[2])
    return frozenset(found)


def pinned_names(p) -> frozenset:
    """Return the sizes that `p == 0` fixes to one value: the name of a univariate polynomial."""
    found = names(p)
    return found if len(found) == 1 and atoms(p) == found else frozenset()


def lower_bound(p, least: dict):
    """Return the least value of a polynomial if every name is at least `least` of it; None if that is not plain.

    Every atom is written as its least value plus something that is not negative; if no coefficient is negative then, the
    constant is the answer.
    """
    total = ()
    for m, c in p:
        product = constant(c)
        for a in m:
            low = least[a] if type(a) is str else _least_of_call(a, least)
            if low is None:
                return None
            product = times(product, plus(variable_of(a), constant(low)))
        total = plus(total, product)
    if any(m and c < 0 for m, c in total):
        return None
    return next((c for m, c in total if not m), 0)


def variable_of(atom):
    """Return an atom as a polynomial."""
    return (((atom,), 1),)


def _least_of_call(atom, least):
    kind, p, q = atom
    if kind == "mod":
        return 0
    low = lower_bound(p, least)
    if kind == "max":
        other = lower_bound(q, least)
        return other if low is None else low if other is None else max(low, other)
    if low is None:
        return None
    by = constant_of(q)
    if by is not None:
        return low // by
    return 0 if low >= 0 else None


def evaluate(p, values: dict) -> int:
    """Return the value for values of the names."""
    total = 0
    for m, c in p:
        for a in m:
            c *= values[a] if type(a) is str else _evaluate_call(a, values)
        total += c
    return total


def undivided(p, exact: dict):
    """Return the polynomial with exact quotients cancelled against their divisors.

    `exact` has (dividend, divisor) of each atom that is a quotient without a remainder.
    """
    total: tuple = ()
    for m, c in p:
        atom = next((a for a in m if a in exact and not c % exact[a][1]), None)
        if atom is None:
            total = plus(total, ((m, c),))
            continue
        whole, by = exact[atom]
        left = list(m)
        left.remove(atom)
        total = plus(total, undivided(times(((tuple(left), c // by),), whole), exact))
    return total


def put(p, values: dict):
    """Return the polynomial with numbers for some of its names."""
    total: tuple = ()
    for m, c in p:
        product = constant(c)
        for a in m:
            product = times(product, _put_atom(a, values))
        total = plus(total, product)
    return total


def _put_atom(a, values):
    if type(a) is str:
        return constant(values[a]) if a in values else variable(a)
    kind, p, q = a
    return {"floordiv": floor_divide, "mod": modulo, "max": larger}[kind](put(p, values), put(q, values))


def _evaluate_call(atom, values):
    kind, p, q = atom
    a, b = evaluate(p, values), evaluate(q, values)
    return a // b if kind == "floordiv" else a % b if kind == "mod" else max(a, b)


@lru_cache(8192)
def text(p) -> str:
    """Return the polynomial as Python and IR text write it: ``2*b*s-b+1``, ``floordiv(b+1,2)``."""
    if not p:
        return "0"
    parts = []
    for m, c in p:
        factors = [a if type(a) is str else f"{a[0]}({text(a[1])},{text(a[2])})" for a in m]
        size = abs(c)
        if size != 1 or not factors:
            factors.insert(0, str(size))
        parts.append(("-" if c < 0 else "+" if parts else "") + "*".join(factors))
    return "".join(parts)
