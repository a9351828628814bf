"""Line search for the strong Wolfe conditions."""

from dataclasses import dataclass

ARMIJO = 1e-4
CURVATURE = 0.9


@dataclass
class Point:
    """A point on the line: length, loss, gradient, and slope along the line."""

    length: float
    loss: float
    gradient: object
    slope: float


def cubic_minimum(a: Point, b: Point, low=None, high=None) -> float:
    """Return the minimum of the cubic through two points with slopes, within [low, high]."""
    low, high = (low, high) if low is not None else sorted((a.length, b.length))
    first, second = (a, b) if a.length <= b.length else (b, a)
    d1 = first.slope + second.slope - 3 * (first.loss - second.loss) / (first.length - second.length)
    square = d1 * d1 - first.slope * second.slope
    if square < 0:
        return (low + high) / 2
    d2 = square ** 0.5
    gap = second.length - first.length
    at = second.length - gap * ((second.slope + d2 - d1) / (second.slope - first.slope + 2 * d2))
    return min(max(at, low), high)


def strong_wolfe(probe, length, direction, loss, gradient, slope, most, tolerance_change=1e-9):
    """Return (loss, gradient, length, evaluations) of a point that meets the Wolfe conditions. `probe(length)` returns loss and
    gradient on the line; `most` limits its calls after the first."""
    start = Point(0.0, loss, gradient, slope)

    def at(t):
        value, g = probe(t)
        return Point(t, value, g, float(g.dot(direction)))

    ends, evaluations, found = _bracket(at, start, length, most)
    if not found:
        evaluations = _zoom(at, ends, start, evaluations, most, float(direction.abs().max()), tolerance_change)
    best = min(ends, key=lambda p: p.loss)
    return best.loss, best.gradient, best.length, evaluations


def _too_high(p, start):
    return p.loss > start.loss + ARMIJO * p.length * start.slope


def _flat(p, start):
    return abs(p.slope) <= -CURVATURE * start.slope


def _bracket(at, start, length, most):
    """Return (bracket or good point, evaluations, whether it is good); as in PyTorch, a point
    after the second that is no lower than its predecessor ends the search."""
    before, now = start, at(length)
    for turn in range(most):
        if _too_high(now, start) or (turn > 1 and now.loss >= before.loss):
            return [before, now], turn + 1, False
        if _flat(now, start):
            return [now], turn + 1, True
        if now.slope >= 0:
            return [before, now], turn + 1, False
        least = now.length + 0.01 * (now.length - before.length)
        following = cubic_minimum(before, now, least, now.length * 10)
        before, now = now, at(following)
    return [start, now], most + 1, False


def _zoom(at, ends, start, evaluations, most, reach, tolerance_change):
    """Narrow the bracket `ends` in place and return the number of evaluations."""
    stuck = False
    while evaluations <= most:
        low, high = sorted(ends, key=lambda p: p.loss)
        if abs(high.length - low.length) * reach < tolerance_change:
            break
        t = cubic_minimum(*ends)
        left, right = sorted((low.length, high.length))
        margin = 0.1 * (right - left)
        if min(right - t, t - left) < margin:
            if stuck or t >= right or t <= left:
                t = right - margin if abs(t - right) < abs(t - left) else left + margin
                stuck = False
            else:
                stuck = True
        else:
            stuck = False
        new = at(t)
        evaluations += 1
        if _too_high(new, start) or new.loss >= low.loss:
            ends[:] = [low, new]
            continue
        if _flat(new, start):
            ends[:] = [new]
            break
        ends[:] = [new, low if new.slope * (high.length - low.length) >= 0 else high]
    return evaluations
