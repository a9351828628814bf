"""Cells of recurrent layers, shared by all backends: state updates of a step, and gradients of its gates.

Functions work on a point: one unit of one row at one step, or as many as a backend computes side by side. A backend's point
class has

    s                      its scalar instructions
    input(gate)            the contribution of the input to a gate
    biased(gate, sum)      a recurrent sum, with its bias if there is one
    before(state)          the state "h" or "c" at the start of the step
    state(name, value)     stores a new state ("y", "cells"), or the old one where the step is padding
    give(name, values)     stores the parts of an array over all steps ("gates", "dz", "da")

and in the backward walk

    saved_parts(name, count), saved_array(name) the parts of a saved array, or all of it
    plus(name, value, parts, part)      value plus an outside gradient, if there is one
    carried(name), carry(name, value)   gradients passed to the step before
    inside(gradient)                    the gradient that enters the step: zero where the step is padding
    past(value, gradient)               a value, or the whole gradient where the step is padding
    nothing()                           zeros
"""

from collections.abc import Callable
from dataclasses import dataclass, field

from .fast_activations import sigmoid, tanh
from .scalars.activations import relu

BEFORE = {"y": "h", "cells": "c"}       # a state of a step -> its name at the start of the step


@dataclass(frozen=True)
class Cell:
    """A kind of recurrent layer.

        gates, saved  number of gates in z, and of their parts saved for gradients
        has_cells     whether the layer has cell states besides its output
        apart         whether the gradient of the recurrent product, da, differs from that of z
        passes        whether part of a state's gradient bypasses the recurrent product
        adds_up       the state that many steps change by little, if there is one: rounding it at each step would add up
        step          step(p, sums) computes the states
        slopes        slopes(p, gradient of the state) computes the gates' gradients, and returns what bypasses the product
    """

    name: str
    gates: int
    saved: int
    has_cells: bool
    apart: bool
    passes: bool
    adds_up: str
    step: Callable = field(repr=False)
    slopes: Callable = field(repr=False)


def _logistic(gradient, out):
    return gradient * (out * (1.0 - out))


def _hyperbolic(gradient, out):
    return gradient * (1.0 - out * out)


def _lstm(p, sums):
    a = [p.input(n) + x for n, x in enumerate(sums)]
    i, f, o = (sigmoid(p.s, a[n]) for n in (0, 1, 3))
    g = tanh(p.s, a[2])
    c = f * p.before("c") + i * g
    p.give("gates", (i, f, g, o))
    p.state("cells", c)
    p.state("y", o * tanh(p.s, c))


def _lstm_slopes(p, dh):
    i, f, g, o = p.saved_parts("gates", 4)
    arrived = p.plus("gc", p.carried("dc"))
    inside, squashed = p.inside(arrived), tanh(p.s, p.saved_array("cells"))
    slope = inside + _hyperbolic(dh * o, squashed)
    di, df, dg, do = (p.plus("gg", x, 4, n) for n, x in enumerate((slope * g, slope * p.before("c"), slope * i, dh * squashed)))
    p.give("dz", (_logistic(di, i), _logistic(df, f), _hyperbolic(dg, g), _logistic(do, o)))
    p.carry("dc", p.past(slope * f, arrived))
    return p.nothing()


def _gru(p, sums):
    a = [p.biased(n, x) for n, x in enumerate(sums)]
    r, u = (sigmoid(p.s, p.input(n) + a[n]) for n in (0, 1))
    n = tanh(p.s, p.input(2) + r * a[2])
    p.give("gates", (r, u, n, a[2]))
    p.state("y", n + u * (p.before("h") - n))


def _gru_slopes(p, dh):
    r, u, n, m = p.saved_parts("gates", 4)
    dn = _hyperbolic(p.plus("gg", dh * (1.0 - u), 4, 2), n)
    du = _logistic(p.plus("gg", dh * (p.before("h") - n), 4, 1), u)
    dr = _logistic(p.plus("gg", dn * m, 4, 0), r)
    p.give("dz", (dr, du, dn))
    p.give("da", (dr, du, p.plus("gg", dn * r, 4, 3)))
    return dh * u


def _simple(activation):
    def step(p, sums):
        p.state("y", activation(p.s, p.input(0) + sums[0]))

    return step


def _simple_slopes(slope):
    def slopes(p, dh):
        p.give("dz", (slope(p, dh, p.saved_array("y")),))
        return p.nothing()

    return slopes


CELLS = {cell.name: cell for cell in (
    Cell("lstm", 4, 4, True, False, False, "c", _lstm, _lstm_slopes),
    Cell("gru", 3, 4, False, True, True, "h", _gru, _gru_slopes),
    Cell("rnn_tanh", 1, 0, False, False, False, "", _simple(tanh), _simple_slopes(lambda p, dh, y: _hyperbolic(dh, y))),
    Cell("rnn_relu", 1, 0, False, False, False, "", _simple(relu),
         _simple_slopes(lambda p, dh, y: p.s.select(y > 0.0, dh, p.nothing()))))}
